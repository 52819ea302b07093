"""Runs batches of cases and writes what became of each into the journal."""
import re
import time

from .journal import FAILED, PASSED, SKIPPED, SLOW
from .process import Run, describe_status, missing_library

# Lines kept of what a case printed.
DETAIL_LINES = 12


class Limits:
    def __init__(self, case_seconds, start_seconds, memory_bytes):
        self.case_seconds, self.start_seconds, self.memory_bytes = case_seconds, start_seconds, memory_bytes


class Batch:
    """One process that runs `names`. Cases that end are reported by `record(name, status, seconds, detail)`.

    run() returns the cases that the process did not get to: after a crash or a case that took too long the caller
    starts another one for them. `deadline` is on time.monotonic()'s clock.
    """

    def __init__(self, command, environment, folder, limits, adapter, names, record, log, deadline):
        self.command, self.environment, self.folder, self.limits = command, environment, folder, limits
        self.reader, self.record, self.log, self.deadline = adapter.reader(), record, log, deadline
        self.whole_program = adapter.listing is None
        self.announces = getattr(adapter, "announces", True)
        self.waiting = list(names)
        self.current, self.since, self.begun = None, 0.0, False
        self.output = []
        self.ended_by = None  # why we ended it: "slow", "memory", "budget"

    def run(self):
        run = Run(self.command, self.environment, self.limits.memory_bytes, self.folder)
        try:
            for now, line in run.lines():
                if line is not None:
                    self.log.write(line + "\n")
                    self.take(now, line)
                self.ended_by = self.overdue(now, run)
                if self.ended_by:
                    run.stop()
                    break
            if not self.ended_by and run.out_of_memory():
                self.ended_by = "memory"
            status = run.status
        finally:
            run.close()
        return self.finish(status, time.monotonic() - run.started)

    def take(self, now, line):
        self.output = (self.output + [line])[-200:]
        for event in self.reader.feed(line):
            if event[0] == "start":
                self.begin(event[1], now)
            elif event[0] == "end":
                self.end(event[1], event[2], event[3], now)

    def begin(self, name, now):
        self.current, self.since, self.begun, self.output = name, now, True, []

    def end(self, name, status, seconds, now):
        took = now - self.since if seconds is None else seconds
        self.record(name, status, took, self.detail() if status == FAILED else "")
        if name in self.waiting:
            self.waiting.remove(name)
        self.current, self.since, self.begun, self.output = None, now, True, []

    def detail(self):
        lines = [line.rstrip()[:300] for line in self.output if line.strip() and "[  FAILED  ]" not in line]
        # Programs that say much about themselves come to the point late.
        first = next((place for place, line in enumerate(lines) if re.search(r": Failure$|\berror\b", line)), 0)
        return "\n".join(lines[min(first, max(0, len(lines) - DETAIL_LINES)):][:DETAIL_LINES])

    def overdue(self, now, run):
        if time.monotonic() > self.deadline:
            return "budget"
        if now - self.since > (self.limits.case_seconds if self.begun or self.whole_program else self.limits.start_seconds):
            return "slow"
        return "memory" if run.memory.folder is None and run.out_of_memory() else None

    def finish(self, status, seconds):
        """What became of the case in flight; returns those that are still to run."""
        missing = None if self.ended_by else missing_library(status, self.output)
        if missing:
            for name in self.waiting:
                self.record(name, SKIPPED, 0.0, missing)
            return []
        if self.whole_program:
            return self.finish_program(status, seconds)
        if self.ended_by == "budget":
            return []
        name = self.current
        if name is None and self.waiting and (self.ended_by or status != 0) and not (self.begun and self.announces):
            name = self.waiting[0]  # it did not even start, or does not say what it is at
        if name is None:
            # It ended well, or between two cases. What it did not mention it did not run.
            if status == 0 or not self.waiting:
                for rest in self.waiting:
                    self.record(rest, SKIPPED, 0.0, "the program did not run it")
                return []
            return self.waiting if self.begun else []
        self.record_stopped(name, status, seconds - self.since)
        return [other for other in self.waiting if other != name]

    def record_stopped(self, name, status, seconds):
        if self.ended_by == "slow":
            self.record(name, SLOW, seconds, "")
        elif self.ended_by == "memory":
            self.record(name, SLOW, seconds, "needs more memory than the limit")
        else:
            self.record(name, FAILED, seconds, f"{describe_status(status)}\n{self.detail()}")

    def finish_program(self, status, seconds):
        name = self.waiting[0]
        if self.ended_by == "budget":
            return []
        if self.ended_by:
            self.record_stopped(name, status, seconds)
            return []
        verdict = self.reader.verdict(status)
        detail = f"{describe_status(status)}\n" + "\n".join(self.output[-DETAIL_LINES:]) if verdict == FAILED else ""
        self.record(name, verdict, seconds, detail)
        return []


class Tally:
    """Mean time of a program's cases so far, for planning batches."""

    def __init__(self, journal):
        self.seconds, self.count = {}, {}
        for entry in journal.cases.values():
            self.add(entry["program"], entry["seconds"])

    def add(self, program, seconds):
        self.seconds[program] = self.seconds.get(program, 0.0) + seconds
        self.count[program] = self.count.get(program, 0) + 1

    def mean(self, program):
        return self.seconds[program] / self.count[program] if program in self.count else None


__all__ = ["Batch", "Limits", "Tally", "PASSED", "FAILED", "SLOW", "SKIPPED"]
