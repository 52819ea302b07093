#!/usr/bin/env python3
"""Runs a HIP program on a virtual GPU with kernels of another build in the place of its own.

  swap.py --bin BUILD/bin --model MODEL [--programs FOLDER] [--root ROOT] CASE

With --root the program runs under the ROCm of a folder made by tests/roots/make_root.sh. The cases are the functions below.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from temporary import scratch_folder  # noqa: E402

TARGETS = {"rx6800xt": "gfx1030", "mi210": "gfx90a"}


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


def code_objects(path):
    """[(target id, bytes)] of every offload bundle in a file."""
    data, magic, found, at = path.read_bytes(), b"__CLANG_OFFLOAD_BUNDLE__", [], 0
    while (at := data.find(magic, at)) >= 0:
        place = at + len(magic) + 8
        for _ in range(struct.unpack_from("<Q", data, at + len(magic))[0]):
            offset, size, length = struct.unpack_from("<QQQ", data, place)
            name = data[place + 24:place + 24 + length].decode()
            place += 24 + length
            if "-gfx" in name and size:
                found.append((name[name.index("-gfx") + 1:], data[at + offset:at + offset + size]))
        at = place
    return found


class Bench:
    def __init__(self, bin_folder, programs, model, scratch, root=None):
        self.inside = ["chroot", root] if root else []
        self.bin, self.programs, self.model, self.scratch = bin_folder, programs, model, pathlib.Path(scratch)
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=scratch, COLUMNS="250", XDG_CACHE_HOME=f"{scratch}/cache")
        self.target = TARGETS[model]
        self.old, self.new = programs / "swaps", programs / "swaps_new"
        self.folder = self.scratch / "kernels"
        self.folder.mkdir()

    def wavetap(self, *words, status=0, stdin=subprocess.DEVNULL):
        done = subprocess.run([str(self.bin / "wavetap"), *map(str, words)], cwd=self.scratch, env=self.environment, text=True, stdin=stdin,
                              capture_output=True, timeout=300)
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def run(self, *cases, swap=None, options=(), model=None):
        swapping = ("--swap", swap) if swap else ()
        done = self.wavetap("run", "--gpu", model or self.model, "-o", "t.rpd", *(["--no-checks", "--gpu-option", "svm"] if self.inside else []),  # without it HIP 7 has no managed memory
                            *swapping, *options, "--", *self.inside, self.old, *cases)
        done.lines = done.stdout.split("\n")[:-1]
        return done

    def hsaco(self, target=None, name=None, program=None):
        """The new build's code object for a target, as a file of the folder."""
        [code] = [code for its_target, code in code_objects(program or self.new) if its_target.startswith(target or self.target)]
        path = self.folder / (name or f"{target or self.target}.hsaco")
        path.write_bytes(code)
        return path

    def rows(self, sql):
        return json.loads(self.wavetap("query", "--format", "json", "t.rpd", sql).stdout)

    def swaps(self):
        return self.rows("select event, kernel, file, reason, why, dispatches from wavetap_swap order by id")


def basic(bench):
    """A kernel from a folder runs instead, the trace says so, and its name alone decides which."""
    path = bench.hsaco()
    bare = bench.run("basic", "graph", "threads")
    expect(bare.lines == ["scale 3", "other -2", "graph 4", "threads 1"], bare.stdout)
    done = bench.run("basic", "graph", "threads", swap=bench.folder)
    expect(done.lines == ["scale 1003", "other 998", "graph 3004", "threads 25001"], done.stdout)
    expect("swap: 104 dispatches of 2 kernels ran the replacement" in done.stderr, done.stderr)
    ran = bench.rows("select o.uri, count(*) n from wavetap_dispatch d join wavetap_kernel k on k.id = d.kernel_id"
                     " join wavetap_code_object o on o.id = k.code_object_id where k.internal = 0 group by 1")
    expect([(row["n"], str(path) in row["uri"]) for row in ran] == [(104, True)], f"{ran}")
    used = [row for row in bench.swaps() if row["event"] == "replaced" and row["dispatches"]]
    expect(sorted(row["dispatches"] for row in used) == [1, 103] and all(row["file"] == str(path) for row in used), f"{used}")
    report = bench.wavetap("report", "t.rpd").stdout
    expect("Replaced kernels" in report and "103" in report, report)


