#!/usr/bin/env python3
"""Tests that a document names exist.

  check_named_tests.py --build BUILD FILE.md...

In the last column of each table, a word with a dot is a test of ctest (`pass.agree`, without the GPU's name behind it) or a unit test
(`Suite.Test`); file names in code quotes are left alone.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def known_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^ *Test *#\d+: (\S+)", listed, re.MULTILINE))
    names |= {name.rsplit(".", 1)[0] for name in names}
    for path in [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("tests/**/*_test.cc")]:
        names |= {".".join(pair) for pair in re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text())}
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    known, missing, found = known_tests(arguments.build), [], 0
    for path in arguments.files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.startswith("|") or set(line) <= set("|- "):
                continue
            cell = re.sub(r"`[^`]*`", "", line.strip().strip("|").split("|")[-1])
            names = re.findall(r"\b[A-Za-z]\w*(?:\.[A-Za-z]\w*)+\b", cell)
            found += len(names)
            missing += [f"{path}:{number}: {name}: there is no such test" for name in names if name not in known]
    if not found:
        missing.append("no test is named at all")
    sys.exit("\n".join(missing) or 0)


if __name__ == "__main__":
    main()
