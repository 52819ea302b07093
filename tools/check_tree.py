#!/usr/bin/env python3
"""Checks every text file of the tree: no path of somebody's machine, no conflict markers, no stray ends.

  check_tree.py [ROOT]        check the files git knows (all files when there is no git)
  check_tree.py --self-test   check that each rule can fail
"""
import pathlib
import re
import subprocess
import sys

RULES = [
    (re.compile(r"(?<![\w.$}])/(?:work|root|home/(?!dev/)[a-z]\w*|Users/\w+|tmp/b-\w+)/"), "a path of one machine"),
    (re.compile(r"^(<<<<<<<|>>>>>>>) "), "a conflict marker"),
    (re.compile(r"\bTODO\b(?!\(#\d+\))"), "a TODO without an issue number"),
    (re.compile(r"[ \t]+$"), "spaces at the end of the line"),
    (re.compile(r"\r$"), "a carriage return"),
]
SKIPPED = re.compile(r"(\.(png|rpd|hsaco|bin|gz|zst|svg|golden|test|md)$|^tests/(corpus|data|golden)/|tools/check_tree\.py$)")
# Rules for files that are skipped above because their content is verbatim output.
ALWAYS = RULES[:2]


def problems_of(name, text):
    rules = ALWAYS if SKIPPED.search(name) else RULES
    if name.endswith("tools/check_tree.py"):
        rules = []
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, what in rules:
            if pattern.search(line):
                yield f"{name}:{number}: {what}: {line.strip()[:80]}"


def files_of(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.decode().split("\0") if name]
    return [path.relative_to(root).as_posix() for path in root.rglob("*")
            if path.is_file() and not re.match(r"(build|\.git)", path.relative_to(root).as_posix())]


def self_test():
    bad = {"a.cc": ["x = \"/work" + "/main\";", "int y; ", "// TO" + "DO: later", "a\r", "<<<<" + "<<< HEAD"],
           "README.md": ["cd /home/" + "someone/wavetap"]}
    good = {"a.cc": ["// framework/root/work", "f(); // TODO(#12): later", "\"/dev/kfd\""]}
    missed = [line for name, lines in bad.items() for line in lines if not list(problems_of(name, line))]
    wrong = [line for name, lines in good.items() for line in lines if list(problems_of(name, line))]
    for line in missed + wrong:
        print(f"self-test: {line!r}")
    return len(missed) + len(wrong)


def main():
    if "--self-test" in sys.argv:
        sys.exit(1 if self_test() else 0)
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = []
    for name in files_of(root):
        try:
            text = (root / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        found += problems_of(name, text)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
