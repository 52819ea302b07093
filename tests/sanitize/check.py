#!/usr/bin/env python3
"""Runs programs under wavetap sanitize and holds its JSON and its exit status against what must be found.

  check.py --bin BIN --gpu MODEL bugs            every seeded bug of memory_bugs, and the program without one
  check.py --bin BIN --gpu MODEL clean PROGRAM   no finding, and the program's own exit status
  check.py --bin BIN --gpu MODEL options         --kernel, --max, --error-exitcode, folding of several launches
  check.py --bin BIN --gpu MODEL host            every mistake of host_bugs, and the program without one
  check.py --bin BIN --gpu MODEL inlined         mistakes inside inlined functions: the program's line, and the calls
  check.py --bin BIN --gpu MODEL inputs          captured dispatches and single kernels, --launch, SARIF, suppressions
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import schema

HERE = pathlib.Path(__file__).resolve().parent
failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("FAIL", what)


def path_of(args, program):
    return f"{args.bugs}/{program}" if args.bugs and program.endswith(("_bugs", "inlined_calls")) else f"{args.bin}/hip/{program}"


# The tools that watch kernels. The others are for host_bugs: programs here do not give back what they have when they end.
KERNEL_TOOLS = "memcheck,racecheck,initcheck,synccheck,waitcheck"


def sanitize(args, program, *arguments, options=()):
    """(exit status, stderr, document)"""
    if "--tool" not in options:
        options = (*options, "--tool", KERNEL_TOOLS)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--gpu", args.gpu, "--json", str(path), *map(str, options), "--",
                              path_of(args, program), *arguments], capture_output=True, text=True)
        document = schema.check(json.loads(path.read_text())) if path.exists() else {}
    return ran.returncode, ran.stderr, document


def line_of(text):
    """The number of the line of memory_bugs.hip that holds the text."""
    for number, line in enumerate((HERE / "memory_bugs.hip").read_text().splitlines(), 1):
        if text in line:
            return number
    raise SystemExit(f"memory_bugs.hip has no line with {text}")


def lanes_of(first, last):
    """Threads first..last as (wave, mask) of the first wave that has one of them, by wave size."""
    def by_size(size):
        wave = first // size
        return wave, sum(1 << (i % size) for i in range(first, last + 1) if i // size == wave)
    return by_size


FILL = "data[first + int(threadIdx.x)] ="
# bug: kind, kernel, access, text of the source line, threads, (relation, distance, size of the allocation) or bytes of LDS,
# lanes in all, whether the program survives.
BUGS = {
    "past": ("out-of-bounds", "fill", "store", FILL, lanes_of(62, 63), ("past", 0, 256), 2, True),
    "before": ("out-of-bounds", "fill", "store", FILL, lanes_of(0, 2), ("before", 12, 256), 3, False),
    "far": ("out-of-bounds", "fill", "store", FILL, lanes_of(0, 63), ("past", 4096 * 4 - 256, 256), None, False),
    "read": ("out-of-bounds", "sum", "load", "total += data[i]", lanes_of(0, 0), ("past", 0, 256), 1, True),
    "freed": ("use-after-free", "fill", "store", FILL, lanes_of(0, 63), ("inside", 0, 256), None, False),
    "wild": ("invalid-address", "fill", "store", FILL, lanes_of(0, 63), None, None, False),
    "misaligned": ("misaligned-atomic", "add_at", "atomic", None, lanes_of(0, 0), ("inside", 6, 256), 1, False),
    "lds": ("lds-out-of-bounds", "turn_round", "load", "= shared[last", lanes_of(0, 0), 256, 2, True),
    "scratch": ("scratch-out-of-bounds", "private_array", "store", "own[first +", lanes_of(0, 63), None, None, False),
}


def check_bug(args, bug, expected):
    kind, kernel, access, source, threads, place, lane_count, survives = expected
    status, text, document = sanitize(args, "memory_bugs", bug)
    plain = subprocess.run([f"{args.bin}/wavetap", "run", "--no-trace", "--gpu", args.gpu, "--gpu-option", "guard-allocations",
                            "--", path_of(args, "memory_bugs"), bug], capture_output=True, text=True)
    own = document.get("exit_status")
    expect(status == 2, f"{bug}: status {status}")
    expect(own == plain.returncode, f"{bug}: status {own}, without the sanitizer {plain.returncode}")
    expect((plain.returncode == 0) == survives, f"{bug}: status {plain.returncode}")
    findings = document.get("findings", [])
    expect(len(findings) == 1, f"{bug}: {len(findings)} findings: {findings}")
    if len(findings) != 1:
        return
    found = findings[0]
    expect((found["tool"], found["severity"]) == ("memcheck", "error"), f"{bug}: {found}")
    seen = (found["kind"], found["kernel"].split("(")[0], found["access"], found["size_bytes"])
    expect(seen == (kind, kernel, access, 4), f"{bug}: {seen}")
    if source:
        expect(re.search(rf"memory_bugs\.hip:{line_of(source)}$", found.get("source", "")), f"{bug}: source {found.get('source')}")
    wave_size = 64 if args.gpu == "mi210" else 32
    wave, mask = threads(wave_size)
    if survives or wave_size == 64:  # else another wave may have been first
        expect((found["wave"], int(found["lanes"], 16)) == (wave, mask), f"{bug}: wave {found['wave']} lanes {found['lanes']}")
    if lane_count:
        expect(found["lane_count"] == lane_count, f"{bug}: {found['lane_count']} lanes in all")
    if isinstance(place, tuple):
        beside = (found["relation"], found["distance"], found["allocation"]["size_bytes"])
        if not survives and beside[0] != "before":  # of whichever wave was first
            beside = (beside[0], beside[1] - 4 * found["thread"][0], beside[2])
        expect(beside == place, f"{bug}: {beside}")
        expect(found["allocation"]["freed"] == (1 if bug == "freed" else 0), f"{bug}: {found['allocation']}")
    elif place:
        expect(found["limit_bytes"] == place, f"{bug}: limit {found['limit_bytes']}")
    expect(f"memcheck: {kind}: {access} of 4 bytes" in text and found["instruction"] in text, f"{bug}: text {text}")


def check_bugs(args):
    for bug, expected in BUGS.items():
        check_bug(args, bug, expected)
    check_clean(args, "memory_bugs")


# The device library's allocator has a race of its own, which shows in some orders (docs/racecheck.md).
WITHOUT_RACES = {"device_malloc": ("--tool", "memcheck,initcheck,synccheck,waitcheck")}


# The gap between the rows of a pitched volume is copied to the host along with them, and nobody has written it.
WARNINGS = {"memset_all": [("uninitialised-copy", "warning", "bytes 100 to 127 of the 20480-byte allocation")]}


def check_clean(args, program):
    status, text, document = sanitize(args, program, options=WITHOUT_RACES.get(program, ()))
    expect(status == 0, f"{program}: status {status}\n{text}")
    findings, expected = document.get("findings", []), WARNINGS.get(program, [])
    right = len(findings) == len(expected) and all((f["kind"], f["severity"]) == (kind, severity) and f.get("detail", "").startswith(detail)
                                                   for f, (kind, severity, detail) in zip(findings, expected))
    expect(right, f"{program}: {findings}")
    expect(document.get("dispatches_checked", 0) > 0, f"{program}: nothing was checked")
    expect(document.get("dispatches_left_out") == 0 and document.get("losses") == 0, f"{program}: something was left out")


def check_options(args):
    status, text, document = sanitize(args, "memory_bugs", "past", options=("-k", "^(sum|add)"))
    expect((status, document["findings"], document["dispatches_checked"]) == (0, [], 2), f"-k: {status} {document}")
    expect(document["dispatches_left_out"] > 2, f"-k: {document}")
    status, text, document = sanitize(args, "memory_bugs", "past", options=("--error-exitcode", "9", "--max", "0"))
    expect(status == 9 and "… and 1 more" in text, f"--error-exitcode: {status} {text}")
    expect(len(document["findings"]) == 1 and document["exit_status"] == 0, f"--max: {document}")
    status, text, document = sanitize(args, "memory_bugs", "past", options=("--error-exitcode", "0", "--tool", "memcheck"))
    expect((status, len(document["findings"]), document["tools"]) == (0, 1, ["memcheck"]), f"the program's own: {status}")
    status, text, document = sanitize(args, "memory_bugs", options=("--error-exitcode", "9"))
    expect(status == 0, f"--error-exitcode without findings: {status}")
    status, text, document = sanitize(args, "memory_bugs", "lds")
    expect([(f["times"], f["lane_count"]) for f in document["findings"]] == [(2, 2)], f"folding: {document['findings']}")
    status, text, document = sanitize(args, "memory_bugs", "again")
    expect([(f["times"], f["lane_count"]) for f in document["findings"]] == [(3, 6)], f"again: {document['findings']}")


    # What kernels that are left out have stored counts: of the others, only the one that is asked for is wrong.
    status, text, document = sanitize(args, "init_bugs", options=("--tool", "initcheck", "-k", "one_short"))
    kernels = [f["kernel"] for f in document["findings"]]
    expect((status, kernels) == (2, ["void one_short<true>(int const*, int*)"]), f"-k with initcheck: {status} {kernels}")
    # Nothing that fpcheck finds is an error.
    status, text, document = sanitize(args, "float_special", options=("--tool", "fpcheck"))
    kinds = {f["kind"] for f in document["findings"]}
    expect(status == 0 and {"nan-born", "infinity-born", "denormal-born"} <= kinds, f"fpcheck: {status} {kinds}")
    status, text, document = sanitize(args, "vector_add", options=("--tool", "fpcheck"))
    expect((status, document["findings"]) == (0, []), f"fpcheck: {status} {document}")


# mistake: (kind, call, part of the detail, times) of each finding
HOST_BUGS = {
    "": [],
    "copy": [("copy-out-of-bounds", "hipMemcpy", "writes 512 bytes", 1)],
    "read": [("copy-out-of-bounds", "hipMemcpy", "reads 256 bytes", 1)],
    "fill": [("copy-out-of-bounds", "hipMemset", "where 248 of an allocation of 256 are left", 1)],
    "rectangle": [("copy-out-of-bounds", "hipMemcpy2D", "writes 272 bytes", 1)],
    "fill-rectangle": [("copy-out-of-bounds", "hipMemset2D", "where 240 of an allocation of 256 are left", 1)],
    "read-rectangle": [("copy-out-of-bounds", "hipMemcpy2D", "reads 304 bytes", 1)],
    "block": [("copy-out-of-bounds", "hipMemcpy3D", "writes 272 bytes", 1)],
    "copy-freed": [("copy-out-of-bounds", "hipMemcpy", "which was freed by hipFree", 1)],
    "twice": [("double-free", "hipFree", "was freed before, by hipFree", 1)],
    "inside": [("invalid-free", "hipFree", "4 bytes into an allocation of 256 bytes", 1)],
    "nowhere": [("invalid-free", "hipFree", "is not the begin of an allocation", 1)],
    "leak": [("leak", "hipMalloc", "100 bytes not freed", 3), ("leak", "hipHostMalloc", "256 bytes not freed", 1)],
    "handles": [("handle-leak", "hipStreamCreate", "stream not destroyed", 1),
                ("handle-leak", "hipEventCreate", "event not destroyed", 1)],
}


def check_documents(args):
    """Every key of the JSON document is one that docs/json-schema.md explains; the SARIF file has what readers of that format rely on."""
    text = (HERE.parents[1] / "docs" / "json-schema.md").read_text()
    section = text.split("## JSON of `wavetap sanitize`")[1].split("\n## ")[0]
    documented = {word for group in re.findall(r"`([^`]+)`", section) for word in group.split()}
    with tempfile.TemporaryDirectory() as folder:
        sarif = pathlib.Path(folder) / "f.sarif"
        for program, bug, tools in (("memory_bugs", "past", "memcheck,leakcheck,hostcheck"), ("memory_bugs", "lds", "memcheck"),
                                    ("races", None, "racecheck"), ("host_bugs", "copy-freed", "hostcheck")):
            _, _, document = sanitize(args, program, *([bug] if bug else []), options=("--tool", tools, "--sarif", sarif))
            findings = document.get("findings", [])
            expect(findings and (document["schema"], document["version"]) == ("wavetap-sanitize", 1), f"{program}: {document}")
            used = set(document) | {key for f in findings for key in f} | {key for f in findings for part in f.values()
                                                                          if isinstance(part, dict) for key in part}
            expect(used <= documented, f"{program} {bug}: keys without an explanation: {used - documented}")
            for f in findings:
                needed = {"tool", "kind", "severity", "times", "pid"} | ({"call"} if "call" in f else {"kernel", "pc", "instruction", "wave"})
                expect(needed <= set(f) and f["severity"] in ("error", "warning"), f"{program} {bug}: {f}")
            log = json.loads(sarif.read_text())
            schema.check_sarif(log)
            one = log["runs"][0]
            rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
            expect(log["version"] == "2.1.0" and "sarif-2.1.0" in log["$schema"] and len(rules) == len(set(rules)), f"SARIF: {log['version']}")
            expect(len(one["results"]) == len(findings), f"SARIF: {len(one['results'])} results, {len(findings)} findings")
            for result in one["results"]:
                places = [place["physicalLocation"] for place in result["locations"] if "physicalLocation" in place]
                expect(result["ruleId"] in rules and result["level"] in ("error", "warning") and result["message"]["text"]
                       and all(p["artifactLocation"]["uri"] and p["region"]["startLine"] > 0 for p in places), f"SARIF: {result}")


def check_defaults(args):
    """Without --tool the program's calls are looked at as well; the recording is kept when it is asked for, with the findings in it."""
    with tempfile.TemporaryDirectory() as folder:
        ran = run(f"{args.bin}/wavetap", "sanitize", "--gpu", args.gpu, "--json", f"{folder}/f.json", "-o", f"{folder}/t.rpd", "--",
                  path_of(args, "host_bugs"), "leak")
        document = json.loads(pathlib.Path(f"{folder}/f.json").read_text())
        expect(document["tools"] == [*KERNEL_TOOLS.split(","), "leakcheck", "hostcheck"], f"defaults: {document['tools']}")
        expect(ran.returncode == 0 and {f["kind"] for f in document["findings"]} == {"leak"}, f"defaults: {ran}")
        query = "select count(*), min(a.start > p.start), max(a.end < p.end) from api a join wavetap_process p on p.pid = a.pid " \
                "where a.apiName = 'UserMarker' and a.args like '%leakcheck: leak%'"
        found = run(f"{args.bin}/wavetap", "query", f"{folder}/t.rpd", query, "--format", "csv")
        expect(found.stdout.splitlines()[-1:] == ["2,1,1"], f"markers: {found}")
        shown = run(f"{args.bin}/wavetap", "report", f"{folder}/t.rpd", "--by", "marker", "--top", "0")
        expect("leakcheck: leak" in shown.stdout, f"report: {shown}")
        for form in ("chrome", "perfetto", "html"):
            exported = run(f"{args.bin}/wavetap", "export", "-f", form, f"{folder}/t.rpd", "-o", f"{folder}/t.{form}")
            text = pathlib.Path(f"{folder}/t.{form}").read_bytes() if exported.returncode == 0 else b""
            expect(b"leakcheck: leak" in text, f"export to {form}: {exported}")
        checked = run(f"{args.bin}/wavetap", "check", f"{folder}/t.rpd")
        expect(checked.returncode == 0, f"check of the trace: {checked}")


