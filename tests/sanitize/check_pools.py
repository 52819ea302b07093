#!/usr/bin/env python3
"""Runs pool_bugs.hip under memcheck: blocks of an allocator of the program's, with and without annotations.

  check_pools.py --bin BIN --gpu MODEL PROGRAM
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import schema

HERE = pathlib.Path(__file__).resolve().parent
MARKS = {line.split("MARK ")[1].strip(): number
         for number, line in enumerate((HERE / "pool_bugs.hip").read_text().splitlines(), 1) if "MARK " in line}

# case: (kind, mark, relation, distance, size of the block) of each finding when annotated; without it nothing is found
CASES = {
    "clean": [],
    "past": [("out-of-bounds", "fill", "past", 0, 800)],
    "before": [("out-of-bounds", "fill", "before", 4, 400)],
    "neighbour": [("out-of-bounds", "sum", "past", 0, 800)],
    "freed": [("use-after-free", "sum", "inside", 0, 800)],
    "again": [],
    "ended": [],
}


def run(args, case, variant):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", "memcheck", "--gpu", args.gpu, "--json", str(path), "--",
                              args.program, case, variant], capture_output=True, text=True)
        if ran.stdout != "ok\n" or not path.exists():
            return [f"{ran.stdout}{ran.stderr}"]
        findings = schema.check(json.loads(path.read_text()))["findings"]
        lines = {number: mark for mark, number in MARKS.items()}
        return [(f["kind"], lines.get(int(f["source"].rpartition(":")[2])), f["relation"], f["distance"], f["allocation"]["size_bytes"])
                for f in findings]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("program")
    args = parser.parse_args()
    wrong = []
    for case, expected in CASES.items():
        for variant, wanted in (("annotated", expected), ("plain", [])):
            seen = run(args, case, variant)
            if seen != wanted:
                wrong.append(f"{case} {variant}: {seen}, not {wanted}")
    # From Python; nobody listens without wavetap.
    code = "import wavetap.annotate as a; print(a.pool(4096, 4096), a.block(4096, 8), a.block_end(4096), a.pool_end(4096))"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "python")}
    for prefix, told in ([], False), ([f"{args.bin}/wavetap", "run", "--no-trace", "--gpu", args.gpu, "--"], True):
        ran = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        if ran.stdout.split() != [str(told)] * 4:
            wrong.append(f"Python, {told}: {ran}")
    print("\n".join(wrong) or f"{len(CASES)} cases, annotated and plain: as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
