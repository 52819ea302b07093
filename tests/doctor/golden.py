#!/usr/bin/env python3
"""Runs `wavetap doctor` on every described machine and compares text, JSON and exit status with the golden files.

  golden.py --bin build/bin [--update] [NAME…]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import sysroot

HERE = pathlib.Path(__file__).resolve().parent


def diagnose(program, folder, *options):
    done = subprocess.run([program, "doctor", "--sysroot", folder, *options], capture_output=True, timeout=60,
                          env=dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8"), stdin=subprocess.DEVNULL)
    if done.stderr:
        sys.exit(f"stderr: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(), done.returncode


def snapshot(folder):
    """Names, sizes and times: whatever a check could change."""
    return {path: path.lstat()[:9] if not path.is_file() else (path.lstat().st_mode, path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in sorted(pathlib.Path(folder).rglob("*"))}


def properties_of(name, text, document):
    """What must hold for every report, whatever it says."""
    for line in text.splitlines():
        if len(line) > 80:
            yield f"{name}: wider than 80 columns: {line}"
        if any(ord(char) < 32 or ord(char) == 127 for char in line):
            yield f"{name}: a control character: {line!r}"
    if document["schema"] != "wavetap-doctor" or document["version"] != 2:
        yield f"{name}: unknown schema"
    problems = [f for f in document["findings"] if f["verdict"] in ("error", "warning")]
    if document["healthy"] == bool(problems):
        yield f"{name}: healthy does not agree with the findings"
    for finding in document["findings"]:
        if not finding["evidence"]:
            yield f"{name}: {finding['id']}: says nothing about what was read"
        if finding["verdict"] in ("error", "warning") and not (finding["why"] and finding["remedies"]):
            yield f"{name}: {finding['id']}: no reason or no remedy"
    if {f["group"] for f in document["findings"]} != set(range(1, 17)):
        yield f"{name}: a group of checks said nothing"


def check(name, program, update):
    with tempfile.TemporaryDirectory() as folder:
        sysroot.unpack(HERE / "fixtures" / f"{name}.tree", folder)
        before = snapshot(folder)
        text, status = diagnose(program, folder, "--all")
        json_text, json_status = diagnose(program, folder, "--json")
        changed = snapshot(folder) != before
    document = json.loads(json_text)
    problems = list(properties_of(name, text, document))
    if changed:
        problems.append(f"{name}: the tree was changed")
    if status != json_status or status != (0 if document["healthy"] else 2):
        problems.append(f"{name}: exit status {status} and {json_status}, healthy {document['healthy']}")
    for ending, actual in ((".txt", text), (".json", json_text)):
        path = HERE / "golden" / (name + ending)
        if update:
            path.write_text(actual)
        elif not path.exists() or path.read_text() != actual:
            expected = path.read_text().splitlines() if path.exists() else []
            import difflib
            problems.append("\n".join(difflib.unified_diff(expected, actual.splitlines(), f"golden/{name}{ending}", "actual", lineterm="")))
    for problem in problems:
        print(problem)
    return len(problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    # Files that begin with _ are parts of others.
    names = arguments.names or sorted(p.stem for p in (HERE / "fixtures").glob("*.tree") if not p.stem.startswith("_"))
    sys.exit(1 if sum(check(name, arguments.bin.resolve() / "wavetap", arguments.update) for name in names) else 0)


if __name__ == "__main__":
    main()
