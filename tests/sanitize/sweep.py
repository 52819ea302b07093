#!/usr/bin/env python3
"""Runs every HIP test program and every example under wavetap sanitize and lists what is found.

  sweep.py --build BUILD [--tool TOOLS] [--only REGEX] [--model MODEL]…

Programs, arguments, GPUs and environment are those of the tests of the build (ctest -L hip and the examples). KNOWN below has what
may be found in programs that are wrong on purpose. Exit status 1 when a program has another error than that, or other results than
without the sanitizer. Warnings are listed and do not count.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# test: kinds of error that may be found, since the program is there to do that.
KNOWN = {
    "hip.fault_read": {"invalid-address"},
    "hip.fault_null": {"invalid-address"},
    "hip.fault_write_freed": {"use-after-free"},
    # They free what is no allocation, to see what HIP answers.
    "hip.error_codes": {"invalid-free"},
    "hip.malloc_free": {"invalid-free"},
    # The allocator of AMD's device library, on targets that count stores apart (docs/racecheck.md).
    "hip.device_malloc": {"read-after-write"},
    # A stream that stays apart reads what another one stores, to see that it does not wait.
    "hip.null_stream": {"read-after-write", "write-after-read"},
}
LEFT_OUT = {
    "hip.fault_assert": "ends in a trap",
    "hip.fault_trap": "ends in a trap",
}


def tests_of(build, only, models):
    """(name, command, environment) of the tests whose command is a `wavetap run` of a program."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    for test in json.loads(text)["tests"]:
        command = test.get("command", [])
        if not re.match(r"(hip|example)\.", test["name"]) or len(command) < 3 or command[1] != "run" or "--" not in command:
            continue
        options, program = command[2:command.index("--")], command[command.index("--") + 1:]
        gpu = options[options.index("--gpu") + 1] if "--gpu" in options else ""
        name = test["name"].removesuffix("." + gpu)
        if name.count(".") > 1 or (models and not set(gpu.split(",")) <= set(models)) or not re.search(only, test["name"]):
            continue
        environment = {}
        for entry in test.get("properties", []):
            if entry["name"] == "ENVIRONMENT":
                environment = dict(pair.split("=", 1) for pair in entry["value"])
        yield name, gpu, command[0], program, environment


def sanitize(wavetap, gpu, program, environment, options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "findings.json"
        try:
            ran = subprocess.run([wavetap, "sanitize", "--gpu", gpu, "--json", str(path), *options, "--", *program],
                                 capture_output=True, text=True, errors="replace", timeout=900, env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            return None, "took more than 900 seconds"
        return (json.loads(path.read_text()) if path.exists() else None), ran.stderr


def place(finding):
    return finding.get("source") or finding.get("instruction") or finding.get("detail", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--tool", default="")
    parser.add_argument("--bin", default="", help="a folder with another wavetap than the build's")
    parser.add_argument("--only", default="")
    parser.add_argument("--model", action="append", default=[])
    args = parser.parse_args()
    options = ["--tool", args.tool] if args.tool else []
    bad = count = 0
    warnings = {}
    for name, gpu, wavetap, program, environment in tests_of(args.build, args.only, args.model):
        if name in LEFT_OUT:
            print(f"left out: {name}: {LEFT_OUT[name]}")
            continue
        count += 1
        document, text = sanitize(f"{args.bin}/wavetap" if args.bin else wavetap, gpu, program, environment, options)
        if document is None:
            bad += 1
            print(f"FAIL {name}.{gpu}: no report: {text[-400:]}", flush=True)
            continue
        errors = [f for f in document["findings"] if f["severity"] == "error"]
        for finding in document["findings"]:
            if finding["severity"] != "error":
                warnings.setdefault(f"{name}: {finding['kind']}: {finding.get('kernel', finding.get('call'))}: {place(finding)}", gpu)
        if not {f["kind"] for f in errors} <= KNOWN.get(name, set()):
            bad += 1
            for finding in errors:
                print(f"FAIL {name}.{gpu}: {finding['kind']}: {finding.get('kernel', finding.get('call'))}: {place(finding)}", flush=True)
        # Programs that end in a fault do so with a status of the runtime's.
        if not name.startswith("hip.fault_") and document["exit_status"] not in (0, 77):
            bad += 1
            print(f"FAIL {name}.{gpu}: exit status {document['exit_status']}", flush=True)
    for warning in warnings:
        print("warning:", warning)
    print(f"{count} programs, {bad} wrong, {len(warnings)} warnings")
    sys.exit(1 if bad or count == 0 else 0)


if __name__ == "__main__":
    main()
