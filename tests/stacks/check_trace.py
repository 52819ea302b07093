#!/usr/bin/env python3
"""Holds a trace of a program of tests/hip against what the program launched.

  check_trace.py WAVETAP TRACE PROGRAM

`wavetap check` accepts it, nothing was lost, and every launch has exactly one dispatch of its name, grid and workgroup.
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "host"))

from harness import Failed, losses, query  # noqa: E402
from launches import CAPTURES, LEAVE_EARLY, examine  # noqa: E402


def main():
    wavetap, trace, program = sys.argv[1:]
    done = subprocess.run([wavetap, "check", trace], capture_output=True, text=True)
    if done.returncode != 0:
        return f"wavetap check: {done.stdout}{done.stderr}"
    try:
        launches = examine(trace, captures=program in CAPTURES)
    except Failed as failure:
        return str(failure)
    if not program.startswith("fault_") and program not in LEAVE_EARLY and losses(trace) != 0:
        return f"losses: {query(trace, 'select * from wavetap_loss')}"
    print(f"trace: {launches} launches, each with its dispatch")
    return None


if __name__ == "__main__":
    sys.exit(main())