def turns(bench):
    """Original and replacement by turns: each has its half of the launches, and both times are said."""
    bench.hsaco()
    done = bench.run("basic", "threads", swap=bench.folder, options=("--swap-ab",))
    expect(done.lines[:2] == ["scale 3", "other -2"], done.stdout)  # the first launch of each is the original's
    count = {}
    for row in bench.swaps():
        count.setdefault(row["kernel"], {}).setdefault(row["event"], 0)
        count[row["kernel"]][row["event"]] += row["dispatches"]
    scale = count["scale(int*, int)"]
    expect(set(scale) == {"replaced", "turn"} and scale["turn"] - scale["replaced"] in (0, 1) and sum(scale.values()) > 50, f"{count}")
    expect(count["other::scale(int*, int)"] == {"replaced": 0, "turn": 1}, f"{count}")
    expect(f"swap: {scale['replaced']} dispatches of 1 kernel ran the replacement" in done.stderr, done.stderr)
    said = re.search(r"swap: scale\(int\*, int\): the original (\d+) dispatches of (\d+\.\d+) us on average, the replacement (\d+) dispatches of "
                     r"(\d+\.\d+) us \([+-]\d+\.\d %\)", done.stderr)
    expect(said and (int(said[1]), int(said[3])) == (scale["turn"], scale["replaced"]), done.stderr)
    [ids] = bench.rows("select kernel_id old, replacement_id new from wavetap_swap where event = 'replaced' and kernel = 'scale(int*, int)'")
    for which, text in (("old", said[2]), ("new", said[4])):
        [row] = bench.rows("select avg(o.end - o.start) / 1000.0 us from wavetap_dispatch d join rocpd_op o on o.id = d.op_id"
                           f" where d.kernel_id = {ids[which]}")
        expect(abs(row["us"] - float(text)) < 0.01, f"{which}: {row} {done.stderr}")
    expect("turn" in bench.wavetap("report", "t.rpd").stdout, "the report")
    done = bench.wavetap("run", "--gpu", bench.model, "--swap-ab", "--", bench.old, "basic", status=1)
    expect("--swap-ab says how --swap works; add --swap DIR" in done.stderr, done.stderr)


def sources(bench):
    """A program with device code, a bundle of one and a manifest serve as well as code objects."""
    expect(bench.run("basic", swap=bench.new).lines == ["scale 1003", "other 998"], "a program")
    shutil.copy(bench.new, bench.folder / "program")
    expect(bench.run("basic", swap=bench.folder).lines == ["scale 1003", "other 998"], "program in a folder")
    bench.hsaco(name="new.co")
    manifest = bench.scratch / "list.txt"
    for text, lines in (("scale kernels/new.co\n", ["scale 1003", "other -2"]),
                        ("# a comment\n*scale* kernels/new.co\n", ["scale 1003", "other 998"]),
                        ('"other::scale(int*, int)" kernels/new.co\n', ["scale 3", "other 998"]),
                        ("other::scale kernels/new.co kernel=scale\n", ["scale 3", "other 1003"]),
                        ("scale kernels/new.co hash=1234\n", ["scale 3", "other -2"])):
        manifest.write_text(text)
        expect(bench.run("basic", swap=manifest).lines == lines, text)
    [swap] = bench.swaps()
    expect(swap["reason"] == "hash", f"{swap}")
    kernels = json.loads(bench.wavetap("swap", "check", manifest, bench.old, "--json", "--target", bench.target, status=2).stdout)["kernels"]
    manifest.write_text(f"scale kernels/new.co hash={kernels[0]['hash']}\n")
    expect(bench.run("basic", swap=manifest).lines == ["scale 1003", "other -2"], "by hash")
    for text, said in (("scale\n", "line 1: no file"), ("\n\"scale new.co\n", "line 2: a quote"), ("a b c=d\n", "c=d: not understood")):
        manifest.write_text(text)
        done = bench.wavetap("run", "--gpu", bench.model, "--swap", manifest, "--", bench.old, status=1)
        expect(said in done.stderr, done.stderr)


