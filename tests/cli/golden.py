#!/usr/bin/env python3
"""Runs command lines and compares what they print with what a .test file says.

  golden.py --bin BUILD/bin FILE.test... [--update]

A .test file is a list of cases:

  # a comment
  $ wavetap gpu list          a shell command; wavetap and the build's other programs are in PATH
  | a line of standard output
  ! a line of standard error
  = 1                         the exit status, when it is not 0

Lines that start with % are directives for the cases below them:

  % columns 80                standard output must not be wider than this
  % mask NAME REGEX           replace matches of REGEX by <NAME>
  % before COMMAND            run first, in the same scratch folder; its output does not count

Always replaced: the build folder (<build>), the source folder (<source>), the scratch folder the command
runs in (<scratch>). --update rewrites the expected lines; the diff is the review.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from temporary import scratch_folder  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


class Case:
    def __init__(self, command, line):
        self.command, self.line = command, line
        self.expected = []
        self.masks = []
        self.columns = None
        self.before = []


def parse(text):
    """Returns the file as a list of comment lines and cases, in order."""
    items, masks, columns, before = [], [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            case = Case(line[2:], number)
            case.masks, case.columns, case.before = list(masks), columns, list(before)
            items.append(case)
        elif line[:2] in ("| ", "! ", "= ") or line in ("|", "!"):
            items[-1].expected.append(line.rstrip())
        else:
            items.append(line)
            words = line.split(None, 3)
            if words[:2] == ["%", "mask"]:
                name, pattern = line.split(None, 3)[2:]
                masks.append((name, re.compile(pattern)))
            elif words[:2] == ["%", "columns"]:
                columns = int(words[2])
            elif words[:2] == ["%", "before"]:
                before.append(line.split(None, 2)[2])
    return items


def run(case, bin_folder):
    with scratch_folder() as scratch:
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8",
                           SOURCE=str(SOURCE), BUILD=str(bin_folder.parent), TMPDIR=scratch)
        for command in case.before:
            subprocess.run(["sh", "-c", command], cwd=scratch, env=environment, check=True, stdin=subprocess.DEVNULL, timeout=100)
        done = subprocess.run(["sh", "-c", case.command], cwd=scratch, env=environment, capture_output=True,
                              timeout=100, stdin=subprocess.DEVNULL)
        replacements = [(scratch, "<scratch>"), (str(bin_folder.parent), "<build>"), (str(SOURCE), "<source>")]

    def lines(output, mark):
        text = output.decode(errors="backslashreplace")
        for old, new in replacements:
            text = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", new, text)  # not /b in /bin or a/b
        for name, pattern in case.masks:
            text = pattern.sub(f"<{name}>", text)
        return [f"{mark} {line}".rstrip() for line in text.splitlines()]

    actual = lines(done.stdout, "|") + lines(done.stderr, "!")
    if done.returncode != 0:
        actual.append(f"= {done.returncode}")
    return actual


def check(path, bin_folder, update):
    items = parse(path.read_text())
    failures, out = 0, []
    for item in items:
        if isinstance(item, str):
            out.append(item)
            continue
        actual = run(item, bin_folder)
        out += [f"$ {item.command}"] + actual
        if actual != item.expected and not update:
            failures += 1
            print(f"{path.name}:{item.line}: $ {item.command}")
            print("\n".join(["  expected:"] + [f"  {line}" for line in item.expected]))
            print("\n".join(["  got:"] + [f"  {line}" for line in actual]))
        for line in actual:
            if item.columns and line.startswith("| ") and len(line) - 2 > item.columns:
                failures += 1
                print(f"{path.name}:{item.line}: wider than {item.columns} columns: {line}")
    if update:
        path.write_text("\n".join(out) + "\n")
    if not any(isinstance(item, Case) for item in items):
        print(f"{path.name}: holds no case")
        failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    failures = sum(check(path, arguments.bin.resolve(), arguments.update) for path in arguments.files)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
