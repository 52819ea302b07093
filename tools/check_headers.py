#!/usr/bin/env python3
"""Compiles every header of src/ and include/ on its own: each must include what it names.

  check_headers.py BUILD [ROOT]

Flags come from BUILD/compile_commands.json: those of any source file of the header's folder.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def flags_by_folder(build, root):
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if not source.is_relative_to(root / "src") or source.suffix != ".cc":
            continue
        words = shlex.split(entry["command"])
        start = 1 if "ccache" in words[0] else 0
        kept = [words[start]]
        take_next = False
        for word in words[start + 1:]:
            if take_next or word.startswith(("-I", "-D", "-std", "-isystem", "-f", "-m")):
                kept.append(word)
            take_next = word in ("-isystem", "-I", "-D")
        flags.setdefault(source.relative_to(root / "src").parts[0], kept)
    return flags


def check(header, root, flags):
    folder = header.relative_to(root / "src").parts[0]
    if folder not in flags:
        return None
    name = header.relative_to(root / "src").as_posix()
    # Test support sees the definitions that only test programs are compiled with.
    defines = ['-DWT_SOURCE_DIR=""', '-DWT_BUILD_DIR=""'] if "test" in name else []
    done = subprocess.run([*flags[folder], *defines, "-fsyntax-only", "-Wall", "-x", "c++", "-"], capture_output=True, text=True,
                          input=f'#include "{name}"\n#include "{name}"\n')
    return None if done.returncode == 0 else f"src/{name} does not compile alone:\n{done.stderr.strip()[:2000]}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parent.parent
    flags = flags_by_folder(build, root)
    headers = sorted((root / "src").rglob("*.h"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(lambda header: check(header, root, flags), headers) if problem]
    for problem in problems:
        print(problem)
    if not flags or not headers:
        problems.append("nothing to check")
        print("no headers or no compile_commands.json; configure first")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
