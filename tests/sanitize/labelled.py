#!/usr/bin/env python3
"""Runs a program whose kernels have labels in their source, under one tool of wavetap sanitize, and holds what was found
against the labels. races.hip says how they look.

  labelled.py --bin BIN --gpu MODEL --tool TOOL --source FILE.hip PROGRAM [ARG…]
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import schema

KIND = r"[a-z-]+(?: \(warning\))?"
# @FIRST[-LAST[/STEP]], or @(EXPRESSION) of the thread t, the wave size W and O0; @wave: of none. With @b(…): the first is of <a>.
LANES = r"(?: @(?:(?P<first>\d+)(?:-(?P<last>\d+)(?:/(?P<step>\d+))?)?|\((?P<test>[^@]+)\)|(?P<wave>wave))(?: @b\((?P<test_b>[^@]+)\))?)?"
LABEL = re.compile(rf"^// (\w+)(?: on (?P<on>gfx\d+))?: (?P<kinds>{KIND}(?:, {KIND})*){LANES}(?:  \[(?P<remark>.+)\])?$")
KERNEL = re.compile(r"^KERNEL (\w+)\(")


def lanes_of(label):
    """For <a> and <b>: whether a thread is one of those that the label names, as functions; None: not said. An empty tuple: the finding
    is one of a wave."""
    def of(test):
        code = test and compile(test, test, "eval")
        return code and (lambda t, wave_size, is_O0: eval(code, {"t": t, "W": wave_size, "O0": is_O0}))
    if label["wave"]:
        return ()
    if label["first"]:
        threads = range(int(label["first"]), int(label["last"] or label["first"]) + 1, int(label["step"] or 1))
        return [lambda t, wave_size, is_O0: t in threads] * 2
    return [of(label["test"]), of(label["test_b"] or label["test"])]


def read_labels(path, generation):
    """Of a generation, gfx9 or gfx10. {kernel: (kinds with severities, line of <a>, line of <b>, has a remark, lanes_of())}; kernels without a label have no kinds."""
    cases = {}
    label = None
    name = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if (found := LABEL.match(line)) and found["on"] in (None, generation):
            label = found
        if found := KERNEL.match(line):
            name = found[1]
            if label and label[1] != name:
                raise SystemExit(f"{path}:{number}: the label is for {label[1]}, the kernel is {name}")
            kinds = label["kinds"].split(", ") if label else []
            expected = {(k.removesuffix(" (warning)"), "warning" if "(" in k else "error") for k in kinds}
            cases[name] = [expected, None, None, bool(label and label["remark"]), label and lanes_of(label)]
            label = None
        if name and "// <" in line:
            for i, mark in ((1, "<a>"), (2, "<b>")):
                if mark in line:
                    cases[name][i] = number
    return cases


def run(args):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--gpu", args.gpu, "--tool", args.tool, "--json", str(path), "--",
                              *args.program], capture_output=True, text=True)
        if not path.exists():
            raise SystemExit(f"status {ran.returncode}, no document\n{ran.stdout}{ran.stderr}")
        return ran.returncode, ran.stdout, schema.check(json.loads(path.read_text()))


def line_of(place, source):
    """The line of the source; 0 when it is another file's."""
    file, _, number = place.get("source", "").rpartition(":")
    return int(number) if pathlib.Path(file).name == source.name else 0


def same_kind(kind):
    """Which of a load and a store comes first in the machine code is the compiler's choice."""
    return "read-write" if kind in ("read-after-write", "write-after-read") else kind