def refused(bench):
    """What is not proved harmless does not run, and the first reason is said."""
    bench.hsaco()
    done = bench.run("refused", swap=bench.folder)
    expect(done.lines == ["arguments 7", "variable 5"], done.stdout)
    swaps = {row["kernel"]: row for row in bench.swaps()}
    expect(swaps["arguments"]["reason"] == "arguments" and swaps["arguments"]["dispatches"] == 1, f"{swaps['arguments']}")
    expect(swaps["variable"]["reason"] == "variables" and "counter" in swaps["variable"]["why"], f"{swaps['variable']}")
    expect("arguments: not replaced by" in done.stderr and "1 dispatch ran the original" in done.stderr, done.stderr)
    manifest = bench.scratch / "list.txt"
    manifest.write_text(f"variable kernels/{bench.target}.hsaco variables=own\n")
    expect(bench.run("refused", swap=manifest).lines == ["arguments 7", "variable 1000"], "variables=own")
    other = next(target for target in TARGETS.values() if target != bench.target)
    for path in bench.folder.iterdir():
        path.unlink()
    bench.hsaco(target=other)
    done = bench.run("basic", swap=bench.folder)
    expect(done.lines == ["scale 3", "other -2"], done.stdout)
    expect({row["reason"] for row in bench.swaps()} == {"target"}, f"{bench.swaps()}")


def launches(bench):
    """Limits of single launches, dynamic LDS behind static LDS, scratch that the original has not."""
    bench.hsaco()
    bare, done = bench.run("launches"), bench.run("launches", swap=bench.folder)
    expect(bare.lines == ["narrow 1", "narrow 1", "shared 62", "shared 62", "scratch 9"], bare.stdout)
    expect(done.lines == ["narrow 1", "narrow 2", "shared 1062", "shared 62", "scratch 1000"], done.stdout)
    refusals = {row["kernel"]: row for row in bench.swaps() if row["event"] == "launch-refused"}
    expect(refusals["narrow"]["reason"] == "workgroup" and refusals["narrow"]["dispatches"] == 1, f"{refusals}")
    expect(refusals["shared"]["reason"] == "lds" and refusals["shared"]["dispatches"] == 1, f"{refusals}")


def modules(bench):
    """Kernels that hipRTC compiles and hipModuleLoadData loads, two of one name, unloaded in between."""
    bench.hsaco()
    expect(bench.run("modules").lines == ["module 2", "module 2"], "as it is")
    done = bench.run("modules", swap=bench.folder)
    expect(done.lines == ["module 1001", "module 1001"], done.stdout)
    used = [row for row in bench.swaps() if row["kernel"] == "work" and row["dispatches"]]
    expect([(row["event"], row["dispatches"]) for row in used] == [("loaded", 1), ("loaded", 1)], f"{used}")
    manifest = bench.scratch / "list.txt"
    manifest.write_text(f"work kernels/{bench.target}.hsaco\n")
    expect(bench.run("modules", swap=manifest).lines == ["module 1001", "module 1001"], "kernel by kernel")
    used = [row for row in bench.swaps() if row["kernel"] == "work" and row["dispatches"]]
    expect([(row["event"], row["dispatches"]) for row in used] == [("replaced", 1), ("replaced", 1)], f"{used}")


def library(bench):
    """Kernels of a library: rocRAND's, replaced by its own code."""
    libraries = [path for path in map(pathlib.Path, ("/usr/lib/aarch64-linux-gnu/librocrand.so.1", "/usr/lib/x86_64-linux-gnu/librocrand.so.1"))
                 if path.exists()]
    program = bench.bin / "hip/rocrand_host"
    if not libraries or not program.exists():
        sys.exit(77)
    bare = bench.wavetap("run", "--gpu", bench.model, "--no-trace", "--", program)
    done = bench.wavetap("run", "--gpu", bench.model, "-o", "t.rpd", "--swap", libraries[0], "--", program)
    expect(done.stdout == bare.stdout, done.stdout)
    loaded = sum(row["dispatches"] for row in bench.swaps() if row["event"] == "loaded")
    expect(loaded > 0, done.stderr)
    done = bench.wavetap("run", "--gpu", bench.model, "-o", "t.rpd", "--swap", libraries[0], "--swap-ab", "--", program)
    replaced = sum(row["dispatches"] for row in bench.swaps() if row["event"] == "replaced")
    expect(done.stdout == bare.stdout and replaced > 0, done.stderr)


