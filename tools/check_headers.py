#!/usr/bin/env python3
"""Every header of src/ compiles on its own: each must include what it names.

  check_headers.py BUILD [ROOT]
  check_headers.py --self-test BUILD

A header that a source, which the build compiles, includes before anything else has been compiled alone by the build, and so
has a header that such a header begins with. Only the others are compiled here. Flags come from BUILD/compile_commands.json:
those of any source file of the header's folder. A header is compiled again when it, a header of ours that it includes, the
flags or the compiler have changed (BUILD/checked/headers.json).
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from check_cache import Good, digest

INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(rb"^\s*#\s*include\s*(\S+)", re.MULTILINE)
PRAGMA_ONCE = re.compile(rb"^#pragma once$", re.MULTILINE)


def flags_by_folder(build):
    """{folder of src/: the compiler and those of its flags that decide what a header means}"""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        target = re.search(r"CMakeFiles/wt_(\w+)\.dir/", entry["command"])
        if not target or not entry["file"].endswith((".cc", ".cxx")):
            continue
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if "ccache" not in word):]
        kept, take_next = [words[0]], False
        for word in words[1:]:
            if take_next or word.startswith(("-I", "-D", "-std", "-isystem", "-f", "-m")):
                kept.append(word)
            take_next = word in ("-isystem", "-I", "-D")
        flags.setdefault(target[1], kept)
    return flags


def built_sources(build):
    """The sources that the build compiles, by their real paths."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {os.path.realpath(os.path.join(entry.get("directory", build), entry["file"])) for entry in entries}


class Tree:
    def __init__(self, src):
        self.src, self.contents = src, {}

    def content(self, name):
        if name not in self.contents:
            path = self.src / name
            self.contents[name] = path.read_bytes() if path.is_file() else b""
        return self.contents[name]

    def closure(self, name):
        """The header and every header of ours below it."""
        seen, waiting = {name}, [name]
        while waiting:
            for found in INCLUDE.findall(self.content(waiting.pop())):
                if found.decode() not in seen:
                    seen.add(found.decode())
                    waiting.append(found.decode())
        return sorted(seen)


def opening_headers(built, tree):
    """The headers that the build compiles before anything else: what a source begins with, and what that begins with.
    Included twice, such a header must also be its own guard."""
    found = set()
    for source in built:
        content = pathlib.Path(source).read_bytes() if os.path.isfile(source) else b""
        while (first := ANY_INCLUDE.search(content)) and first[1].startswith(b'"'):
            name = first[1].strip(b'"').decode()
            content = tree.content(name)
            if name in found or not PRAGMA_ONCE.search(content):
                break
            found.add(name)
    return found


def compile_alone(name, flags):
    """What the compiler has to say against the header; empty: nothing."""
    # Test support sees the definitions that only test programs are compiled with.
    defines = ['-DWT_SOURCE_DIR=""', '-DWT_BUILD_DIR=""'] if "test" in name else []
    done = subprocess.run([*flags, *defines, "-fsyntax-only", "-Wall", "-x", "c++", "-"], capture_output=True, text=True,
                          input=f'#include "{name}"\n#include "{name}"\n')
    return "" if done.returncode == 0 else f"src/{name} does not compile alone:\n{done.stderr.strip()[:2000]}"


def check(build, root, cache):
    """The problems, and how many headers were compiled."""
    flags, built = flags_by_folder(build), built_sources(build)
    tree, good = Tree(root / "src"), Good(cache)
    opening = opening_headers(built, tree)
    versions = {}
    seen = 0
    keys = {}
    for header in sorted((root / "src").rglob("*.h")):
        name = header.relative_to(root / "src").as_posix()
        folder = name.split("/")[0]
        if folder not in flags:
            continue
        seen += 1
        if name in opening:
            continue
        compiler = flags[folder][0]
        if compiler not in versions:
            versions[compiler] = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        keys[name] = digest(name, *flags[folder], versions[compiler], *map(tree.content, tree.closure(name)))
    if not seen:
        return ["no headers or no compile_commands.json; configure first"], 0
    todo = [name for name, key in keys.items() if key not in good]
    problems = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, problem in zip(todo, pool.map(lambda name: compile_alone(name, flags[name.split("/")[0]]), todo)):
            if problem:
                problems.append(problem)
            else:
                good.add(keys[name])
    good.save()
    return problems, len(todo)


def self_test(build):
    """A tree with two headers, one of which is broken, then right, then broken by what it includes; at last its own source
    begins with it, what it begins with changes, and the source begins with something else."""
    with tempfile.TemporaryDirectory() as folder:
        root, cache = pathlib.Path(folder), pathlib.Path(folder) / "cache.json"
        (root / "src/base").mkdir(parents=True)
        low, high, source = (root / "src/base" / name for name in ("low.h", "high.h", "high.cc"))
        flags = next(iter(flags_by_folder(build).values()))[0]
        (root / "compile_commands.json").write_text(json.dumps([{
            "file": str(source), "command": f"{flags} -I{root / 'src'} -o src/base/CMakeFiles/wt_base.dir/a.cc.o -c a.cc"}]))
        low.write_text("#pragma once\nstruct Low {};\n")
        seen = []
        for step, text in ((high, "#pragma once\nLow* low;\n"), (high, '#pragma once\n#include "base/low.h"\nLow* low();\n'),
                           (low, "#pragma once\nstruct Low {};\n"), (low, "#pragma once\nstruct Other {};\n"),
                           (source, '#include "base/high.h"\n'), (low, "#pragma once\nstruct Third {};\n"),
                           (source, '#include "base/low.h"\n#include "base/high.h"\n')):
            step.write_text(text)
            problems, compiled = check(root, root, cache)
            seen.append((len(problems), compiled))
        if seen != [(1, 2), (0, 1), (0, 0), (1, 2), (0, 0), (0, 0), (1, 1)]:
            print(f"self-test: {seen}")
            return 1
    return 0


def main():
    arguments = [word for word in sys.argv[1:] if word != "--self-test"]
    build = pathlib.Path(arguments[0]).resolve()
    if "--self-test" in sys.argv:
        return self_test(build)
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems, _ = check(build, root, build / "checked/headers.json")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