def check_lanes(name, lanes, finding, marks, source, wave_size, is_O0):
    """A finding names all lanes of its wave. A race names those of the wave that was there second, and one of the first's, or none when several
    waves were: some of those of the label."""
    places = [finding, finding["other"]] if finding["tool"] == "racecheck" and "other" in finding else [finding]
    found = [int(place.get("lanes", "0"), 16) for place in places]
    if lanes == ():
        return [f"{name}: lanes {found[0]:#x}, and none are expected"] if found[0] else []
    if not lanes or lanes[0] is None:
        return []
    # A place in another file is the one that the other is not.
    lines = [line_of(place, source) for place in places]
    if len(places) == 2 and None not in marks:
        lines = [line or sum(marks) - lines[1 - i] for i, line in enumerate(lines)]
    wrong = [] if any(found) else [f"{name}: no lanes"]
    for place, line, has in zip(places, lines, found):
        tests = [test for test, mark in zip(lanes, marks) if mark == line] or lanes
        first = place.get("wave", 0) * wave_size
        wanted = sum(1 << i for i in range(wave_size) if any(test(first + i, wave_size, is_O0) for test in tests))
        if has & ~wanted if len(places) == 2 else has != wanted:
            wrong.append(f"{name}: line {line}, wave {place.get('wave')}, lanes {has:#x}, not {wanted:#x}")
    return wrong


def check_case(name, bug, expected, findings, source, is_inlined, wave_size):
    """What is wrong, as a list of sentences."""
    kinds, first, second, _, lanes = expected
    if not bug or not kinds:
        return [f"{name}<{str(bug).lower()}>: {f['severity']} {f['kind']} at line {line_of(f, source)}" for f in findings]
    wrong = []
    for kind in kinds - {(same_kind(f["kind"]), f["severity"]) for f in findings}:
        wrong.append(f"{name}: not found: {kind[1]} {kind[0]}")
    for f in findings:
        if (same_kind(f["kind"]), f["severity"]) not in kinds:
            wrong.append(f"{name}: {f['severity']} {f['kind']} at line {line_of(f, source)} is not expected")
        lines = {line_of(place, source) for place in (f, f.get("other", f))}
        # Without optimisation a function of the HIP headers, atomicAdd say, is called, and is not in this file.
        wanted = {first, second} - {None}
        if is_inlined and 0 in lines:
            wrong.append(f"{name}: {f['kind']} at {f.get('source')}, and not in {source.name}")
        if lines - wanted - {0} or ("other" in f and (not lines - {0} or (0 not in lines and lines != wanted))):
            wrong.append(f"{name}: {f['kind']} at lines {sorted(lines)}, not {first} and {second}")
        wrong += check_lanes(name, lanes, f, (first, second), source, wave_size, not is_inlined)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--unoptimised", action="store_true", help="what has a remark in [] may go unseen, or have another severity")
    parser.add_argument("program", nargs="+", help="and its arguments")
    args = parser.parse_args()
    cases = read_labels(args.source, "gfx9" if args.gpu.startswith("mi") else "gfx10")
    status, text, document = run(args)
    by_kernel = collections.defaultdict(list)
    for finding in document["findings"]:
        by_kernel[re.sub(r"^void |\(.*", "", finding["kernel"])].append(finding)
    wrong = []
    if "FAIL" in text or not text:
        wrong.append(f"the program itself: status {status}\n{text}")
    ran = set(re.findall(r"^ok   (\w+)<", text, re.M))
    wrong += [f"{name}: was not launched" for name in cases.keys() - ran if not (cases[name][3] and args.unoptimised)]
    for name, expected in cases.items():
        for bug in (False, True):
            found = by_kernel.pop(f"{name}<{str(bug).lower()}>", [])
            if bug and expected[3] and args.unoptimised:
                if not found:
                    continue
                kinds = {kind for kind, _ in expected[0]}
                expected = [{(kind, f["severity"]) for kind in kinds for f in found if same_kind(f["kind"]) == kind}, *expected[1:]]
            wrong += check_case(name, bug, expected, found, args.source, not args.program[0].endswith("_O0"),
                                64 if args.gpu.startswith("mi") else 32)
    wrong += [f"{kernel}: {len(found)} findings" for kernel, found in by_kernel.items()]
    labelled = sum(1 for expected in cases.values() if expected[0])
    print("\n".join(wrong) or f"{labelled} kernels with a bug, {2 * len(cases) - labelled} without: as labelled")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