def damaged(bench):
    """Files that are no code objects, cut ones, changed ones: a sentence, and the program as it is."""
    whole = bench.hsaco().read_bytes()
    (bench.folder / "text.hsaco").write_text("no code object")
    (bench.folder / "short.hsaco").write_bytes(whole[:200])
    done = bench.run("basic", swap=bench.folder)
    expect(done.lines == ["scale 1003", "other 998"] and "text.hsaco" in done.stderr, done.stderr)
    expect("text.hsaco" in bench.wavetap("swap", "list", bench.folder, status=2).stderr, "list")
    for path in bench.folder.iterdir():
        path.unlink()
    done = bench.wavetap("run", "--gpu", bench.model, "--swap", bench.folder, "--", bench.old, "basic", status=1)
    expect("no kernels in it" in done.stderr, done.stderr)
    for size in (64, 1000, 3000, len(whole) - 10):
        (bench.folder / "cut.hsaco").write_bytes(whole[:size])
        done = bench.wavetap("run", "--gpu", bench.model, "-o", "t.rpd", "--swap", bench.folder, "--", bench.old, "basic", status=None)
        expect(done.returncode in (0, 1), f"{size}: {done.returncode} {done.stderr}")
    # Gone, or another file, between the index and the first kernel.
    path = bench.hsaco()
    for change, reason in ((path.unlink, "missing"), (lambda: path.write_bytes(whole + b"\0"), "changed")):
        bench.hsaco()
        script = bench.scratch / "app.sh"
        script.write_text(f"#!/bin/sh\n[ -e {bench.scratch}/go ] || exit 1\nexec {bench.old} basic\n")
        done = run_after(bench, script, change)
        expect(done.lines == ["scale 3", "other -2"], done.stdout)
        expect({row["reason"] for row in bench.swaps() if row["kernel"] == "scale(int*, int)"} == {reason}, f"{bench.swaps()}")


