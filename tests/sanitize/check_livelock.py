#!/usr/bin/env python3
"""Runs livelock.hip under synccheck: a kernel that waits for ever is told of while it does, and in the report when it was interrupted.

  check_livelock.py --bin BIN --gpu MODEL PROGRAM
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import schema

HERE = pathlib.Path(__file__).resolve().parent
LINE = next(number for number, line in enumerate((HERE / "livelock.hip").read_text().splitlines(), 1) if "MARK wait" in line)


def run(args, variant):
    """(findings, what was said while it ran)"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        program = subprocess.Popen([f"{args.bin}/wavetap", "sanitize", "--tool", "synccheck", "--gpu", args.gpu, "--json", str(path), "--",
                                    args.program, variant], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   # A shell starts what it puts into the background with interrupts ignored.
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        said = []
        for line in program.stderr:
            said.append(line)
            if "times in a row" in line and line.startswith("wavetap"):
                program.send_signal(signal.SIGINT)
        program.wait()
        if not path.exists():
            raise SystemExit(f"{variant}: {''.join(said)}")
        return schema.check(json.loads(path.read_text()))["findings"], "".join(said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("program")
    args = parser.parse_args()
    wrong = []
    found, said = run(args, "wrong")
    if [f["kind"] for f in found] != ["livelock"]:
        wrong.append(f"wrong: {found}\n{said}")
    else:
        waves = 256 // (64 if args.gpu.startswith("mi") else 32)
        finding = found[0]
        if not finding["source"].endswith(f"livelock.hip:{LINE}") or finding["lanes"] != "0x1" or finding["argument"]["number"] != 0:
            wrong.append(f"wrong: {finding}")
        for text in (f"{waves - 1} waves of its workgroup wait for it at a barrier", "of 2 workgroups 2 have begun and 1 ended"):
            if text not in finding["detail"]:
                wrong.append(f"wrong: {finding['detail']}, and not {text}")
    found, said = run(args, "right")
    if found or "in a row" in said:
        wrong.append(f"right: {found}\n{said}")
    print("\n".join(wrong) or "a livelock, and none: as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
