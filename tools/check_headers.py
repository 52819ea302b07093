#!/usr/bin/env python3
"""Every header of src/ compiles on its own: each must include what it names.

  check_headers.py BUILD [ROOT]
  check_headers.py --self-test BUILD

A header that a source, which the build compiles, includes before anything else has been compiled alone by the build, and so
has a header that such a header begins with. Only the others are compiled here. Flags come from BUILD/compile_commands.json:
those of any source file of the header's folder. A header is compiled again when it, a header of ours that it includes, the
flags or the compiler have changed (BUILD/checked/headers.json).

Most of that would be the same standard headers over and over, so what many headers begin with is precompiled. A header may be
compiled after headers that it includes before its first line of code: there they come first anyway, and whether they
compile alone is asked of themselves. It never finds anything before it that it does not include.
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
# The lines before the first code, condition or definition of a header.
BEGINNING = re.compile(rb"""(?:\s+|//[^\n]*\n|#pragma once\n|#include[ ][<"][^>"\n]+[>"][^\n]*\n)*""")
INCLUDED = re.compile(rb"""^#include ([<"][^>"\n]+[>"])""", re.MULTILINE)

MOST_PRELOADS = 12   # for the same flags: some 50 MB each, while they are needed
LEAST_HEADERS = 8    # fewer are compiled sooner than anything is precompiled for them
PRECOMPILING = 1.5   # times what it takes to compile the same headers


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

    def beginning(self, name):
        """What has been included when the header's own code begins, as it is written: {'<string>', '"base/result.h"'}."""
        seen, waiting = set(), [name]
        while waiting:
            start = BEGINNING.match(self.content(waiting.pop()))[0]
            for found in map(bytes.decode, INCLUDED.findall(start)):
                if found not in seen:
                    seen.add(found)
                    waiting.append(found[1:-1])
        return frozenset(seen)


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


def files_below(include, flags):
    """{file: its size}, for the files that this one brings; only an estimate of what it costs depends on them."""
    done = subprocess.run([*flags, "-M", "-x", "c++", "-"], capture_output=True, text=True, input=f"#include {include}\n")
    files = done.stdout.replace("\\\n", " ").split()[1:]
    return {file: os.path.getsize(file) for file in files if os.path.isfile(file)}


def choose_preloads(beginnings, files):
    """{header: the preload it is compiled after, a set of includes}, greedily: the set that saves most, again and again."""
    distinct = set(beginnings.values())
    sets = {one & other for one in distinct for other in distinct} - {frozenset()}
    sizes = {one: sum({file: size for include in one for file, size in files[include].items()}.values()) for one in sets}
    users = {one: [name for name, beginning in beginnings.items() if one <= beginning] for one in sets}
    chosen = {}

    def gain(one):
        saved = sum(max(0, sizes[one] - sizes.get(chosen.get(name), 0)) for name in users[one])
        return saved - PRECOMPILING * sizes[one]

    for _ in range(MOST_PRELOADS):
        best = max(sets, key=lambda one: (gain(one), sorted(one)), default=None)
        if best is None or gain(best) <= 0:
            break
        for name in users[best]:
            if sizes[best] > sizes.get(chosen.get(name), 0):
                chosen[name] = best
    return chosen


def precompile(includes, flags, path):
    """The file to include instead of these; none when they do not compile, which is said of one of them elsewhere."""
    path.write_text("".join(f"#include {include}\n" for include in sorted(includes)))
    done = subprocess.run([*flags, "-Wall", "-x", "c++-header", path, "-o", f"{path}.gch"], capture_output=True)
    return path if done.returncode == 0 else None


def preloads_for(names, flags, tree, pool, folder):
    """{header: the precompiled file it is compiled after}; those not named have none."""
    if len(names) < LEAST_HEADERS:
        return {}
    beginnings = {name: tree.beginning(name) for name in names}
    includes = sorted(frozenset().union(*beginnings.values()))
    files = dict(zip(includes, pool.map(lambda include: files_below(include, flags), includes)))
    chosen = choose_preloads(beginnings, files)
    sets = sorted(set(chosen.values()), key=sorted)
    paths = dict(zip(sets, pool.map(lambda at: precompile(sets[at], flags, folder / f"{at}.h"), range(len(sets)))))
    return {name: paths[one] for name, one in chosen.items() if paths[one]}


def compile_alone(name, flags, preload=None):
    """What the compiler has to say against the header; empty: nothing."""
    # Test support sees the definitions that only test programs are compiled with.
    defines = ['-DWT_SOURCE_DIR=""', '-DWT_BUILD_DIR=""'] if "test" in name else []
    first = ["-include", preload] if preload else []
    done = subprocess.run([*flags, *defines, *first, "-fsyntax-only", "-Wall", "-x", "c++", "-"], capture_output=True,
                          text=True, input=f'#include "{name}"\n#include "{name}"\n')
    if done.returncode != 0 and preload:
        return compile_alone(name, flags)  # a compiler may refuse the precompiled file
    return "" if done.returncode == 0 else f"src/{name} does not compile alone:\n{done.stderr.strip()[:2000]}"


def compile_all(names, flags, tree, place):
    """What compile_alone() says of each, for headers whose folders have the same flags."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory(dir=place) as folder:
        preloads = preloads_for(names, flags, tree, pool, pathlib.Path(folder))
        return list(pool.map(lambda name: compile_alone(name, flags, preloads.get(name)), names))


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
    groups = {}
    for name in todo:
        groups.setdefault(tuple(flags[name.split("/")[0]]), []).append(name)
    cache.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for group_flags, names in groups.items():
        for name, problem in zip(names, compile_all(names, group_flags, tree, cache.parent)):
            if problem:
                problems.append(problem)
            else:
                good.add(keys[name])
    good.save()
    return problems, len(todo)


def self_test_of_preloads(build):
    """Four headers that begin alike, so that a preload is made, and four that lack what is in it: one includes only half of it, one
    the rest too late, one on a condition, one behind a definition."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        base = root / "src/base"
        base.mkdir(parents=True)
        compiler = next(iter(flags_by_folder(build).values()))[0]
        (root / "compile_commands.json").write_text(json.dumps([{
            "file": str(base / "a.cc"), "command": f"{compiler} -I{root / 'src'} -o src/base/CMakeFiles/wt_base.dir/a.cc.o -c a.cc"}]))
        (base / "below.h").write_text("#pragma once\n// Why.\n\n#include <stddef.h>\ntypedef size_t Below;\n")
        for number in range(4):
            (base / f"good{number}.h").write_text(f'#pragma once\n\n#include <stdint.h>\n\n#include "base/below.h"\nBelow good(uint32_t);\n')
        needs = "size_t bad(uint32_t);\n"
        for name, text in (("half", "#include <stdint.h>\n" + needs), ("late", f"#include <stdint.h>\n{needs}#include <stddef.h>\n"),
                           ("condition", f"#include <stdint.h>\n#if 0\n#include <stddef.h>\n#endif\n{needs}"),
                           ("definition", f"#include <stdint.h>\n#define BELOW <stddef.h>\n{needs}#include <stddef.h>\n")):
            (base / f"{name}.h").write_text(f"#pragma once\n{text}")
        tree = Tree(root / "src")
        beginnings = {f"base/{path.name}": tree.beginning(f"base/{path.name}") for path in base.glob("*.h")}
        sizes = {include: {include: 1000} for include in frozenset().union(*beginnings.values())}
        chosen = {name: sorted(one) for name, one in choose_preloads(beginnings, sizes).items()}
        problems, compiled = check(root, root, root / "cache/headers.json")
        bad = sorted(problem.split()[0] for problem in problems)
        if (chosen.get("base/good3.h") != ['"base/below.h"', "<stddef.h>", "<stdint.h>"] or chosen.get("base/half.h") not in (None, ["<stdint.h>"])
                or bad != [f"src/base/{name}.h" for name in ("condition", "definition", "half", "late")] or compiled != 9):
            print(f"self-test of preloads: {chosen} {bad} {compiled}")
            return 1
        return 0


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
        return self_test(build) or self_test_of_preloads(build)
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems, _ = check(build, root, build / "checked/headers.json")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
