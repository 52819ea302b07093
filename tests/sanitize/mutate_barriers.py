#!/usr/bin/env python3
"""Takes barriers out of the kernels of HIP programs and counts how many of them racecheck misses.

  mutate_barriers.py --bin BIN --gpu MODEL [--most N] [--least PERCENT] [PROGRAM…]

A mutant is the program with one s_barrier of its kernels replaced by s_nop. The original must have no finding. A mutant is
`reported` when racecheck finds something. Else, when equivalent_mutants.txt says why it changes nothing, it is `equivalent`; where
the run does not come, `not executed`. What is left is `silent` and listed with the instructions around it.
"""
import mutants
from mutants import BARRIER, NOP


def mutants_of(args, program):
    for site in mutants.sites_of(args, program, "s_barrier", lambda word: word == BARRIER):
        yield mutants.Mutant(f"{site.address:06x}", site.offset, BARRIER, NOP, site.lines[max(0, site.number - 6):site.number + 7])


if __name__ == "__main__":
    mutants.main("barrier", "racecheck", mutants_of)
