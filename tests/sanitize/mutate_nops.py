#!/usr/bin/env python3
"""Takes wait states out of the kernels of HIP programs and counts how many of them waitcheck misses.

  mutate_nops.py --bin BIN --gpu MODEL [--most N] [--least PERCENT] [PROGRAM…]

A mutant is the program with one `s_nop N` of its kernels shortened to `s_nop 0`. The original must have no finding. Code that is
not executed is silent. wait_state_scan looks at all code instead, without running it.
"""
import mutants

NOP = 0xBF800000


def mutants_of(args, program):
    for site in mutants.sites_of(args, program, "s_nop", lambda word: word & 0xFFFF0000 == NOP):
        if site.word & 15:
            yield mutants.Mutant(f"{site.address:06x}", site.offset, site.word, NOP, site.lines[max(0, site.number - 6):site.number + 7])


if __name__ == "__main__":
    mutants.main("nop", "waitcheck", mutants_of)