def check_host(args):
    for bug, expected in HOST_BUGS.items():
        status, text, document = sanitize(args, "host_bugs", *([bug] if bug else []), options=("--tool", "leakcheck,hostcheck"))
        findings = document.get("findings", [])
        seen = [(f["kind"], f["call"], f["times"]) for f in findings]
        expect(sorted(seen) == sorted((kind, call, times) for kind, call, _, times in expected), f"{bug}: {seen} {text}")
        for kind, call, detail, _ in expected:
            expect(any(detail in f["detail"] for f in findings if f["call"] == call), f"{bug}: {findings}")
            expect(all(any("main" in frame for frame in f["stack"]) for f in findings), f"{bug}: {findings}")
        errors = [kind for kind, *_ in expected if kind not in ("leak", "handle-leak")]
        expect(status == (2 if errors else 0), f"{bug}: status {status}")
    check_defaults(args)
    status, text, document = sanitize(args, "host_bugs", "kernel", options=("--tool", "memcheck,leakcheck"))
    found = document["findings"][0]
    expect((status, found["kind"]) == (2, "out-of-bounds"), f"kernel: {document}")
    expect("hipMalloc in allocate" in found["allocation"].get("allocated_by", ""), f"kernel: {found}")
    expect(any("main" in frame for frame in found["allocation"].get("allocated_by_stack", [])), f"kernel: {found}")
    expect(any("main" in frame for frame in found.get("launch", {}).get("stack", [])), f"kernel: {found}")
    expect(re.search(r"^  launched +main", text, re.M) and "allocated by hipMalloc in allocate" in text, f"kernel: {text}")