def run_after(bench, script, change, case="basic"):
    """Runs the program; `change` happens after `wavetap run` has made its index, before the program starts."""
    script.write_text(f"#!/bin/sh\necho ready; read line\nexec {bench.old} {case}\n")
    script.chmod(0o755)
    process = subprocess.Popen([str(bench.bin / "wavetap"), "run", "--gpu", bench.model, "-o", "t.rpd", "--swap", str(bench.folder), "--", str(script)],
                               cwd=bench.scratch, env=bench.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(process.stdout.readline() == "ready\n", "not ready")
    change()
    out, err = process.communicate("go\n", timeout=300)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    done.lines = out.split("\n")[:-1]
    return done


def watch(bench):
    """A changed file is used from the next launch on; half of one is not."""
    path = bench.hsaco()
    new = path.read_bytes()
    [old] = [code for target, code in code_objects(bench.old) if target.startswith(bench.target)]
    process = subprocess.Popen([str(bench.bin / "wavetap"), "run", "--gpu", bench.model, "-o", "t.rpd", "--swap", str(bench.folder), "--swap-watch", "--",
                                str(bench.old), "steps"], cwd=bench.scratch, env=bench.environment, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = [process.stdout.readline().strip()]

    def step():
        process.stdin.write("go\n")
        process.stdin.flush()
        seen.append(process.stdout.readline().strip())

    for content in (old, new, new[:500], new):
        fresh = bench.scratch / "fresh"
        fresh.write_bytes(content)
        fresh.rename(path)
        step()
    path.unlink()
    step()
    process.stdin.close()
    expect(process.wait(timeout=300) == 0, process.stderr.read())
    expect(seen == ["step 1003", "step 3", "step 1003", "step 1003", "step 1003", "step 1003"], f"{seen}")


def commands(bench):
    """swap list and swap check say beforehand what run does, and a thousand files are read once."""
    path = bench.hsaco()
    listed = json.loads(bench.wavetap("swap", "list", bench.folder, "--json").stdout)["kernels"]
    by_name = {kernel["kernel"]: kernel for kernel in listed}
    expect([a["bytes"] for a in by_name["scale(int*, int)"]["arguments"][:2]] == [8, 4], f"{by_name['scale(int*, int)']}")
    expect(by_name["shared"]["lds_bytes"] == 4096 and by_name["scratch"]["scratch_bytes"] > 0, f"{by_name['scratch']}")
    expect("counter" in by_name["variable"]["variables"] and by_name["narrow"]["max_workgroup"] == 64, f"{by_name['narrow']}")
    done = bench.wavetap("swap", "check", bench.folder, bench.old, "--json", "--target", bench.target, status=2)
    answers = {kernel["kernel"]: kernel for kernel in json.loads(done.stdout)["kernels"]}
    expect(answers["scale(int*, int)"]["replaced"] and answers["scale(int*, int)"]["replacement"] == str(path), f"{answers}")
    expect(answers["arguments"]["reason"] == "arguments" and answers["variable"]["reason"] == "variables", f"{answers}")
    text = bench.wavetap("swap", "check", bench.folder, bench.old, status=2).stdout
    expect("argument 1 of the kernel is by_value, 4 bytes at 8" in text, text)
    for i in range(200):
        shutil.copy(path, bench.folder / f"copy{i}.hsaco")
    first = bench.wavetap("swap", "list", bench.folder).stdout
    [cache] = bench.scratch.glob("cache/wavetap/swap-*.index")
    kept = cache.read_bytes()
    expect(bench.wavetap("swap", "list", bench.folder).stdout == first and cache.read_bytes() == kept, "the cache changed")
    for bad in (b"", kept[:-20], kept.replace(b"gfx", b"xyz", 1), b"\0" * 100):
        cache.write_bytes(bad)
        expect(bench.wavetap("swap", "list", bench.folder).stdout == first, "a damaged cache was used")
        expect(cache.read_bytes() == kept, "the cache was not made again")


def verify(bench):
    """Captured dispatches, as they are and replaced: the same code computes the same, the new build does not."""
    bench.wavetap("capture", "-k", "scale|arguments", "--max", "4", "--gpu", bench.model, "-o", "c.wtcap", "--", bench.old, "basic", "refused")
    same = json.loads(bench.wavetap("swap", "verify", bench.old, "c.wtcap", "--json").stdout)["captures"]
    expect(len(same) == 3 and all(one["compared"] and one["equal"] and one["written_bytes"] > 0 for one in same), f"{same}")
    bench.hsaco()
    other = json.loads(bench.wavetap("swap", "verify", bench.folder, "c.wtcap", "--json", status=15).stdout)["captures"]
    results = [(one["kernel"], one["compared"], one.get("equal")) for one in other]
    expect(results == [("scale(int*, int)", True, False), ("other::scale(int*, int)", True, False), ("arguments", False, None)], f"{results}")
    expect("1000 instead of 0" in other[0]["first_difference"], f"{other[0]}")
    expect("OTHER OUTPUT" in bench.wavetap("swap", "verify", bench.folder, "c.wtcap", status=15).stdout, "text")
    # The same while the program runs, with its own kernels.
    run = ["run", "--gpu", bench.model, "--no-trace", "--swap-verify", "--swap-json", "v.json", "--swap"]
    bench.wavetap(*run, bench.old, "--", bench.old, "basic")
    live = json.loads((bench.scratch / "v.json").read_text())["captures"]
    expect(live and all(one["compared"] and one["equal"] for one in live), f"{live}")
    said = bench.wavetap(*run, bench.folder, "--", bench.old, "basic", status=15).stderr
    live = json.loads((bench.scratch / "v.json").read_text())["captures"]
    expect("OTHER OUTPUT" in said and any(not one["equal"] for one in live), f"{said}{live}")
    expect(all(one["original_seconds"] > 0 and one["replacement_seconds"] > 0 for one in live), f"{live}")
    expect(not list(bench.scratch.glob("*.verify-*")), "captures are left")
    for arguments, words in [(["--gpu", bench.model], "add --swap DIR"), (["--swap", bench.old], "add --gpu MODEL")]:
        expect(words in bench.wavetap("run", "--swap-verify", *arguments, "--", bench.old, status=1).stderr, words)


class Wholes(Bench):
    """The bench with the program whose code objects are replaced as a whole."""

    def __init__(self, bench):
        self.__dict__.update(bench.__dict__)
        self.old, self.new, self.other = (self.programs / name for name in ("wholes", "wholes_new", "wholes_other"))

    def outcome(self):
        """{kernel: (event, reason)} of those that ran."""
        return {row["kernel"]: (row["event"], row["reason"]) for row in self.swaps() if row["dispatches"]}


def whole(bench):
    """A code object is loaded in the place of the program's: kernels, host and runtime see one set of variables."""
    bench = Wholes(bench)
    path = bench.hsaco()
    own = bench.scratch / "own.hsaco"
    [code] = [code for target, code in code_objects(bench.old) if target.startswith(bench.target)]
    own.write_bytes(code)
    cases = ("variables", "managed", str(own))
    module = lambda value: [f"module {value + turn}, variable of 4 bytes" for turn in (0, 1)]
    expect(bench.run(*cases).lines == ["counter 13", "add 40", "plain 0", "managed 40", *module(107)], "as it is")
    done = bench.run(*cases, swap=bench.folder)
    expect(done.lines == ["counter 4013", "add 6040", "plain 1000", "managed 1040", *module(2107)], done.stdout)
    expect("swap: 6 dispatches of 4 kernels ran the replacement, loaded in the place of the program's code object" in done.stderr, done.stderr)
    expect(set(bench.outcome().values()) == {("loaded", "")}, f"{bench.swaps()}")
    ran = bench.rows("select o.uri, count(*) n from wavetap_dispatch d join wavetap_kernel k on k.id = d.kernel_id"
                     " join wavetap_code_object o on o.id = k.code_object_id where k.internal = 0 group by 1")
    expect([(row["n"], str(path) in row["uri"]) for row in ran] == [(6, True)], f"{ran}")
    expect("loaded" in bench.wavetap("report", "t.rpd").stdout, "the report")
    checked = json.loads(bench.wavetap("swap", "check", bench.folder, bench.old, "--target", bench.target, "--json").stdout)
    expect([(one["loaded"], one["kernels"], one["replacement"]) for one in checked["code_objects"]] == [(True, 4, str(path))], f"{checked}")
    expect(all(one["replaced"] and one["with_its_object"] and one["replacement_kernel"] == one["symbol"] for one in checked["kernels"]), f"{checked}")
    text = bench.wavetap("swap", "check", bench.folder, bench.old, "--target", bench.target).stdout
    expect("4 kernels replaced, 0 refused, 0 not named; 1 code object loaded in the place of the program's" in text, text)
    [listed] = json.loads(bench.wavetap("swap", "list", bench.folder, "--json").stdout)["code_objects"]
    expect({"name": "table", "bytes": 16} in listed["variables"] and listed["kernels"] == 4, f"{listed}")
    # A manifest names it by one of its kernels.
    manifest = bench.scratch / "list.txt"
    manifest.write_text(f"plain kernels/{path.name} object=whole\n")
    expect(bench.run("variables", swap=manifest).lines == ["counter 4013", "add 6040", "plain 1000"], "by a manifest")
    # From a program with code for several targets, each GPU its own.
    expect(bench.run("variables", swap=bench.new).lines == ["counter 4013", "add 6040", "plain 1000"], "from a program")
    for models, count in ((f"{bench.model},{bench.model}", 2), ("rx6800xt,mi210", 2)):
        done = bench.run("devices", swap=bench.new, model=models)
        expect(done.lines == [f"device {10010 + device}" for device in range(count)], f"{models}: {done.stdout}{done.stderr}")
        expect(set(bench.outcome().values()) == {("loaded", "")}, f"{bench.swaps()}")


def whole_refused(bench):
    """What the runtime has read of the program's code object must do for the other; else kernels alone are tried, if that is meant."""
    bench = Wholes(bench)
    path = bench.hsaco(program=bench.other, name="other.hsaco")
    done = bench.run("variables", swap=bench.folder)
    expect(done.lines == ["counter 13", "add 40", "plain 1000"], done.stdout)  # without variables it runs alone
    expect(bench.outcome() == {"count(int)": ("refused", "variables"), "add(int*)": ("refused", "variables"), "plain(int*)": ("replaced", "")}, f"{bench.swaps()}")
    why = "its code object is not loaded in the place of the program's, because kernel plain(int*): it has 1024 bytes of static LDS, and the runtime provides 0"
    expect(why in done.stderr, done.stderr)
    text = bench.wavetap("swap", "check", bench.folder, bench.old, "--target", bench.target, status=2).stdout
    expect(f"the code object for {bench.target}" in text and f"is not replaced as a whole by {path}: kernel plain(int*): it has 1024 bytes" in text, text)
    manifest = bench.scratch / "list.txt"
    manifest.write_text("* kernels/other.hsaco object=whole\n")
    expect(bench.run("variables", swap=manifest).lines == ["counter 13", "add 40", "plain 0"], "the whole or nothing")
    expect(set(bench.outcome().values()) == {("refused", "lds")}, f"{bench.swaps()}")
    bench.hsaco(name="new.hsaco")
    manifest.write_text("* kernels/new.hsaco object=whole hash=1234\n")
    expect(bench.run("variables", swap=manifest).lines == ["counter 13", "add 40", "plain 0"], "another hash")
    expect(set(bench.outcome().values()) == {("refused", "hash")}, f"{bench.swaps()}")
    manifest.write_text("* kernels/new.hsaco object=whole\n")
    for option in ("--swap-ab", "--swap-watch"):
        said = bench.wavetap("run", "--gpu", bench.model, "--swap", manifest, option, "--", bench.old, "variables", status=1).stderr
        expect(f"run: {option} chooses a kernel at each launch, and" in said and "object=whole" in said, said)
    path.unlink()
    done = bench.run("variables", swap=bench.folder, options=("--swap-ab",))
    expect(done.lines[:2] == ["counter 13", "add 40"] and bench.outcome()["plain(int*)"][0] == "turn", f"{done.stdout}{bench.swaps()}")
    # Compared kernel by kernel, where there is nothing that only the whole could share.
    said = bench.wavetap("run", "--gpu", bench.model, "--no-trace", "--swap", manifest, "--swap-verify", "--", bench.old, "variables", status=None).stderr
    expect("plain(int*)" in said and "OTHER OUTPUT" in said and "device variable" in said, said)
    # Gone, cut or another file after the program has started.
    whole_file = (bench.folder / "new.hsaco").read_bytes()
    for change, reason in ((lambda: (bench.folder / "new.hsaco").unlink(), "missing"), (lambda: (bench.folder / "new.hsaco").write_bytes(whole_file[:700]), "changed")):
        bench.hsaco(name="new.hsaco")
        done = run_after(bench, bench.scratch / "app.sh", change, "variables")
        expect(done.lines == ["counter 13", "add 40", "plain 0"], done.stdout + done.stderr)
        expect({one[1] for one in bench.outcome().values()} == {reason}, f"{bench.swaps()}")


def alone(bench):
    """The library as a tool of the GPU runtime and nothing else: durations, and kernels replaced by a table."""
    bench.hsaco()
    bench.wavetap("swap", "list", bench.folder, "--table", "kernels.table")
    tool = f"HSA_TOOLS_LIB={bench.bin.parent / 'lib/libwavetap.so'}"
    start = ["run", "--gpu", bench.model, "--no-trace", "--", "env", tool, "LOGDUR_LOG_LOCATION=log.csv"]
    bare = bench.wavetap(*start, bench.old, "basic")
    expect(bare.stdout.split("\n")[:-1] == ["scale 3", "other -2"], bare.stdout)
    done = bench.wavetap(*start, "WAVETAP_SWAP=kernels.table", bench.old, "basic")
    expect(done.stdout.split("\n")[:-1] == ["scale 1003", "other 998"], done.stdout)
    [command] = re.findall(r"`wavetap (import [^`]+)`", done.stderr)
    bench.wavetap(*command.split())
    durations = (bench.scratch / "log.csv").read_text()
    expect(durations.startswith("name,queue,start,end,ns,gpu,op,grid,workgroup\n") and '"scale(int*, int)"' in durations, durations)
    (bench.scratch / "trace.rpd").rename(bench.scratch / "t.rpd")
    expect({row["event"] for row in bench.swaps() if row["dispatches"]} == {"replaced"}, f"{bench.swaps()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--root")
    parser.add_argument("--model", default="rx6800xt")
    parser.add_argument("case")
    arguments = parser.parse_args()
    bin_folder = arguments.bin.resolve()
    # Another ROCm's root has the folder for temporary files mounted, and no other.
    with tempfile.TemporaryDirectory() if arguments.root else scratch_folder() as scratch:
        try:
            globals()[arguments.case](Bench(bin_folder, (arguments.programs or bin_folder / "hip").resolve(), arguments.model, scratch, arguments.root))
        except Failure as failure:
            sys.exit(f"{arguments.case}: {failure}")


if __name__ == "__main__":
    main()
