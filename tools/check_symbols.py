#!/usr/bin/env python3
"""Holds a shared library that is loaded into other people's processes against what was agreed.

  check_symbols.py LIBRARY LIST [--update]

LIST (tests/abi/NAME.symbols) has three kinds of lines:
  export NAME    a dynamic symbol the library defines; all of them are listed, nothing else may appear
  needed NAME    a library it may ask the dynamic linker for
  constructor F  a source file whose global objects may be constructed when it is loaded
  init N         how many functions may run when it is loaded (.init_array entries), at most
--update rewrites the exports and the constructors and keeps the rest.
"""
import re
import subprocess
import sys


def readelf(library, *options):
    return subprocess.run(["readelf", "-W", *options, library], check=True, capture_output=True, text=True).stdout


def exports_of(library):
    names = set()
    for line in readelf(library, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":") or not fields[0][:-1].isdigit():
            continue
        bind, visibility, section, name = fields[4], fields[5], fields[6], fields[7]
        if bind in ("GLOBAL", "WEAK", "UNIQUE") and visibility in ("DEFAULT", "PROTECTED") and section != "UND":
            if section == "ABS":
                continue  # a version node
            names.add(name.split("@")[0])
    return names


def needed_of(library):
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", readelf(library, "-d")))


def init_count_of(library):
    match = re.search(r"\(INIT_ARRAYSZ\)\s+(\d+)", readelf(library, "-d"))
    return int(match.group(1)) // 8 if match else 0


def constructors_of(library):
    symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" _GLOBAL__sub_I_(\S+)", symbols))


def read_list(path):
    exports, needed, constructors, init = set(), set(), set(), 0
    for line in open(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "export":
            exports.add(words[1])
        elif words[0] == "needed":
            needed.add(words[1])
        elif words[0] == "constructor":
            constructors.add(words[1])
        elif words[0] == "init":
            init = int(words[1])
        else:
            sys.exit(f"{path}: unknown line: {line.strip()}")
    return exports, needed, constructors, init


def update(library, path):
    kept = [line for line in open(path) if not line.startswith(("export ", "constructor "))]
    with open(path, "w") as out:
        out.writelines(kept)
        out.writelines(f"constructor {name}\n" for name in sorted(constructors_of(library)))
        out.writelines(f"export {name}\n" for name in sorted(exports_of(library)))


def main():
    library, path = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--update" in sys.argv:
        update(library, path)
    exports, needed, constructors, init = read_list(path)
    problems = []
    actual = exports_of(library)
    problems += [f"exports {name}, which {path} does not list" for name in sorted(actual - exports)]
    problems += [f"no longer exports {name}" for name in sorted(exports - actual)]
    problems += [f"needs {name}, which {path} does not allow" for name in sorted(needed_of(library) - needed)]
    problems += [f"constructs objects of {name} when loaded, which {path} does not allow"
                 for name in sorted(constructors_of(library) - constructors)]
    if init_count_of(library) > init:
        problems.append(f"runs {init_count_of(library)} functions when loaded; {path} allows {init}")
    for problem in problems:
        print(f"{library}: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
