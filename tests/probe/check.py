#!/usr/bin/env python3
"""wavetap probe on real programs: figures known by hand, plugins, files, programs that stay as they are.

  check.py --build BUILD --gpu MODEL known_answers|programs|plugins|example|python|files|faults|source
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORKGROUPS = 4  # of access_patterns.hip, one wave each
TARGETS = {"rx6800xt": "gfx1030", "mi210": "gfx90a"}
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, expected {wanted}")


def probe(options, handlers, arguments, program, expect_status=0):
    command = [f"{options.build}/bin/wavetap", "probe", handlers, "--gpu", options.gpu, *arguments, "--",
               *[str(word) for word in program]]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode != expect_status:
        sys.exit(f"{' '.join(command)}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def marked_lines():
    """{mark: line number} of access_patterns.hip."""
    lines = (HERE / "access_patterns.hip").read_text().splitlines()
    return {line.split("MARK ")[1].strip(): number for number, line in enumerate(lines, 1) if "MARK " in line}


def short(kernel):
    return re.sub(r"\(.*", "", kernel["kernel"])


# kernel: (mark, per-wave figures by GPU). Lines of 128 bytes and 32 lanes on the RX 6800 XT, lines of 64 bytes and 64
# lanes on the MI210; buffers begin at a line. lines, ideal: cache lines touched, and fewest that hold the bytes.
GLOBAL = {
    "stride1": {"rx6800xt": (1, 1), "mi210": (4, 4)},
    "stride2": {"rx6800xt": (2, 1), "mi210": (8, 4)},
    "stride3": {"rx6800xt": (3, 1), "mi210": (12, 4)},
    "stride32": {"rx6800xt": (32, 1), "mi210": (64, 4)},
    "stride33": {"rx6800xt": (32, 1), "mi210": (64, 4)},
    "misaligned": {"rx6800xt": (2, 1), "mi210": (5, 4)},
    "broadcast": {"rx6800xt": (1, 1), "mi210": (1, 1)},
    "struct_array": {"rx6800xt": (4, 1), "mi210": (16, 4)},
    "array_struct": {"rx6800xt": (1, 1), "mi210": (4, 4)},
}
STRIDES = {"stride1": 4, "stride2": 8, "stride3": 12, "stride32": 128, "stride33": 132, "misaligned": 4, "broadcast": 0,
           "struct_array": 16, "array_struct": 4}
# 32 banks: a stride of n dwords makes n lanes meet at a bank; 33 none. One phase per 32 lanes.
LDS_WAYS = {"lds1": 1, "lds2": 2, "lds8": 8, "lds32": 32, "lds33": 1}


def loads_at(kernel, line, space):
    found = [site for site in kernel["handlers"]["memory"]["sites"]
             if site["space"] == space and site["access"] == "load" and not site["scalar"]
             and site.get("source", "").endswith(f"access_patterns.hip:{line}")]
    expect(f"{short(kernel)}: instructions at line {line}", len(found), 1)
    return found[0] if found else None


def known_answers(options):
    lanes = 32 if options.gpu == "rx6800xt" else 64
    marks = marked_lines()
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/probe.json"
        probe(options, "memory,blocks,instructions", ["--json", out],
              [f"{options.hip}/access_patterns"])
        results = json.loads(pathlib.Path(out).read_text())
    kernels = {short(kernel): kernel for kernel in results["kernels"]}
    for name, by_gpu in GLOBAL.items():
        site = loads_at(kernels[name], marks[name], "global")
        if site is None:
            continue
        lines, ideal = by_gpu[options.gpu]
        expect(f"{name}: count", site["count"], WORKGROUPS)
        expect(f"{name}: lanes", site["lanes"], WORKGROUPS * lanes)
        expect(f"{name}: lines", site["lines"], WORKGROUPS * lines)
        expect(f"{name}: ideal", site["ideal_lines"], WORKGROUPS * ideal)
        expect(f"{name}: strides", site["strides"], [{"bytes": STRIDES[name], "count": WORKGROUPS}])
        expect(f"{name}: misaligned", site["misaligned"], WORKGROUPS if name == "misaligned" else 0)
        expect(f"{name}: scattered", site["scattered"],
               WORKGROUPS if lines != ideal and name != "misaligned" else 0)
        expect(f"{name}: same address", site["one_address"], WORKGROUPS if name == "broadcast" else 0)
        # The same per source line; the line of broadcast has nothing else either.
        check_line(kernels[name], marks[name], {"count": WORKGROUPS, "lanes": WORKGROUPS * lanes, "lines": WORKGROUPS * lines,
                                                "ideal_lines": WORKGROUPS * ideal})
    for name, ways in LDS_WAYS.items():
        site = loads_at(kernels[name], marks["lds"], "lds")
        if site is None:
            continue
        phases = lanes // 32
        expect(f"{name}: count", site["count"], WORKGROUPS)
        expect(f"{name}: ideal cycles", site["lds_ideal"], WORKGROUPS * phases)
        expect(f"{name}: bank conflicts", site["bank_conflicts"], WORKGROUPS * phases * (ways - 1))
        expect(f"{name}: cycles", site["lds_cycles"], WORKGROUPS * phases * ways)
        expect(f"{name}: ways", site["ways"], ways)
        expect(f"{name}: lanes that meet", int(site["conflicting_lanes"], 16),
               (1 << lanes) - 1 if ways > 1 else 0)
        check_line(kernels[name], marks["lds"], {"lds_cycles": WORKGROUPS * phases * ways, "lds_ideal": WORKGROUPS * phases,
                                                 "bank_conflicts": WORKGROUPS * phases * (ways - 1)})
    check_divergent(options, kernels["divergent"], marks["divergent"], lanes)


def check_line(kernel, line, figures):
    """What the table of source lines says of one."""
    rows = [row for row in kernel["handlers"]["memory"]["lines"]
            if row["line"] == line and row["file"].endswith("access_patterns.hip")]
    expect(f"{short(kernel)}: line {line}", [{key: row[key] for key in figures} for row in rows], [figures])


def check_divergent(options, kernel, line, lanes):
    """Lane n goes round n % 4 + 1 times: four rounds, with 4/4, 3/4, 2/4 and 1/4 of the lanes."""
    site = loads_at(kernel, line, "global")
    if site is None:
        return
    expect("divergent: count", site["count"], WORKGROUPS * 4)
    expect("divergent: lanes", site["lanes"], WORKGROUPS * lanes * 10 // 4)
    # The lanes of a line are all there, or some of each: as many lines in every round.
    lines, ideal = {"rx6800xt": (4, 4), "mi210": (16, 4 + 3 + 2 + 1)}[options.gpu]
    expect("divergent: lines", site["lines"], WORKGROUPS * lines)
    expect("divergent: ideal", site["ideal_lines"], WORKGROUPS * ideal)
    check_line(kernel, line, {"count": WORKGROUPS * 4, "lanes": WORKGROUPS * lanes * 10 // 4, "lines": WORKGROUPS * lines,
                              "ideal_lines": WORKGROUPS * ideal})
    # Three times some lanes leave and some stay; the fourth time the rest leaves.
    parted = [mask for mask in kernel["handlers"]["blocks"]["masks"] if mask["parted"]]
    expect("divergent: where lanes part", len(parted), 1)
    expect("divergent: parted", sum(mask["parted"] for mask in parted), WORKGROUPS * 3)
    instructions = [row for row in kernel["handlers"]["instructions"]["sites"]
                    if row["address"] == site["address"]]
    expect("divergent: instructions", [(row["count"], row["lanes"]) for row in instructions],
           [(WORKGROUPS * 4, WORKGROUPS * lanes * 10 // 4)])


def programs(options):
    """What a program prints and returns stays what it is; every dispatch is told about."""
    for name in ["vector_add", "scan", "radix_sort", "many_threads", "streams", "graphs"]:
        program = f"{options.hip}/{name}"
        if not pathlib.Path(program).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/probe.json"
            plain = subprocess.run([f"{options.build}/bin/wavetap", "run", "--gpu", options.gpu, "--no-trace", "--",
                                    program], capture_output=True, text=True)
            probed = probe(options, "memory,blocks,instructions,values,heatmap", ["--json", out], [program],
                           plain.returncode)
            expect(f"{name}: what it prints", probed.stdout, plain.stdout)
            results = json.loads(pathlib.Path(out).read_text())
        if results["dispatches_probed"] == 0 or results["lines_lost"] or results["events_not_kept"]:
            failures.append(f"{name}: {results['dispatches_probed']} dispatches, {results['lines_lost']} lines lost")
        for kernel in results["kernels"]:
            told = set(kernel["handlers"])
            expect(f"{name}: {kernel['kernel']}", told, {"memory", "blocks", "instructions", "values", "heatmap"})
            # Two ways to the same figures.
            blocks = sum(block["count"] * block["instructions"] for block in kernel["handlers"]["blocks"]["blocks"])
            expect(f"{name}: {kernel['kernel']}: instructions", kernel["handlers"]["instructions"]["count"], blocks)


BAD = {"newer_version": "was made for version 3 of wavetap/handler.h, this wavetap has version 2",
       "no_version": "has no wavetap_handler_version",
       "no_open": "has no wavetap_handler_open",
       "wrong_size": "bytes, that of version 2 has",
       "unknown_wants": "asks for events that this wavetap does not have (0x40000000)",
       "no_function": "asks for events that it has no function for",
       "refuses": "the moon is full"}


def plugins(options):
    program = f"{options.hip}/vector_add"
    for name, sentence in BAD.items():
        result = probe(options, f"{options.build}/probe_plugins/{name}.so,instructions", [], [program])
        if sentence not in result.stderr or "the program ran without it" not in result.stderr:
            failures.append(f"{name}: {result.stderr}")
        if "executed by waves" not in result.stderr:
            failures.append(f"{name}: the other handler says nothing: {result.stderr}")


def example(options):
    """The example of examples/handlers: bytes by line, here of a load and a store of four bytes by each of 128 lanes."""
    plugin = f"{options.build}/probe_plugins/bytes_by_line.so"
    arguments = ["-k", "^stride2"]
    program = [f"{options.hip}/access_patterns"]
    said = probe(options, plugin, arguments, program).stderr
    mark = marked_lines()["stride2"]
    for line in [mark, mark + 1]:
        if f"  access_patterns.hip:{line}  512 bytes\n" not in said:
            failures.append(f"line {line}: {said}")
    one = probe(options, plugin + "=1", arguments, program).stderr
    expect("lines that argument 1 leaves", one.count(" bytes\n"), 1)
    none = probe(options, plugin + "=x", arguments, program).stderr
    if "its argument is a number of lines, from 1; the program ran without it" not in none:
        failures.append(none)


def python(options):
    """The example in Python: stride32 loads 4 x 32 lanes 128 bytes apart, 16 KiB, and stores 512 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        probe(options, "log", ["-o", f"{folder}/r", "-k", "^stride32"], [f"{options.hip}/access_patterns"])
        said = subprocess.run([sys.executable, ROOT / "examples/handlers/pages_by_kernel.py", f"{folder}/r/log.jsonl"],
                              capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "python")})
        # Scalar loads of arguments and packet touch two pages more.
        match = re.fullmatch(r"stride32\(float const\*, float\*\): (\d+) pages loaded, 1 pages stored\n", said.stdout)
        if match is None or not 4 <= int(match[1]) <= 6 or said.stderr:
            failures.append(said.stdout + said.stderr)


