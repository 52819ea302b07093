#!/usr/bin/env python3
"""Runs the cases of stream_races.hip under racecheck: dispatches and copies of two streams, with and without an order.

  check_streams.py --bin BIN --gpu MODEL PROGRAM
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import schema

SOURCE = pathlib.Path(__file__).with_name("stream_races.hip")

# case: kind (which of the two names a read and a write have says only who ended first), severity, marks of the two places
CASES = {
    "write_write": ("write-after-write", "error", {"put", "put_again"}),
    "write_read": ("read-write", "error", {"put", "get_at_once"}),
    "read_write": ("read-write", "error", {"get", "put_again"}),
    "overlap": ("write-after-write", "error", {"put", "put_again"}),
    "early_event": ("write-after-write", "error", {"put", "put_again"}),
    "through_third": ("write-after-write", "error", {"put", "put_again"}),
    "host_waits": ("write-after-write", "error", {"put", "put_again"}),
    "atomic_plain": ("atomic-and-plain", "warning", {"count", "put_again"}),
    "fill": ("write-after-write", "error", {"put", None}),
    "copy_in_read": ("read-write", "error", {"get", "copy_in_read"}),
    "copy_in_written": ("write-after-write", "error", {"put", "copy_in_written"}),
    "copy_out": ("read-write", "error", {"put", "copy_out"}),
    "copy_stream": ("read-write", "error", {"put", "copy_stream"}),
    "copy_early_event": ("read-write", "error", {"put", "copy_early_event"}),
    "copy_overlap": ("write-after-write", "error", {"put", "copy_overlap"}),
    "copy_host_end": ("read-write", "error", {"put", "copy_host_end"}),
    "copy_host_waits": ("read-write", "error", {"put", "copy_host_waits"}),
    "copy_blocking": ("read-write", "error", {"put", "copy_blocking"}),
    "copy_counter": ("atomic-and-plain", "warning", {"count", "copy_counter"}),
    "fill_blocking": ("write-after-write", "error", {"put", None}),
    "copy_pageable": ("read-write", "error", {"put", "copy_pageable"}),
    "copy_rows": ("write-after-write", "error", {"put", "copy_rows"}),
    "copy_on_gpu": ("read-write", "error", {"put", None}),
    "host_copy_in": ("write-after-write", "error", {"put_first", "host_copy_in"}),
    "host_copy_read": ("read-write", "error", {"get_first", "host_copy_read"}),
    "host_copy_out": ("read-write", "error", {"put_first", "host_copy_out"}),
    "host_copy_overlap": ("write-after-write", "error", {"put_first", "host_copy_overlap"}),
    "host_copy_pinned": ("write-after-write", "error", {"put_first", "host_copy_pinned"}),
    "host_copy_flag": ("write-after-write", "error", {"put_first", "host_copy_flag"}),
}


def marks():
    return {number: line.split("MARK ")[1].strip() for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "MARK " in line}


def run(args, case, variant):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", "racecheck", "--gpu", args.gpu, "--json", str(path), "--",
                              args.program, case, variant], capture_output=True, text=True)
        if ran.stdout != f"ok {len(CASES) if case == 'all' else 1}\n" or not path.exists():
            return None, f"{case} {variant}: {ran.stdout}{ran.stderr}"
        return schema.check(json.loads(path.read_text()))["findings"], ""


def same_kind(kind):
    return "read-write" if kind in ("read-after-write", "write-after-read") else kind


def place(finding, lines):
    """The mark of a line of the source; None when it is elsewhere (the runtime's own kernels, functions of HIP's headers)."""
    file, _, number = finding.get("source", "").rpartition(":")
    return lines.get(int(number)) if pathlib.Path(file).name == SOURCE.name else None


def check_bug(args, case, expected, lines):
    findings, problem = run(args, case, "bug")
    if findings is None:
        return [problem]
    told = "by the host" if case.startswith("host_copy") else "in another queue"
    seen = [(same_kind(f["kind"]), f["severity"], {place(f, lines), place(f["other"], lines)}, told in f.get("detail", ""))
            for f in findings if "other" in f]
    if args.program.endswith("_O0"):  # atomicAdd is a function of its own there
        seen = [(kind, severity, {mark or ("count" if case in ("atomic_plain", "copy_counter") else None) for mark in at}, told)
                for kind, severity, at, told in seen]
    wanted = [(*expected, True)]
    return [] if seen == wanted and len(seen) == len(findings) else [f"{case} bug: {seen}, not {wanted}"]


def check_clean(args):
    """All in one process: what one leaves behind must not be taken for a race with the next, either."""
    findings, problem = run(args, "all", "clean")
    return [problem] if findings is None else [f"clean: {finding}" for finding in findings]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("program")
    args = parser.parse_args()
    lines = marks()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        clean = pool.submit(check_clean, args)
        wrong = sum(pool.map(lambda item: check_bug(args, *item, lines), CASES.items()), []) + clean.result()
    print("\n".join(wrong) or f"{len(CASES)} cases with and without a bug: as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
