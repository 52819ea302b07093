"""A suite on a target: finds its programs and cases, then runs the selection until the budget is spent."""
import hashlib
import os
import pathlib
import re
import time

from . import catalogue, datafile, selection
from .adapters import ADAPTERS
from .execution import Batch, Limits, Tally
from .process import Run, missing_library
from .roots import Machine, Skipped, architecture, default_environment, mount

# How long a program may take to print its cases.
LISTING_SECONDS = 1800
# A program that dies so often before its first case, one time after the other, is not started again.
DEAD_STARTS = 3
# What the kernel takes as one argument, less some.
ARGUMENT_BYTES = 120_000
# How many times the usual number of cases, and for how much longer, one process runs of a complete set: a program with
# two hundred thousand cases takes long to start.
COMPLETE_BATCHES = 40


def put(path, text):
    """Writes a file that other shards may read at the same time."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.replace(path)


class Session:
    """`options`: build, gpu_threads, gpu_seed, seed, shard, smoke, folder (where lists, logs and journals are)."""

    def __init__(self, suite, target, roots, options):
        self.suite, self.target, self.roots, self.options = suite, target, roots, options
        self.adapter = ADAPTERS[suite.adapter]
        self.dead_starts = {}
        self.unlisted = {}  # programs that did not say what cases they have -> why
        self.known = 0  # cases that are not left out, of all shards
        self.root = self._choose_root()
        self.scratch = pathlib.Path(options.folder) / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        mount(self.roots.path(self.root), [options.source, options.build, options.folder])
        roots.link(self.root, suite.links)
        # What stands for a program in journals: its path, and the label where one path has several entries.
        self.programs, self.paths, self.data = {}, {}, {}
        for program in suite.programs:
            for path in roots.programs(self.root, program.path):
                key = f"{path} {program.label}" if program.label else path
                self.programs[key], self.paths[key] = program, path
                if program.data:
                    self.data[key] = self._reduce(program.data)
        if not self.programs:
            raise Skipped(f"no test program in the {self.root} root matches {suite.programs[0].path}")

    def _choose_root(self):
        if self.target not in self.suite.targets:
            raise Skipped(f"the suite has nothing for {self.target}")
        if self.suite.hosts and architecture() not in self.suite.hosts:
            raise Skipped(f"Debian builds the packages for {', '.join(self.suite.hosts)} only, this machine is {architecture()}")
        reasons = []
        for root in catalogue.ROOTS:
            if root not in self.suite.packages:
                continue
            try:
                self.roots.need(root, self.suite.packages[root])
            except Skipped as reason:
                reasons.append(f"{root}: {reason}")
                continue
            built = catalogue.built_for(self.roots.controls(root), self.suite.packages[root])
            if built is None or self.target in built:
                return root
            reasons.append(f"{root}: the packages carry no code for {self.target}")
        raise Skipped("; ".join(reasons))

    def versions(self):
        return self.roots.versions(self.root, self.suite.packages[self.root])

    def command(self, key, arguments, **machine):
        program = self.programs[key]
        made = Machine(self.options.build, catalogue.MODELS[self.target], program.gpus,
                       self.options.gpu_threads, self.options.gpu_seed, self.options.gpu_jit, **machine)
        folder = program.folder or str(self.scratch)
        data = ["--data", str(self.data[key][0])] if key in self.data else []
        return made.inside(self.roots.path(self.root), self.paths[key], [*arguments, *data, *program.arguments], folder)

    def environment(self, key):
        # The run folder of `wavetap run` must have the same path inside the root as outside.
        return default_environment() | {"TMPDIR": str(self.scratch)} | self.programs[key].environment

    def _reduce(self, data):
        """A data file with some of the cases, and how many there are in all."""
        source = self.roots.programs(self.root, data["path"], executable=False)
        if not source:
            raise Skipped(f"no data file in the {self.root} root matches {data['path']}")
        parts = (source, data, self.options.seed, sorted(self.versions().items()))
        if self.options.complete:
            parts = (*parts, self.options.complete)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        kept = pathlib.Path(self.options.folder) / "data" / f"{self.suite.name}.{digest}"
        count = kept.with_name(kept.name + ".count")
        if not count.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            new = kept.with_name(f"{kept.name}.{os.getpid()}")
            total = datafile.reduce(f"{self.roots.path(self.root)}{source[0]}", new, data["categories"],
                                    data["per_group"], self.options.seed, self.options.complete)
            new.replace(kept)
            put(count, str(total))
        return kept, int(count.read_text())

    # --- Cases.

    def listed(self):
        """How many cases the programs have in all."""
        return sum(self.data[key][1] if key in self.data else len(self._list(key)) for key in self.programs)

    def cases(self, note=lambda done, total: None):
        """The (program, case) pairs of the shard, and those left out by the suite's file, with the reason.

        note(done, total) is called before a program is started only to list its cases, which may take long.
        """
        chosen, out = [], {}
        for place, (key, program) in enumerate(self.programs.items()):
            if self.adapter.listing and not self._kept_list(key).exists():
                note(place, len(self.programs))
            for case in self._list(key):
                why = catalogue.left_out(program, self.target, case)
                if self.options.complete and not re.search(self.options.complete, datafile.short_case(case)):
                    why = "not of the set"
                if why:
                    out[key, case] = why
                    continue
                self.known += 1
                if selection.in_shard(f"{key} {case}", *self.options.shard):
                    chosen.append((key, case))
        if self.unlisted and len(self.unlisted) == len(self.programs):
            raise Skipped(next(iter(self.unlisted.values())))
        return chosen, out

    def _kept_list(self, key):
        """Where the list of a program's cases is kept for later runs."""
        path = self.paths[key]
        target = "any" if getattr(self.adapter, "same_on_targets", False) else self.target
        digest = hashlib.sha256(repr((path, target, self.data.get(key), sorted(self.versions().items()))).encode()).hexdigest()[:16]
        return pathlib.Path(self.options.folder) / "lists" / f"{pathlib.Path(path).name}.{target}.{digest}"

    def _list(self, key):
        if self.adapter.listing is None:
            return [pathlib.Path(self.paths[key]).name]
        kept = self._kept_list(key)
        if key not in self.unlisted and not kept.exists():
            try:
                text = self._output(key)
            except Skipped as reason:
                self.unlisted[key] = str(reason)
                return []
            kept.parent.mkdir(parents=True, exist_ok=True)
            put(kept, "\n".join(self.adapter.parse_listing(text)))
        return kept.read_text().split("\n") if kept.exists() and kept.stat().st_size else []

    def _output(self, key):
        run = Run(self.command(key, self.adapter.listing), self.environment(key),
                  self.suite.memory_gib << 30, self.scratch)
        lines = []
        try:
            for now, line in run.lines():
                if line is not None:
                    lines.append(line)
                if now > LISTING_SECONDS:
                    raise Skipped(f"{key} did not list its cases within {LISTING_SECONDS} s")
        finally:
            run.close()
        missing = missing_library(run.status, lines)
        if missing:
            raise Skipped(f"{key}: {missing}")
        if run.status != 0:
            raise Skipped(f"{key} does not list its cases: {' '.join(lines[-3:])[:300]}")
        return "\n".join(lines)

    def _pattern(self, key):
        return self.programs[key].stratum or self.adapter.stratum

    def _size(self, key):
        return self.programs[key].size

    # --- Running.

    def run(self, chosen, journal, budget, progress):
        """Runs what the journal does not have until `budget` seconds are spent, earlier runs included."""
        tally, places = Tally(journal), {case: place for place, case in enumerate(chosen)}
        deadline = time.monotonic() + budget - journal.seconds
        # A complete set is run in its own order, many cases in one process.
        short = self.options.smoke and len(self.programs) > 1
        rounds = [chosen] if self.options.complete else selection.order(chosen, self.options.seed, self._pattern, self._size, short)
        more = COMPLETE_BATCHES if self.options.complete and self.suite.batch_cases > 1 else 1
        for cases in rounds:
            todo = [case for case in cases if case not in journal.cases]
            for batch in selection.batches(todo, self.suite.batch_seconds * more, tally.mean, places, self.suite.batch_cases * more):
                if time.monotonic() > deadline:
                    return
                self._run_batch(batch, journal, tally, deadline)
                progress(self, journal)

    def _selecting(self, key, names):
        """Arguments that run these cases. A list that is too long for a command line is said in patterns."""
        if not self.adapter.listing:
            return []
        arguments = self.adapter.selecting(names)
        if max(map(len, arguments)) <= ARGUMENT_BYTES or not getattr(self.adapter, "patterns", False):
            return arguments
        return self.adapter.selecting(selection.patterns(names, self._list(key)))

    def _run_batch(self, batch, journal, tally, deadline):
        key, names = batch[0][0], [name for _, name in batch]
        limits = Limits(self.suite.case_seconds * self.options.patience, self.suite.start_seconds * self.options.patience,
                        self.suite.memory_gib << 30)

        def record(name, status, seconds, detail):
            journal.add(key, name, status, seconds, detail)
            tally.add(key, seconds)

        log_path = pathlib.Path(self.options.folder) / "logs" / f"{self.suite.name}.{self.target}.log"
        log_path.parent.mkdir(parents=True, exist_ok=True)
        while names and time.monotonic() < deadline and self.dead_starts.get(key, 0) < DEAD_STARTS:
            started, before = time.monotonic(), len(names)
            arguments = self._selecting(key, names)
            with open(log_path, "w") as log:
                batch = Batch(self.command(key, arguments), self.environment(key), self.scratch, limits,
                              self.adapter, names, record, log, deadline)
                names = batch.run()
            self.dead_starts[key] = 0 if batch.begun or self.adapter.listing is None else self.dead_starts.get(key, 0) + 1
            journal.spend(time.monotonic() - started)
            if len(names) == before:
                return