def check_inlined(args):
    """Mistakes in inlined functions are shown at the line of the program, with the calls between."""
    source = HERE / "inlined_calls.hip"
    marks = {line.split("MARK ")[1].strip(): number for number, line in enumerate(source.read_text().splitlines(), 1)
             if "MARK " in line}
    status, _, document = sanitize(args, "inlined_calls", "none")
    expect(status == 0 and not document["findings"], f"without a mistake: {status}, {document['findings']}")
    # A host call inside HIP's template.
    _, _, document = sanitize(args, "inlined_calls", "none", options=("--tool", "leakcheck"))
    leaks = [finding["source"] for finding in document["findings"] if finding["kind"] == "leak"]
    expect(leaks == [f"inlined_calls.hip:{marks['allocation']}"], f"leak: {document['findings']}")
    # What the kernel calls its arguments is in the debug information alone.
    for program, name in (("inlined_calls_g", "data"), ("inlined_calls", None)):
        _, text, document = sanitize(args, program, "store")
        names = [finding.get("argument", {}).get("name") for finding in document.get("findings", [])]
        expect(names[:1] == [name] and ("1st argument `data`" in text) == (name is not None), f"{program}: {names} {text}")
    # bug: functions of the frames, from the one of the program's line outwards, and the lines of those
    wanted = {"atomic": (["count_one", "count_all"], ["atomic", "atomic call"]),
              "store": (["put", "put_all"], ["store", "store call"]),
              "barrier": (["wait_for_some"], ["barrier"])}
    for bug, (functions, lines) in wanted.items():
        with tempfile.TemporaryDirectory() as folder:
            sarif = pathlib.Path(folder) / "findings.sarif"
            _, text, document = sanitize(args, "inlined_calls", bug, options=("--sarif", sarif))
            results = schema.check_sarif(json.loads(sarif.read_text())) if sarif.exists() else []
        if not document.get("findings") or not results:
            expect(False, f"{bug}: nothing was found\n{text}")
            continue
        finding, places = document["findings"][0], [f"inlined_calls.hip:{marks[line]}" for line in lines]
        expect(finding["source"].endswith("/" + places[0]), f"{bug}: source {finding['source']}")
        frames = finding.get("frames", [])
        expect([frame["function"] for frame in frames][-len(functions):] == functions, f"{bug}: frames {frames}")
        expect(all(frame["source"].endswith("/" + place) for frame, place in zip(frames[-len(places):], places)),
               f"{bug}: frames {frames}")
        # HIP's own functions are around the atomic and the barrier, and come first.
        expect((len(frames) > len(functions)) == (bug != "store"), f"{bug}: frames {frames}")
        inlined = [re.fullmatch(r"in (\S+)( at \S+)?, inlined at \S+/(inlined_calls\.hip:\d+)", line.strip())
                   for line in text.splitlines()]
        expect([found[3] for found in inlined if found][-1:] == places[-1:], f"{bug}: no inlined call in\n{text}")
        at = results[0]["locations"][0]["physicalLocation"]
        expect(at["region"]["startLine"] == marks[lines[0]], f"{bug}: SARIF has {at}")
        expect(any("inlined" in place["message"]["text"] for place in results[0].get("relatedLocations", [])) == (len(frames) > 1),
               f"{bug}: SARIF has {results[0].get('relatedLocations')}")
    # wavetap profile shows places the same way, each call on a line of its own.
    text = subprocess.run([f"{args.bin}/wavetap", "profile", "--gpu", args.gpu, "--", path_of(args, "inlined_calls"), "none"],
                          capture_output=True, text=True).stdout
    calls = re.findall(r"^ +in ([^\s,]+)", text, re.M)
    expect("__syncthreads" in calls and not re.search(r"\S {3,}in \S+, inlined at", text), f"profile: {calls}\n{text}")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def check_captured(args, folder):
    """A capture gives what the program gave; sizes are exact only when allocations were guarded."""
    wavetap, program = f"{args.bin}/wavetap", path_of(args, "memory_bugs")
    capture = folder / "k.wtcap"
    run(wavetap, "capture", "--gpu", args.gpu, "-k", "^(fill|turn_round)", "--every", "1", "--gpu-option", "guard-allocations",
        "-o", capture, "--", program, "past")
    ran = run(wavetap, "sanitize", "--json", folder / "f.json", "--seeds", "2", capture)
    document = json.loads((folder / "f.json").read_text())
    places = [(f["kind"], f["kernel"], f["distance"], f["allocation"]["size_bytes"], f["argument"]["number"], f["times"])
              for f in document["findings"]]
    expect(places == [("out-of-bounds", "fill(int*, int)", 0, 256, 0, 2)], f"capture: {places} {ran.stderr}")
    expect((ran.returncode, document["dispatches_checked"], document["orders_tried"]) == (2, 4, 2), f"capture: {document}")
    ran = run(wavetap, "sanitize", "-k", "^turn", capture)
    expect(ran.returncode == 0 and "1 dispatch checked by" in ran.stderr and "1 left out" in ran.stderr, f"capture -k: {ran}")
    ran = run(wavetap, "replay", capture, "--sanitize=memcheck", "--json", "-n", "3")
    found = json.loads(ran.stdout)["sanitize"]
    expect((ran.returncode, found["dispatches_checked"], found["findings"][0]["times"]) == (2, 3, 3), f"replay: {ran}")
    ran = run(wavetap, "replay", capture, "--capture", "2", "--sanitize", "--verify")
    expect(ran.returncode == 0 and "verified" in ran.stdout and "0 errors" in ran.stderr, f"replay: {ran}")


