#!/usr/bin/env python3
"""Checks every text file of the tree: no path of somebody's machine, no conflict markers, no stray ends; and that no comment
of a C++ file has lost its end to a change of layout.

  check_tree.py [ROOT]        check the files git knows (all files when there is no git)
  check_tree.py --self-test   check that each rule can fail
"""
import collections
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
# A formatter that cuts comments does so at the 100th column, sometimes behind a space or in front of one.
CPP = re.compile(r"(src|include|tests|bench|examples)/.*\.(cc|h|c|hip|inc)$")
COMMENT = re.compile(r"\s*//+ *\S")
CUT_WIDTHS = (98, 99, 100)
COMMON = 10  # a word that occurs so often is what was meant by its beginning


def problems_of(name, text):
    rules = ALWAYS if SKIPPED.search(name) else RULES
    if name.endswith("tools/check_tree.py"):
        rules = []
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, what in rules:
            if pattern.search(line):
                yield f"{name}:{number}: {what}: {line.strip()[:80]}"


def is_cut(lines, at, text, words):
    """Whether a comment line as wide as lines may be ends inside a word or, where its paragraph ends, without a full stop."""
    last = lines[at].split(" ")[-1]
    if re.fullmatch(r"\w*[^\Ws]'", last):
        return True  # workgroup's
    if not re.search(r"\w$", last):
        return False
    if not COMMENT.match((lines + [""])[at + 1]):
        first = at
        while first > 0 and COMMENT.match(lines[first - 1]):
            first -= 1
        # Titles and rows of tables have no full stops. That of "… see foo.cc" looks like part of a name.
        said = "\n".join(lines[first:at + 1])
        return "." not in last and bool(re.match(r"\s*// --- ", said) or re.search(r"\.\s", said))
    if re.fullmatch("[b-z]", last):
        return len(re.findall(rf"\b{last}\b", text)) == 1
    return (last.isalpha() and len(last) > 1 and words[last] == 1 and
            any(count >= COMMON and word.startswith(last) for word, count in words.items()))


def cut_comments(texts):
    """The same for all C++ files, by name: what words there are is known from all of them."""
    words = collections.Counter(word for text in texts.values() for word in re.findall("[A-Za-z]+", text))
    for name, text in texts.items():
        lines = text.split("\n")
        for at, line in enumerate(lines):
            if len(line) in CUT_WIDTHS and COMMENT.match(line) and is_cut(lines, at, text, words):
                yield f"{name}:{at + 1}: a comment whose end seems cut off: …{line[-60:]}"


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
    # Each line is made as wide as one that was cut.
    row, rest = "void row(int t);\n" * COMMON, "\n// of it.\n"
    cut = ["// the ro" + rest, "// the row, wide: z" + rest, "// of the workgroup'" + rest, "  // --- what it take\n" + row, "// One. And so\nint y;\n"]
    whole = ["// the row" + rest, "// the workgroups'" + rest, "// the row t\n// of t.\n", "// a" + rest, "// One. See row.cc\n", "// ---- row\n", "// No row\n",
             "// One. And so\n// on.\n"]
    for text in cut + whole:
        first, _, after = text.partition("\n")
        wide = re.sub("// (---+ )?", lambda start: start[0] + "x" * (98 - len(first)) + " ", first, count=1)
        if bool(list(cut_comments({"src/a.cc": f"{wide}\n{after}", "src/b.cc": row}))) != (text in cut):
            missed.append(text)
    for line in missed + wrong:
        print(f"self-test: {line!r}")
    return len(missed) + len(wrong)


def main():
    if "--self-test" in sys.argv:
        sys.exit(1 if self_test() else 0)
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found, cpp = [], {}
    for name in files_of(root):
        try:
            text = (root / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        found += problems_of(name, text)
        if CPP.match(name):
            cpp[name] = text
    found += cut_comments(cpp)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
