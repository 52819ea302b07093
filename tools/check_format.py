#!/usr/bin/env python3
"""Every C++ file is laid out as .clang-format says.

  check_format.py [ROOT] [--cache FILE]   exit 1 and the files when some are not, 77 without a clang-format that decides it
  check_format.py --self-test

Versions of clang-format disagree in details, so only the one of Debian 12 is asked. The cache remembers files that were
right, by their content.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from check_cache import Good, digest

VERSION = 14
FOLDERS = ("src", "include", "tests", "bench", "examples")
SUFFIXES = (".cc", ".h", ".hip")
FILES_AT_ONCE = 16


def find_formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        found = re.search(r"version (\d+)\.", said)
        if found and int(found[1]) == VERSION:
            return path
    return None


def misplaced(formatter, root, files):
    """The files that clang-format would change."""
    def ask(some):
        names = [file.relative_to(root).as_posix() for file in some]
        said = subprocess.run([formatter, "--style=file", "--dry-run", *names], capture_output=True, text=True, cwd=root).stderr
        return re.findall(r"^([^:\s]+):\d+:\d+: warning: code should be clang-formatted", said, re.MULTILINE)

    batches = [files[first:first + FILES_AT_ONCE] for first in range(0, len(files), FILES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sorted({name for found in pool.map(ask, batches) for name in found})


def self_test(formatter):
    here = pathlib.Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        shutil.copy(here / ".clang-format", root)
        (root / "right.cc").write_text("int right(int* pointer) { return *pointer; }\n")
        (root / "wrong.cc").write_text("int wrong( int *pointer )\n{ return *pointer; }\n")
        found = misplaced(formatter, root, [root / "right.cc", root / "wrong.cc"])
    if found != ["wrong.cc"]:
        print(f"found {found}, not wrong.cc")
        return 1
    return 0


def main():
    formatter = find_formatter()
    if formatter is None:
        print(f"skip: no clang-format {VERSION} here; install clang-format-{VERSION}")
        return 77
    if sys.argv[1:] == ["--self-test"]:
        return self_test(formatter)
    arguments = sys.argv[1:]
    cache = None
    if "--cache" in arguments:
        at = arguments.index("--cache")
        cache = arguments[at + 1]
        del arguments[at:at + 2]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    files = sorted(file for folder in FOLDERS for file in (root / folder).rglob("*") if file.suffix in SUFFIXES)
    good = Good(cache)
    style = (root / ".clang-format").read_bytes()
    keys = {file: digest(VERSION, style, file.read_bytes()) for file in files}
    todo = [file for file in files if keys[file] not in good]
    wrong = misplaced(formatter, root, todo)
    for file in wrong:
        print(f"{file}: run clang-format -i on it")
    for file in todo:
        if file.relative_to(root).as_posix() not in wrong:
            good.add(keys[file])
    good.save()
    if not files:
        print("no C++ files found")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