def check_inputs(args):
    expect(not schema.check_kinds(), f"schema: {schema.check_kinds()}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wavetap, program = f"{args.bin}/wavetap", path_of(args, "memory_bugs")
        check_captured(args, folder)
        target = "gfx90a" if args.gpu == "mi210" else "gfx1030"
        for count, status in ((60, 0), (64, 2)):
            ran = run(wavetap, "gpu", "exec", program, "sum", "--target", target, "--block", "64", "--arg", "buf:240", "--arg",
                      f"i32:{count}", "--arg", "buf:4", "--sanitize")
            expect(ran.returncode == status and ("1st argument" in ran.stderr) == (status != 0), f"gpu exec: {ran}")
        status, text, document = sanitize(args, "memory_bugs", "read", options=("-k", "^(add|sum|fill)", "--launch", "2"))
        seen = (status, document["dispatches_checked"], [f["kernel"].split("(")[0] for f in document["findings"]])
        expect(seen == (2, 1, ["sum"]), f"--launch: {seen}")
        written, sarif = folder / "s.txt", folder / "f.sarif"
        status, text, _ = sanitize(args, "memory_bugs", "past", options=("--write-suppressions", written, "--sarif", sarif))
        results = schema.check_sarif(json.loads(sarif.read_text()))
        line = results[0]["locations"][0]["physicalLocation"]["region"]["startLine"]
        expect((len(results), results[0]["ruleId"], line) == (1, "out-of-bounds", line_of(FILL)), f"SARIF: {results}")
        written.write_text(written.read_text() + "no-access no_such_kernel\n")
        status, text, document = sanitize(args, "memory_bugs", "past", options=("--suppressions", written))
        seen = (status, document["findings"], document["suppressed"], document["unused_suppressions"])
        expect(seen == (0, [], 1, ["no-access no_such_kernel"]), f"suppressions: {seen}")
        expect("matched nothing: no-access no_such_kernel" in text, f"suppressions: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--bugs", help="where the programs with bugs are, when not in BIN/hip")
    parser.add_argument("what", choices=("bugs", "clean", "options", "inputs", "host", "inlined", "documents"))
    parser.add_argument("program", nargs="?")
    args = parser.parse_args()
    if args.what == "bugs":
        check_bugs(args)
    elif args.what == "clean":
        check_clean(args, args.program)
    elif args.what == "host":
        check_host(args)
    elif args.what == "inlined":
        check_inlined(args)
    elif args.what == "documents":
        check_documents(args)
    elif args.what == "inputs":
        check_inputs(args)
    else:
        check_options(args)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