def faults(options):
    """A kernel that faults delivers what came before; two GPUs are told apart; a capture gives the same figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/probe.json"
        command = [f"{options.build}/bin/wavetap", "probe", "memory,instructions", "--gpu", options.gpu, "--json", out,
                   "--", f"{options.hip}/fault_null"]
        subprocess.run(command, capture_output=True)
        results = json.loads(pathlib.Path(out).read_text())
        faulted = [kernel for kernel in results["kernels"] if kernel["faulted"]]
        expect("kernels that faulted", len(faulted), 1)
        if faulted and not faulted[0]["handlers"]["memory"]["sites"]:
            failures.append("the access that faulted is not there")
        both = f"{folder}/two.json"
        options.gpu, model = "rx6800xt,mi210", options.gpu
        probe(options, "instructions", ["--json", both], [f"{options.hip}/two_gpus"])
        options.gpu = model
        models = {kernel["model"] for kernel in json.loads(pathlib.Path(both).read_text())["kernels"]}
        expect("GPUs", models, {"rx6800xt", "mi210"})
        capture = f"{folder}/k.wtcap"
        live, again = f"{folder}/live.json", f"{folder}/again.json"
        program = [f"{options.hip}/access_patterns", "stride3"]
        wavetap = f"{options.build}/bin/wavetap"
        subprocess.run([wavetap, "capture", "-k", "^stride3", "--gpu", model, "-o", capture, "--", *program], check=True,
                       capture_output=True)
        probe(options, "memory,blocks", ["--json", live, "-k", "^stride3"], program)
        subprocess.run([wavetap, "probe", "memory,blocks", "--json", again, capture], check=True, capture_output=True)
        figures = [json.loads(pathlib.Path(path).read_text())["kernels"][0]["handlers"] for path in (live, again)]
        expect("figures of the capture", figures[1], figures[0])


def source(options):
    """Both ways between source and machine code, with what was inlined, and with counts."""
    wavetap, program = f"{options.build}/bin/wavetap", f"{options.hip}/access_patterns"

    def said(*arguments):
        return subprocess.run([wavetap, "source", *arguments], capture_output=True, text=True, check=True).stdout

    marks = marked_lines()
    listed = said(program)
    for kernel in ["stride2(float const*, float*)", "lds8(float*)"]:
        expect(f"{kernel} in the list", listed.count(f"kernel {kernel}\n"), 2)
    line = json.loads(said(program, "--target", "gfx1030", "--line", f"access_patterns.hip:{marks['lds']}", "--json"))
    names = {function["name"] for function in line["functions"]}
    expect("kernels of the template's line", names, {f"lds{n}(float*)" for n in (1, 2, 8, 32, 33)})
    code = json.loads(said(program, "--target", "gfx1030", "-k", "^lds8", "--json"))["functions"][0]
    chains = [[frame["function"] for frame in site["frames"]] for site in code["instructions"]]
    if not any(len(chain) == 2 and "through_lds" in chain[0] and chain[1] == "lds8" for chain in chains):
        failures.append(f"nothing was inlined into lds8: {chains}")
    with tempfile.TemporaryDirectory() as folder:
        probe(options, "memory,blocks", ["-o", f"{folder}/r", "-k", "^stride2"], [program])
        counted = json.loads(said(f"{folder}/r", "-k", "stride2", "--json"))["functions"][0]["instructions"]
        load = [site for site in counted if site.get("lines") and "load" in site["instruction"]]
        expect("counts beside the code", [(site["count"], site["lines"]) for site in load],
               [(WORKGROUPS, WORKGROUPS * GLOBAL["stride2"][options.gpu][0])])
        counters, trace = f"{folder}/counters.json", f"{folder}/trace.rpd"
        subprocess.run([wavetap, "run", "--gpu", options.gpu, "--counters", counters, "--caches", "-o", trace, "--", program],
                       check=True, capture_output=True)
        code = json.loads(said(program, "-k", "^stride2", "--target", TARGETS[options.gpu], "--counters", counters, "--json"))
        load = [site for site in code["functions"][0]["instructions"] if site.get("lines") and "load" in site["instruction"]]
        expect("counters beside the code", [site["count"] for site in load], [WORKGROUPS])
        ran = {function["name"]: function for function in json.loads(said(trace, "--json"))["functions"]}
        expect("dispatches in the trace", ran["stride2(float const*, float*)"]["dispatches"], 1)
        expect("library in the trace", "access_patterns" in ran["stride2(float const*, float*)"]["library"], True)
        capture = f"{folder}/k.wtcap"
        subprocess.run([wavetap, "capture", "-k", "^stride2", "--gpu", options.gpu, "-o", capture, "--", program],
                       check=True, capture_output=True)
        captured = json.loads(said(capture, "-k", "^stride2", "--line", f"access_patterns.hip:{marks['stride2']}", "--json"))
        expect("kernels of the capture", [function["name"] for function in captured["functions"]],
               ["stride2(float const*, float*)"])


def files(options):
    """What -o leaves."""
    with tempfile.TemporaryDirectory() as folder:
        probe(options, "memory,blocks,heatmap,log", ["-o", f"{folder}/r", "-k", "^stride2"],
              [f"{options.hip}/access_patterns"])
        root = pathlib.Path(folder) / "r"
        for name in ["probe.json", "index.html", "heatmap-1.png", "log.jsonl"]:
            if not (root / name).is_file():
                failures.append(f"{name} is missing: {sorted(path.name for path in root.iterdir())}")
        if failures:
            return
        page = (root / "index.html").read_text()
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
        expect("kernels of the page", [kernel["kernel"].split("(")[0] for kernel in data["kernels"]], ["stride2"])
        source = next(lines for file, lines in data["sources"].items() if file.endswith("access_patterns.hip"))
        expect("source of the page", source[marked_lines()["stride2"] - 1].strip().startswith("const float value"), True)
        picture = (root / "heatmap-1.png").read_bytes()
        expect("picture", picture[:8], b"\x89PNG\r\n\x1a\n")
        events = [json.loads(line) for line in (root / "log.jsonl").read_text().splitlines()]
        expect("first event", events[0]["event"], "dispatch_begins")
        expect("last event", events[-1]["event"], "dispatch_ends")
        loads = [event for event in events if event["event"] == "memory" and event["access"] == "load"
                 and "scalar" not in event]
        expect("loads", [event["stride"] for event in loads], [8] * WORKGROUPS)
        expect("waves", sum(event["event"] == "wave" and event["what"] == "ends" for event in events), WORKGROUPS)


def libraries(options):
    """Kernels chosen by the file that they are in; when none is, that is said, and how to choose others."""
    with tempfile.TemporaryDirectory() as folder:
        def chosen(*arguments):
            out = pathlib.Path(folder) / "probe.json"
            result = probe(options, "instructions", [*arguments, "--json", str(out)], [f"{options.hip}/access_patterns"])
            found = json.loads(out.read_text())
            return [kernel["kernel"].split("(")[0] for kernel in found["kernels"]], result.stderr

        expect("kernels of the program's own file", chosen("--library", "/access_patterns$")[0], chosen()[0])
        expect("both filters", chosen("--library", "access_patterns", "-k", "^stride2")[0], ["stride2"])
        # Omniprobe's file: globs of paths, where * stays in a folder and ** does not.
        rules = pathlib.Path(folder) / "filter.json"
        for globs, excluded in ((["/**/access_patterns"], True), ([f"{pathlib.Path(options.hip).resolve()}/access_?atterns"], True),
                                (["/access_patterns"], False), (["/*/access_patterns"], False), (["/**/access.patterns"], False),
                                (["/none", "**patterns"], True), ([], False)):
            rules.write_text(json.dumps({"include": ["/usr/lib/**/*.so"], "exclude": globs}))
            expect(f"excluded by {globs}", chosen("--library-filter", str(rules))[0] == [], excluded)
        none, text = chosen("--library", "librocblas")
        expect("kernels of a library that is not there", none, [])
        if "was chosen; see -k, --library and --launch" not in text:
            failures.append(f"nobody is told that --library chose nothing: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("what", choices=["known_answers", "programs", "plugins", "example", "python", "files", "faults", "source", "libraries"])
    parser.add_argument("--hip", help="folder of the HIP programs (BUILD/bin/hip)")
    options = parser.parse_args()
    options.hip = options.hip or f"{options.build}/bin/hip"
    globals()[options.what](options)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
