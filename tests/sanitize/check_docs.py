#!/usr/bin/env python3
"""The pages of wavetap sanitize's tools: their programs are those of doc_programs.hip, their reports what is printed, their fixes fixes.

  check_docs.py --bin BIN --gpu MODEL [PROGRAM]

Of a report the headlines, kernels and details are compared; places, lanes and addresses are those of one build and one GPU.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
# page, program, tools
PROGRAMS = [("memcheck", "fill", "memcheck"), ("racecheck", "reverse", "racecheck"), ("initcheck", "scale", "initcheck"),
            ("initcheck", "count", "initcheck"), ("initcheck", "pick", "initcheck"), ("initcheck", "square", "initcheck"),
            ("synccheck", "halves", "synccheck"), ("waitcheck", "sum", "waitcheck"), ("fpcheck", "normalise", "fpcheck"),
            ("leakcheck", "upload", "leakcheck,hostcheck")]


def blocks_of(page):
    return re.findall(r"^```\n(.*?)^```$", (DOCS / f"{page}.md").read_text(), re.M | re.S)


def program_of(blocks, name):
    """(lines of the program, the report that follows it, or None)"""
    for number, block in enumerate(blocks):
        if re.search(rf"^ *\d+  .*\b{name}\(", block, re.M):
            lines = [re.sub(r"^ *\d+  ", "", line).strip() for line in block.splitlines()]
            behind = blocks[number + 1] if number + 1 < len(blocks) else ""
            return lines, behind if re.search(r"^(error|warning): ", behind, re.M) else None
    return None, None


def parts_of(report):
    """What is the same wherever the program runs."""
    kept = []
    for line in report.splitlines():
        if re.match(r"(error|warning): |  (kernel|detail) ", line):
            line = re.sub(r"0x[0-9a-f]+", "0x", line)
            kept.append(re.sub(r"\bv\d+\b", "v", line) if "waited for" in line else line)
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("program", nargs="?")
    args = parser.parse_args()
    program = args.program or f"{args.bin}/hip/doc_programs"
    source = "\n".join(line.strip().removeprefix("__attribute__((noinline)) ")
                       for line in (HERE / "doc_programs.hip").read_text().splitlines())
    wrong = []
    for page, name, tools in PROGRAMS:
        def report_of(*variant):
            ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--gpu", args.gpu, "--tool", tools, "--", program, name, *variant],
                                 capture_output=True, text=True)
            return ran.stderr if ran.stdout == "done\n" else f"error: {ran.stdout}"
        lines, report = program_of(blocks_of(page), name)
        if lines is None:
            wrong.append(f"{page}.md has no program {name}")
            continue
        pieces = re.split(r"(?<=\n})\n", "\n".join(lines))
        wrong += [f"{page}.md: {name}: doc_programs.hip has not\n{piece}" for piece in pieces if piece not in source]
        found = report_of()
        if report is None and not parts_of(found):
            wrong.append(f"{page}.md: {name}: nothing is found")
        if report is not None and parts_of(found) != parts_of(report):
            wrong.append(f"{page}.md: {name}: prints\n{found}\nand not\n{report}")
        if parts_of(report_of("fixed")):
            wrong.append(f"{page}.md: {name}: the fix does not help\n{report_of('fixed')}")
    print("\n".join(wrong) or f"{len(PROGRAMS)} programs, as their pages say")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
