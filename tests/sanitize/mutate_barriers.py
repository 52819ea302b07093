#!/usr/bin/env python3
"""Takes barriers out of the kernels of HIP programs and counts how many of them racecheck misses.

  mutate_barriers.py --bin BIN --gpu MODEL [--most N] [--least PERCENT] PROGRAM…

A mutant is the program with one s_barrier of its kernels replaced by s_nop. The original must have no finding. A mutant is
`reported` when racecheck finds something. Else it is `silent` and listed with the instructions around it, to be judged by hand:
code that is not executed, or a barrier beside which no wave touches what another one does.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from mutate_waits import TARGETS, code_objects

BARRIER = 0xBF8A0000
NOP = 0xBF800000


def mutants_of(args, program):
    """Yields (address, file offset, lines around)."""
    target, mach = TARGETS[args.gpu][:2]
    data = pathlib.Path(program).read_bytes()
    objects = list(code_objects(data, mach))
    text = subprocess.run([f"{args.bin}/wavetap", "gpu", "disasm", program, "--target", target], capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if re.match(r"  [0-9a-f]{6} ", line)]
    for number, line in enumerate(lines):
        address, name = int(line[2:8], 16), line[10:].split()[0]
        if name != "s_barrier":
            continue
        for offset_of in objects:
            offset = offset_of(address)
            if offset and int.from_bytes(data[offset:offset + 4], "little") == BARRIER:
                yield address, offset, lines[max(0, number - 6):number + 7]
                break
        else:
            raise SystemExit(f"{program}: no s_barrier at {address:#x}")


def sanitize(args, program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", "racecheck", "--gpu", args.gpu, "--json", file.name, "--",
                              program], capture_output=True, text=True, timeout=300)
        try:
            return json.loads(pathlib.Path(file.name).read_text())["findings"]
        except (ValueError, KeyError):
            raise SystemExit(f"{program}: no report: {ran.stderr}")


def check_program(args, program, counts):
    name = pathlib.Path(program).name
    if sanitize(args, program):
        print(f"{name}: the original has findings")
        counts["false"] += 1
        return
    mutants = list(mutants_of(args, program))
    if args.most and len(mutants) > args.most:
        mutants = mutants[:: -(-len(mutants) // args.most)]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / name
        for address, offset, context in mutants:
            shutil.copy(program, copy)
            with open(copy, "r+b") as file:
                file.seek(offset)
                file.write(NOP.to_bytes(4, "little"))
            if sanitize(args, str(copy)):
                counts["reported"] += 1
            else:
                counts["silent"] += 1
                print(f"{name}: silent: {address:06x}\n" + "\n".join("    " + line for line in context), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True, choices=sorted(TARGETS))
    parser.add_argument("--most", type=int, default=0, help="mutants of one program")
    parser.add_argument("--least", type=int, default=0, help="percent of the mutants that must be reported")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    counts = {"reported": 0, "silent": 0, "false": 0}
    for program in args.programs:
        check_program(args, program if "/" in program else f"{args.bin}/hip/{program}", counts)
    print(counts)
    judged = counts["reported"] + counts["silent"]
    sys.exit(1 if counts["false"] or judged == 0 or counts["reported"] * 100 < args.least * judged else 0)


if __name__ == "__main__":
    main()
