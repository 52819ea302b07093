"""Handlers for wavetap probe in Python: the events of wavetap/handler.h, after the fact.

    from wavetap.handler import Handler, feed

    class Stores(Handler):
        def dispatch_begin(self, event): self.bytes = 0
        def memory(self, event):
            if event.access == "store": self.bytes += event.bytes * len(event.addresses)
        def dispatch_end(self, event): print(event.kernel, self.bytes)

    feed(Stores(), "results/log.jsonl")

A C handler runs inside the probed program. Python does not: an interpreter in somebody's process, under somebody's lock,
would change what it observes. The handler `log` writes the events down instead (wavetap probe log -o results -- CMD), and
feed() tells them in the same order: those of a workgroup as they happened, workgroups one after the other in runs.
"""
import json

_METHODS = {"dispatch_begins": "dispatch_begin", "dispatch_ends": "dispatch_end", "wave": "wave", "block": "block",
            "memory": "memory", "barrier": "barrier", "message": "message"}


def _number(value):
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else value


class Event:
    """One event; attributes are the fields of its line (docs/probe.md), masks and addresses as numbers."""

    def __init__(self, fields):
        self.__dict__.update((key, _number(value)) for key, value in fields.items())

    @property
    def addresses(self):
        """{lane: address} of a memory event."""
        lanes = [lane for lane in range(64) if self.lanes >> lane & 1]
        listed = self.__dict__.get("address")
        if listed is not None:
            return {lane: _number(address) for lane, address in zip(lanes, listed)}
        return {lane: self.base + self.stride * (lane - lanes[0]) for lane in lanes}


class Handler:
    """What a handler may be told; those that a subclass leaves out cost nothing."""

    def dispatch_begin(self, event):
        pass

    def wave(self, event):
        pass

    def block(self, event):
        pass

    def memory(self, event):
        pass

    def barrier(self, event):
        pass

    def message(self, event):
        pass

    def dispatch_end(self, event):
        pass


def feed(handler, path):
    """Tells a handler every event of a log. Returns how many lines were damaged: a killed process leaves half a line."""
    wanted = {event: getattr(handler, method) for event, method in _METHODS.items()
              if getattr(type(handler), method) is not getattr(Handler, method)}
    damaged = 0
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                fields = json.loads(line)
                call = wanted.get(fields["event"])
            except (ValueError, KeyError, TypeError):
                damaged += 1
                continue
            if call is not None:
                call(Event(fields))
    return damaged
