#!/usr/bin/env python3
"""Fails when a folder of src/ depends on one it may not know, or files depend on each other in a circle.

Two sources are read and held against one table: the #include lines of every file, and the DEPS of each
folder's wt_folder() call, which become the link graph. A new edge is added here, in the same commit as the
sentence in ARCHITECTURE.md that explains it.

A circle: NAME.h and NAME.cc are one thing; it needs every other whose header either of them includes. When one
needs itself in the end, by way of others, none of them can be understood or tested alone. Tests do not count.

  check_layering.py [ROOT]        check the tree
  check_layering.py --self-test   check that each rule can fail
"""
import pathlib
import re
import sys
import tempfile

# folder: (folders it may use, runs inside the user's process)
TABLE = {
    "base": ([], True),
    "util": (["base"], False),
    "amd": (["base"], True),
    "format": (["base"], True),
    "codeobj": (["base", "amd"], True),
    "isa": (["base", "amd"], True),
    "model": (["base", "amd"], True),
    "emu": (["base", "amd", "isa"], True),
    "jit": (["base", "amd", "isa", "emu"], True),
    "sanitize": (["base", "codeobj", "isa", "emu"], True),
    "probe": (["base", "amd", "isa", "emu"], True),
    "cachesim": (["base", "amd", "isa", "model", "emu"], True),
    "timing": (["base", "amd", "model"], False),
    "capture": (["base", "format"], True),
    "swap": (["base", "amd", "codeobj"], True),
    "pass": (["base", "format"], False),
    "replay": (["base", "util", "amd", "format", "codeobj", "isa", "emu", "swap"], False),
    "inspect": (["base", "util", "amd", "codeobj", "isa", "emu", "probe", "replay", "format"], False),
    "itrace": (["base", "util", "amd", "codeobj", "isa", "model", "emu", "cachesim", "timing", "replay", "inspect"], False),
    "vgpu": (["base", "amd", "format", "codeobj", "isa", "model", "emu", "jit", "capture", "sanitize", "probe",
              "cachesim"], True),
    "record": (["base", "amd", "format"], True),
    "agent": (["base", "amd", "format", "codeobj", "swap", "record", "capture"], True),
    "store": (["base", "util", "amd", "format", "codeobj"], False),
    "analysis": (["base", "util", "amd", "store"], False),
    "profile": (["base", "util", "amd", "format", "model", "emu", "cachesim", "timing", "store", "analysis"], False),
    "foreign": (["base", "util", "store"], False),
    "proof": (["base", "util", "amd", "format", "codeobj", "isa", "model", "emu", "sanitize", "cachesim", "timing", "swap",
               "replay", "profile"], False),
    "tune": (["base", "util", "model", "sanitize", "replay", "store", "proof"], False),
    "optimize": (["base", "util", "model", "sanitize", "replay", "profile", "proof"], False),
    "mcp": (["base", "util"], False),
    "export": (["base", "util", "store", "analysis"], False),
    "correct": (["base", "amd"], True),
    "doctor": (["base", "util", "amd", "codeobj", "model", "correct", "store", "analysis"], False),
    "replay_c": (["base", "amd", "format", "codeobj", "isa", "emu", "replay"], False),
    "capi": (["base", "util", "model", "store", "analysis", "doctor"], False),
    "cli": (["base", "util", "amd", "codeobj", "isa", "model", "emu", "jit", "sanitize", "swap", "replay", "vgpu", "format", "store", "analysis",
             "export", "correct", "doctor", "probe", "inspect", "cachesim", "timing", "profile", "foreign", "proof", "tune",
             "optimize", "mcp", "itrace"], False),
}

# What tests, benchmarks and fuzzers of a folder may use on top (they are separate programs).
TEST_EXTRA = {"amd": [], "emu": ["codeobj"], "vgpu": [], "isa": [], "replay": ["capture"]}

