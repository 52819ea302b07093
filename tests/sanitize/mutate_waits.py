#!/usr/bin/env python3
"""Takes waits out of the kernels of HIP programs and counts how many of them waitcheck misses.

  mutate_waits.py --bin BIN --gpu MODEL [--most N] [--each] PROGRAM…

A mutant is the program with one s_waitcnt of its own kernels changed in place: the demand on vmcnt or on lgkmcnt dropped, or
(--each) lowered by one as well. The original must have no finding. A mutant is `reported` when waitcheck finds something. Else,
with a barrier, a release or an acquire beside it, it is a `fence`: the wait orders memory, and no register needs it. What is left
is `silent`, and listed with the instructions around it, to be judged by hand: code that is not executed, a wait behind a stronger
one on every way that is taken, or a defect of waitcheck.

Exit status 1 when an original has a finding, or when fewer than --least percent of the mutants that are not fences are reported.
"""
import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# model: target, its number in ELF headers, shift and width of the parts of vmcnt, and of lgkmcnt, in the immediate of s_waitcnt
TARGETS = {"mi210": ("gfx90a", 0x3F, ((0, 4), (14, 2)), ((8, 4),)), "rx6800xt": ("gfx1030", 0x36, ((0, 4), (14, 2)), ((8, 6),))}


def read_field(imm, parts):
    value, at = 0, 0
    for shift, width in parts:
        value |= (imm >> shift & ((1 << width) - 1)) << at
        at += width
    return value, (1 << at) - 1  # and what all ones are: no wait


def write_field(imm, parts, value):
    for shift, width in parts:
        mask = (1 << width) - 1
        imm = imm & ~(mask << shift) | (value & mask) << shift
        value >>= width
    return imm


def code_objects(data, mach):
    """File offset by address, as functions, of each code object for this target in the program."""
    at = data.find(b"\x7fELF")
    while at >= 0:
        header = data[at:at + 64]
        machine, flags = struct.unpack_from("<H", header, 18)[0], struct.unpack_from("<I", header, 48)[0]
        if machine == 224 and flags & 0xFF == mach:
            table, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
            loads = [struct.unpack_from("<IIQQQQ", data, at + table + i * size) for i in range(count)]

            def offset_of(address, base=at, segments=tuple(loads)):
                for kind, _, offset, begin, _, length in segments:
                    if kind == 1 and begin <= address < begin + length:
                        return base + offset + address - begin
                return None
            yield offset_of
        at = data.find(b"\x7fELF", at + 1)


def mutants_of(args, program):
    """Yields (what, file offset, old word, new word, lines around, whether it is a fence)."""
    target, mach, vm, lgkm = TARGETS[args.gpu]
    data = pathlib.Path(program).read_bytes()
    objects = list(code_objects(data, mach))
    text = subprocess.run([f"{args.bin}/wavetap", "gpu", "disasm", program, "--target", target], capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if re.match(r"  [0-9a-f]{6} ", line)]
    for number, line in enumerate(lines):
        address, name = int(line[2:8], 16), line[10:].split()[0]
        if name != "s_waitcnt":
            continue
        for offset_of in objects:
            offset = offset_of(address)
            word = int.from_bytes(data[offset:offset + 4], "little") if offset else 0
            if word >> 16 == 0xBF8C:
                break
        else:
            raise SystemExit(f"{program}: no s_waitcnt at {address:#x}")
        context = lines[max(0, number - 8):number + 9]
        for counter, parts in (("vmcnt", vm), ("lgkmcnt", lgkm)):
            value, none = read_field(word & 0xFFFF, parts)
            if value == none:
                continue
            for demand in [none] + ([value + 1] if args.each and value + 1 < none else []):
                what = f"{address:06x} {counter}({value}) " + ("dropped" if demand == none else f"-> {counter}({demand})")
                new = word & 0xFFFF0000 | write_field(word & 0xFFFF, parts, demand)
                yield what, offset, word, new, context, is_fence(context, line)


FENCE = re.compile(r"s_barrier|s_waitcnt_vscnt|buffer_(gl0_|gl1_|wb)?inv|buffer_wb|s_setpc|s_endpgm")


def is_fence(context, line):
    """Whether the wait stands beside something that orders memory."""
    at = context.index(line)
    return any(FENCE.search(near) for near in context[max(0, at - 3):at + 4])


def sanitize(args, program, arguments=()):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", "waitcheck", "--gpu", args.gpu, "--json", file.name, "--",
                              program, *arguments], capture_output=True, text=True, timeout=300)
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
        for what, offset, old, new, context, fence in mutants:
            shutil.copy(program, copy)
            with open(copy, "r+b") as file:
                file.seek(offset)
                assert file.read(4) == old.to_bytes(4, "little")
                file.seek(offset)
                file.write(new.to_bytes(4, "little"))
            if sanitize(args, str(copy)):
                counts["reported"] += 1
            elif fence:
                counts["fence"] += 1
            else:
                counts["silent"] += 1
                print(f"{name}: silent: {what}\n" + "\n".join("    " + line for line in context))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True, choices=sorted(TARGETS))
    parser.add_argument("--most", type=int, default=0, help="mutants of one program")
    parser.add_argument("--each", action="store_true", help="lower demands by one as well")
    parser.add_argument("--least", type=int, default=0, help="percent of the mutants that must be reported")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    counts = {"reported": 0, "fence": 0, "silent": 0, "false": 0}
    for program in args.programs:
        path = program if "/" in program else f"{args.bin}/hip/{program}"
        check_program(args, path, counts)
    print(counts)
    judged = counts["reported"] + counts["silent"]
    sys.exit(1 if counts["false"] or judged == 0 or counts["reported"] * 100 < args.least * judged else 0)


if __name__ == "__main__":
    main()
