#!/usr/bin/env python3
"""Counts what there should be less of, and fails when there is more than before.

  ratchet.py [ROOT]             compare with tools/ratchet.txt
  ratchet.py --update [ROOT]    write smaller numbers down, so that they cannot grow again
  ratchet.py --list [ROOT]      every place that counts
  ratchet.py --self-test

What is counted in src/ (tables, *.inc, and generated code do not count):
  long-functions   functions of more than 60 lines; not in tests
  nolint           exceptions from the linter
  long-files       files of more than 1500 lines

A function is found by the layout that tools/check_format.py enforces: its first line has no indentation (or that of
a class's members) and ends in `{`, its last line is `}` at the same place.
"""
import pathlib
import re
import sys
import tempfile

LONGEST_FUNCTION, LONGEST_FILE = 60, 1500
# What ends in `{` at the margin and is no function.
NOT_A_FUNCTION = re.compile(r"\s*(?:(?:inline )?namespace|(?:template <.*> )?(?:class|struct|union|enum)|extern \"C\"|"
                            r"if|else|for|while|do|switch|try|catch|case|default|public|private|protected)\b")


TEST = re.compile(r"(_(test|bench|fuzz)\.cc$|/test_[^/]*$|/testing/)")


def without_raw_strings(lines):
    """The same lines, those inside a raw string emptied."""
    kept, end = [], None
    for line in lines:
        opened = re.search(r'R"(\w*)\(', line) if end is None else None
        inside = end is not None
        if opened and f"){opened[1]}\"" not in line[opened.end():]:
            end = f"){opened[1]}\""
        elif inside and end in line:
            end = None
        kept.append("" if inside else line)
    return kept


def functions_of(lines):
    """(first line, number of lines) of each function; first lines count from 1."""
    lines = without_raw_strings(lines)
    found, begin, start = [], None, 0
    for number, line in enumerate(lines):
        text = line.rstrip()
        if begin is not None:
            first = len(lines[begin]) - len(lines[begin].lstrip())
            if re.match(r"\}(;|\);)?(  //.*)?$", text[first:]) and text[:first].isspace() == bool(first):
                found.append((begin + 1, number - begin + 1))
                begin = None
            continue
        previous = lines[number - 1].strip() if number else ""
        # A declaration begins where no earlier one goes on.
        if text and (not previous or previous.endswith((";", "{", "}", ":")) or previous.startswith(("//", "#"))):
            start = number
        head = "\n".join(lines[start:number + 1])
        outer = len(lines[start]) - len(lines[start].lstrip())
        if (text.endswith("{") and not text.endswith(("({", "= {")) and outer <= 2 and "(" in head
                and not NOT_A_FUNCTION.match(lines[start])):
            begin = start
    return found


def measure(root):
    """{what: [place, ...]}"""
    places = {"long-functions": [], "nolint": [], "long-files": []}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".c"):
            continue
        name = path.relative_to(root).as_posix()
        lines = path.read_text().split("\n")
        for first, count in functions_of(lines):
            if count > LONGEST_FUNCTION and not TEST.search(name):
                places["long-functions"].append(f"{name}:{first}: {count} lines: {lines[first - 1].strip()[:70]}")
        for number, line in enumerate(lines, 1):
            if "NOLINT" in line and "NOLINTEND" not in line:
                places["nolint"].append(f"{name}:{number}: {line.strip()[:70]}")
        if len(lines) > LONGEST_FILE:
            places["long-files"].append(f"{name}: {len(lines)} lines")
    return places


def read(path):
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {what: int(count) for what, count in rows}


def compare(places, known):
    """What has grown, and what has shrunk."""
    grown, shrunk = [], []
    for what, found in places.items():
        if len(found) > known[what]:
            grown.append(f"{what}: {len(found)}, and there were {known[what]}:\n  " + "\n  ".join(found))
        elif len(found) < known[what]:
            shrunk.append(f"{what}: {len(found)}, and there were {known[what]}")
    return grown, shrunk


def self_test():
    body = "".join("  f();\n" for _ in range(60))
    source = ("namespace a {\n"
              "int too_long(\n    int x) {\n" + body + "}\n"
              "int good() {\n  return 1;\n}\n"
              "class C {\n  void also_too_long() {\n" + body.replace("  f", "    f") + "  }\n  void fine() {}\n};\n"
              "const int kTable[] = {\n" + "  1,\n" * 70 + "};\n"
              "}  // namespace a\n"
              "int x;  // NOLINT\n")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src/a").mkdir(parents=True)
        (root / "src/a/a.cc").write_text(source)
        (root / "src/a/b.cc").write_text("\n" * 1600)
        places = measure(root)
        counts = {what: len(found) for what, found in places.items()}
        wrong = counts != {"long-functions": 2, "nolint": 1, "long-files": 1}
        grown, shrunk = compare(places, {"long-functions": 1, "nolint": 1, "long-files": 5})
        wrong |= len(grown) != 1 or "too_long" not in grown[0] or len(shrunk) != 1
        if wrong:
            print(f"self-test: {counts}, {grown}, {places}")
        return int(wrong)


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--self-test" in sys.argv:
        return self_test()
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent)
    file = root / "tools/ratchet.txt"
    places = measure(root)
    if "--list" in sys.argv:
        print("\n".join(place for found in places.values() for place in found))
        return 0
    known = read(file)
    grown, shrunk = compare(places, known)
    if "--update" in sys.argv:
        file.write_text("# How many there may be; tools/ratchet.py --update lowers the numbers.\n" +
                        "".join(f"{what} {min(len(places[what]), count)}\n" for what, count in known.items()))
        shrunk = []
    for problem in grown:
        print(problem)
    for note in shrunk:
        print(f"{note}: good; tools/ratchet.py --update keeps it so")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
