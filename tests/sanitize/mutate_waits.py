#!/usr/bin/env python3
"""Takes waits out of the kernels of HIP programs and counts how many of them waitcheck misses.

  mutate_waits.py --bin BIN --gpu MODEL [--most N] [--each] [PROGRAM…]

A mutant is the program with one s_waitcnt of its own kernels changed in place: the demand on vmcnt or on lgkmcnt dropped, or
(--each) lowered by one as well. The original must have no finding. A mutant is `reported` when waitcheck or racecheck finds
something. Else it is `proved` when another wait is on every way to where this one was needed, `not executed`, `equivalent` when
equivalent_mutants.txt says why. What is left is `silent` and listed.
"""
import re

import mutants

# model: shift and width of the parts of vmcnt, and of lgkmcnt, in the immediate of s_waitcnt
FIELDS = {"mi210": (((0, 4), (14, 2)), ((8, 4),)), "rx6800xt": (((0, 4), (14, 2)), ((8, 6),))}


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


RELEASE = re.compile(r"buffer_(gl0_|gl1_|wb)?inv|buffer_wb|_atomic_|flat_store|global_store")


def line_behind(pattern, context, line, most):
    """The next one of that pattern, of `most` lines; "" when there is none."""
    at = context.index(line)
    return next((near for near in context[at + 1:at + 1 + most] if re.search(pattern, near)), "")


def mutants_of(args, program):
    vm, lgkm = FIELDS[args.gpu]
    for site in mutants.sites_of(args, program, "s_waitcnt", lambda word: word >> 16 == 0xBF8C):
        context = site.lines[max(0, site.number - 8):site.number + 9]
        for counter, parts in (("vmcnt", vm), ("lgkmcnt", lgkm)):
            value, none = read_field(site.word & 0xFFFF, parts)
            if value == none:
                continue
            for demand in [none] + ([value + 1] if args.each and value + 1 < none else []):
                what = f"{site.address:06x} {counter}({value}) " + ("dropped" if demand == none else f"-> {counter}({demand})")
                new = site.word & 0xFFFF0000 | write_field(site.word & 0xFFFF, parts, demand)
                barrier = line_behind("s_barrier", context, site.line, 4)[2:8]
                yield mutants.Mutant(what, site.offset, site.word, new, context, barrier=barrier,
                                     is_release=not barrier and line_behind(RELEASE, context, site.line, 3) != "")


if __name__ == "__main__":
    mutants.main("wait", "waitcheck,racecheck", mutants_of,
                 lambda parser: parser.add_argument("--each", action="store_true", help="lower demands by one as well"))
