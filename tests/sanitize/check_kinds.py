#!/usr/bin/env python3
"""Runs memory_kinds.hip under memcheck and leakcheck: memory of every kind, used rightly, past its end, before its begin and after it was
given back.

  check_kinds.py --bin BIN --gpu MODEL PROGRAM
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import schema

HERE = pathlib.Path(__file__).resolve().parent
MARKS = {number: line.split("MARK ")[1].strip()
         for number, line in enumerate((HERE / "memory_kinds.hip").read_text().splitlines(), 1) if "MARK " in line}

OF_ROWS = -1  # what the program says: how far apart rows lie is the runtime's choice
SIZES = {"heap-large": 5000, "pitch": OF_ROWS, "volume": OF_ROWS}
KINDS = ["malloc", "managed", "async", "async-again", "pool", "host", "host-mapped", "registered", "imported", "pitch", "volume", "heap",
         "heap-large", "heap-new"]
# What lies beside other memory that is mapped.
WITH_NEIGHBOURS = ["registered", "heap", "heap-new"]


def cases():
    """(kind, how): what must be found, as (kind, mark, relation, distance, size of the allocation)"""
    for kind in KINDS:
        size = SIZES.get(kind, 1000)
        yield (kind, "right"), []
        yield (kind, "past"), [("out-of-bounds", "fill", "past", 0, size)]
        yield (kind, "freed"), [("use-after-free", "fill", "inside", 0, size)]
    yield ("malloc", "in-use"), [("use-after-free", "late", "inside", 0, 1000)]
    for kind in ("others", "code", "constants"):
        yield (kind, "right"), []
    yield ("others", "wrong"), [("no-access", "fill", "inside", 0, 1000)]
    for kind in ("code", "constants"):
        yield (kind, "wrong"), [("no-access", "code", "inside", None, None)]
    for kind in WITH_NEIGHBOURS:
        yield (kind, "before"), [("out-of-bounds", "fill", "before", 4, 1000)]
    for kind in ("heap", "heap-large"):
        yield (kind, "twice"), [("heap-double-free", "give", None, None, None)]
    yield ("heap", "inside"), [("heap-invalid-free", "give", None, None, None)]


def run(args, words, tools):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        gpus = f"{args.gpu},{args.gpu}" if words[0] == "others" else args.gpu
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", tools, "--gpu", gpus, "--json", str(path), "--",
                              args.program, *words], capture_output=True, text=True)
        if not path.exists():
            raise SystemExit(f"{words}: {ran.stdout}{ran.stderr}")
        findings = schema.check(json.loads(path.read_text()))["findings"]
        rows = re.search(r"rows take (\d+) bytes", ran.stdout)
        return None if ran.stdout == "not supported\n" and not findings else findings, int(rows[1]) if rows else None


def place_of(finding):
    """The mark of its line; at -O0 `new` and the like are functions of headers, and whoever calls them counts."""
    return MARKS.get(int(finding.get("source", ":0").rpartition(":")[2]))


def check(args, case, expected):
    findings, rows_bytes = run(args, case, "memcheck")
    expected = [(*what[:4], rows_bytes if what[4] == OF_ROWS else what[4]) for what in expected]
    if findings is None:
        print(f"left out: {' '.join(case)}: this runtime has no such memory")
        return []
    seen = [(f["kind"], place_of(f), f.get("relation"), f.get("distance"), f.get("allocation", {}).get("size_bytes"))
            for f in findings]
    if case[0] in ("code", "constants"):
        seen = [(*what[:3], None, None) for what in seen]
    return [] if seen == expected else [f"{' '.join(case)}: {seen}, not {expected}"]


def check_leaks(args):
    """Three blocks are taken, and one of them is given back."""
    wrong = []
    for kind, mark, size in (("heap", "take", 1000), ("heap-large", "take", 5000), ("heap-new", "new", 1000)):
        found = [(f["kind"], place_of(f), f["times"], f["bytes"]) for f in run(args, [kind, "right"], "leakcheck")[0] if f["kind"] == "heap-leak"]
        if found != [("heap-leak", mark, 2, 2 * size)]:
            wrong.append(f"{kind}: leaks {found}")
    if found := [f for f in run(args, ["malloc", "right"], "leakcheck")[0] if f["kind"] in ("leak", "heap-leak")]:
        wrong.append(f"malloc: {found}")
    return wrong


def check_questions(args):
    """Whether a stream is being captured is asked for pools that somebody wants to know of, and not of a program that is only recorded."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for command, is_asked in (["run", "-o", f"{folder}/trace.rpd"], False), (["sanitize", "--tool", "memcheck"], True):
            ran = subprocess.run([f"{args.bin}/wavetap", *command, "--gpu", args.gpu, "--", args.program, "async", "right"],
                                 capture_output=True, text=True, env={**os.environ, "AMD_LOG_LEVEL": "3"})
            if ("hipMallocAsync (" not in ran.stderr) or ("hipStreamIsCapturing (" in ran.stderr) != is_asked:
                wrong.append(f"{command[0]}: hipStreamIsCapturing is {'not ' if is_asked else ''}called: {ran.stderr[-500:]}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--case", nargs=2)
    parser.add_argument("program")
    args = parser.parse_args()
    chosen = [(case, expected) for case, expected in cases() if not args.case or case == tuple(args.case)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [text for found in pool.map(lambda case: check(args, *case), chosen) for text in found]
    if not args.case:
        wrong += check_leaks(args) + check_questions(args)
    print("\n".join(wrong) or f"{len(chosen)} cases and the leaks of the heap: as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