# Headers, foreign ones but for the first, and the only places that may include them.
OWNERS = {
    r"store/sqlite\.h": r"(store|analysis|export|foreign|tune)/|cli/cmd_query\.cc",  # SQL
    r"sqlite3\.h": r"store/",
    r"llvm/|llvm-c/": r"(isa|jit|pass)/",
    r"CLI/": r"cli/(command|version)\.cc",
    r"nlohmann/json\.hpp": r"util/json_library\.h",
    r"nlohmann/|util/json_library\.h": r"(util|cli|store|analysis|export|capi|doctor|inspect|profile|foreign|proof|tune|optimize|mcp|itrace)/",
    r"fmt/": r"(util|cli|replay|store|analysis|export|capi|doctor|inspect|profile|foreign|proof|tune|optimize|mcp|itrace)/",
    r"toml\+\+/": r"tune/spec\.cc",
    r"curl/": r"optimize/http_client\.cc",
    r"hip/|hsakmt": r"(?!)",
    r"hsa/": r"agent/hsa",
}
NOT_IN_PROCESS = re.compile(r"(iostream|sstream|fstream|iomanip|regex|filesystem|exception|stdexcept)$")

# Circles from before the rule, by the names of their files; what remains of one may shrink, not grow.
KNOWN_CIRCLES = [
    {"inst", "ops"},
    {"code_object", "metadata"},
    {"config", "topology"},
    {"bulk_index", "bulk_writer"},
    {"queue_scheduler", "queue_state", "queues"},
    {"arg_texts", "row_finder", "trace"},
    {"hsa_facts", "hsa_load", "hsa_queue", "hsa_queue_arena", "hsa_times"},
    {"control", "environment", "functions", "helper", "libraries", "real_functions", "recorder", "session"},
    {"code_cache", "engine", "guest_read", "hwreg", "interpreter", "launch", "lower", "scheduler", "wave", "workgroup"},
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TEST_FILE = re.compile(r"(_(test|bench|fuzz)\.cc$|(^|/)test(ing)?[_/])")


def check_includes(src, problems):
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cc", ".c", ".inc"):
            continue
        relative = path.relative_to(src).as_posix()
        folder = relative.split("/")[0]
        if folder not in TABLE:
            problems.append(f"src/{relative}: folder {folder} is not in the table of tools/check_layering.py")
            continue
        allowed, in_process = TABLE[folder]
        is_test = TEST_FILE.search(relative) is not None
        extra = TEST_EXTRA.get(folder, []) if is_test else []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            where = f"src/{relative}:{number}"
            if name.startswith(".."):
                problems.append(f"{where}: include {name}: paths start at src/")
            if quote == '"':
                target = name.split("/")[0]
                if "/" not in name:
                    problems.append(f"{where}: include {name}: write it as {folder}/{name}")
                elif target in TABLE and target != folder and target not in allowed + extra:
                    problems.append(f"{where}: {folder} may not use {target}")
            else:
                if in_process and not is_test and NOT_IN_PROCESS.search(name):
                    problems.append(f"{where}: <{name}> is not for code in the user's process")
            for header, owner in OWNERS.items():
                if re.match(header, name) and not re.match(owner, relative) and not is_test:
                    problems.append(f"{where}: {name} belongs to {owner}")


def things_and_needs(src):
    """{thing: things it needs}, a thing being "folder/name" of NAME.h and NAME.cc."""
    needs = {}
    for path in sorted(src.rglob("*")):
        relative = path.relative_to(src)
        if path.suffix not in (".h", ".cc", ".c", ".inc") or TEST_FILE.search(relative.as_posix()):
            continue
        thing = relative.with_suffix("").as_posix()
        of_thing = needs.setdefault(thing, set())
        for line in path.read_text().splitlines():
            match = INCLUDE.match(line)
            if match and match[1] == '"' and (src / match[2]).exists():
                needed = pathlib.PurePosixPath(match[2]).with_suffix("").as_posix()
                if needed != thing:
                    of_thing.add(needed)
    return needs


def circles(needs):
    """Sets of things that need each other (Tarjan's strongly connected components, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in needs:
        if root in index:
            continue
        work = [(root, iter(sorted(needs[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            thing, rest = work[-1]
            for needed in rest:
                if needed not in index:
                    index[needed] = low[needed] = len(index)
                    stack.append(needed)
                    on_stack.add(needed)
                    work.append((needed, iter(sorted(needs.get(needed, ())))))
                    break
                if needed in on_stack:
                    low[thing] = min(low[thing], index[needed])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[thing])
                if low[thing] == index[thing]:
                    circle = set()
                    while thing not in circle:
                        circle.add(stack.pop())
                    on_stack -= circle
                    if len(circle) > 1:
                        found.append(circle)
    return found


def check_circles(src, problems):
    for circle in circles(things_and_needs(src)):
        names = {thing.split("/")[-1] for thing in circle}
        if not any(names <= known for known in KNOWN_CIRCLES):
            problems.append(f"a circle of files: {', '.join(sorted(circle))}")


# Test support is test_NAME.{h,cc} beside the code, or anything in a folder testing/.
OLD_NAMES = {"queue_test_support.h", "vgpu_test_support.h"}


def check_names(src, problems):
    for path in sorted(src.rglob("*_test_*")):
        relative = path.relative_to(src)
        if path.suffix in (".h", ".cc") and "testing" not in relative.parts and path.name not in OLD_NAMES:
            problems.append(f"src/{relative.as_posix()}: name test support test_{path.stem.split('_test')[0]}{path.suffix}")


def check_links(src, problems):
    for path in sorted(src.glob("*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", path.read_text())
        call = re.search(r"wt_folder\(([^)]*)\)", text)
        folder = path.parent.name
        if not call or folder not in TABLE:
            continue
        words = call.group(1).split()
        allowed, in_process = TABLE[folder]
        if words[0] != folder:
            problems.append(f"src/{folder}/CMakeLists.txt: calls itself {words[0]}")
        if ("IN_PROCESS" in words) != in_process:
            problems.append(f"src/{folder}/CMakeLists.txt: IN_PROCESS does not agree with the table")
        deps = []
        if "DEPS" in words:
            for word in words[words.index("DEPS") + 1:]:
                if word in ("LIBS", "IN_PROCESS", "FAST", "APART", "ALONE", "TESTS_ALONE"):
                    break
                deps.append(word)
        for dep in deps:
            if dep not in allowed:
                problems.append(f"src/{folder}/CMakeLists.txt: {folder} may not link {dep}")


def check_table(problems):
    for folder, (allowed, in_process) in TABLE.items():
        for name in allowed:
            if name not in TABLE:
                problems.append(f"table: {folder} names unknown folder {name}")
            elif list(TABLE).index(name) >= list(TABLE).index(folder):
                problems.append(f"table: {folder} uses {name}, which is listed below it")
            elif in_process and not TABLE[name][1]:
                problems.append(f"table: in-process {folder} uses offline {name}")


def check(root):
    problems = []
    check_table(problems)
    check_includes(root / "src", problems)
    check_links(root / "src", problems)
    check_circles(root / "src", problems)
    check_names(root / "src", problems)
    return problems


def self_test():
    cases = {
        "emu may not use vgpu": ("emu/a.cc", '#include "vgpu/gpu.h"\n'),
        "vgpu may not use util": ("vgpu/a.h", '#include "util/text.h"\n'),
        "paths start at src": ("isa/a.h", '#include "../amd/aql.h"\n'),
        "write it as": ("isa/a.h", '#include "inst.h"\n'),
        "user's process": ("emu/a.cc", "#include <iostream>\n"),
        "belongs to": ("cli/a.cc", "#include <sqlite3.h>\n"),
        "not in the table": ("stuff/a.cc", "int x;\n"),
        "may not link": ("emu/CMakeLists.txt", "wt_folder(emu IN_PROCESS DEPS base util)\n"),
        "does not agree": ("emu/CMakeLists.txt", "wt_folder(emu DEPS base)\n"),
    }
    failures = 0
    for expected, (name, text) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "src" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            problems = check(pathlib.Path(folder))
            if not any(expected in problem for problem in problems):
                print(f"self-test: no complaint like '{expected}' about {text.strip()}: {problems}")
                failures += 1
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder) / "src/emu"
        src.mkdir(parents=True)
        for name, text in {"a.h": "", "a.cc": '#include "emu/a.h"\n#include "emu/b.h"\n', "b.h": "",
                           "b.cc": '#include "emu/c.h"\n', "c.h": '#include "emu/a.h"\n',
                           "d_test.cc": '#include "emu/a.h"\n', "x_test_support.h": ""}.items():
            (src / name).write_text(text)
        problems = check(pathlib.Path(folder))
        if problems != ["a circle of files: emu/a, emu/b, emu/c",
                        "src/emu/x_test_support.h: name test support test_x.h"]:
            print(f"self-test: {problems}")
            failures += 1
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "src/emu/a.cc"
        path.parent.mkdir(parents=True)
        path.write_text('#include "emu/wave.h"\n#include "isa/inst.h"\n#include <vector>\n')
        if check(pathlib.Path(folder)):
            print("self-test: complains about a good file")
            failures += 1
    return failures


def main():
    if "--self-test" in sys.argv:
        sys.exit(1 if self_test() else 0)
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
