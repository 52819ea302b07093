#!/usr/bin/env python3
"""A handler in Python: how many pages of 4 KiB each dispatch loads from and stores to.

  wavetap probe log -o results -- ./my_hip_program
  python3 pages_by_kernel.py results/log.jsonl
"""
import sys

from wavetap.handler import Handler, feed


class Pages(Handler):
    def __init__(self):
        self.pages = {}

    def dispatch_begin(self, event):
        self.pages[event.dispatch] = {"load": set(), "store": set()}

    def memory(self, event):
        if event.space == "global" and event.access in ("load", "store") and event.lanes:
            self.pages[event.dispatch][event.access].update(address >> 12 for address in event.addresses.values())

    def dispatch_end(self, event):
        pages = self.pages.pop(event.dispatch)
        print(f"{event.kernel}: {len(pages['load'])} pages loaded, {len(pages['store'])} pages stored")


if __name__ == "__main__":
    damaged = feed(Pages(), sys.argv[1])
    if damaged:
        print(f"{damaged} lines could not be read", file=sys.stderr)
