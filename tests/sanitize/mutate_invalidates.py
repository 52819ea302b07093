#!/usr/bin/env python3
"""Takes invalidations of caches out of the kernels of HIP programs and counts how many of them racecheck misses.

  mutate_invalidates.py --bin BIN --gpu MODEL [--most N] [--least PERCENT] [PROGRAM…]

A mutant is the program with one buffer_gl0_inv, buffer_gl1_inv or buffer_wbinvl1_vol of its kernels replaced by two s_nop. The
original must have no finding. A mutant is `reported` when racecheck finds something, `equivalent` when equivalent_mutants.txt says
why it changes nothing, `proved` behind a barrier of a program whose waves hand over nothing but LDS. What is left is `silent` and
listed.
"""
import mutants

NAMES = {"mi210": ("buffer_wbinvl1_vol",), "rx6800xt": ("buffer_gl0_inv", "buffer_gl1_inv")}
NOPS = 0xBF800000BF800000


def mutants_of(args, program):
    for name in NAMES[args.gpu]:
        for site in mutants.sites_of(args, program, name, lambda word: word >> 26 == 0x38):
            context = site.lines[max(0, site.number - 6):site.number + 7]
            near = site.lines[max(0, site.number - 4):site.number]
            barrier = next((line[2:8] for line in near if line[10:].startswith("s_barrier")), "")
            yield mutants.Mutant(f"{site.address:06x} {name}", site.offset, site.word, NOPS, context, 8, barrier)


if __name__ == "__main__":
    mutants.main("invalidate", "racecheck", mutants_of)
