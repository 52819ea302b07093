"""A suite on a target: finds its programs and cases, then runs the selection until the budget is spent."""
import hashlib
import pathlib
import time

from . import catalogue, selection
from .adapters import ADAPTERS
from .execution import Batch, Limits, Tally
from .process import Run
from .roots import Machine, Skipped, default_environment, mount

# How long a program may take to print its cases.
LISTING_SECONDS = 900


class Session:
    """`options`: build, gpu_threads, gpu_seed, seed, shard, folder (where lists, logs and journals are)."""

    def __init__(self, suite, target, roots, options):
        self.suite, self.target, self.roots, self.options = suite, target, roots, options
        self.adapter = ADAPTERS[suite.adapter]
        self.root = self._choose_root()
        self.scratch = pathlib.Path(options.folder) / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        mount(self.roots.path(self.root), [options.source, options.build, options.folder])
        self.programs = {path: program for program in suite.programs
                         for path in roots.programs(self.root, program.path)}
        if not self.programs:
            raise Skipped(f"no test program in the {self.root} root matches {suite.programs[0].path}")

    def _choose_root(self):
        if self.target not in self.suite.targets:
            raise Skipped(f"the suite has nothing for {self.target}")
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

    def command(self, path, arguments, **machine):
        program = self.programs[path]
        made = Machine(self.options.build, catalogue.MODELS[self.target], program.gpus,
                       self.options.gpu_threads, self.options.gpu_seed, **machine)
        folder = program.folder or str(self.scratch)
        return made.inside(self.roots.path(self.root), path, [*arguments, *program.arguments], folder)

    def environment(self, path):
        # The run folder of `wavetap run` must have the same path inside the root as outside.
        return default_environment() | {"TMPDIR": str(self.scratch)} | self.programs[path].environment

    # --- Cases.

    def cases(self):
        """All (program, case) pairs, and those left out by the suite's file, with the reason."""
        chosen, out = [], {}
        for path, program in self.programs.items():
            for case in self._list(path):
                why = catalogue.left_out(program, self.target, case)
                if why:
                    out[path, case] = why
                elif selection.in_shard(f"{path} {case}", *self.options.shard):
                    chosen.append((path, case))
        return chosen, out

    def _list(self, path):
        if self.adapter.listing is None:
            return [pathlib.Path(path).name]
        key = hashlib.sha256(repr((path, self.target, sorted(self.versions().items()))).encode()).hexdigest()[:16]
        kept = pathlib.Path(self.options.folder) / "lists" / f"{pathlib.Path(path).name}.{self.target}.{key}"
        if not kept.exists():
            text = self._output(path)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text("\n".join(self.adapter.parse_listing(text)))
        return kept.read_text().split("\n") if kept.stat().st_size else []

    def _output(self, path):
        run = Run(self.command(path, self.adapter.listing), self.environment(path),
                  self.suite.memory_gib << 30, self.scratch)
        lines = []
        try:
            for now, line in run.lines():
                if line is not None:
                    lines.append(line)
                if now > LISTING_SECONDS:
                    raise Skipped(f"{path} did not list its cases within {LISTING_SECONDS} s")
        finally:
            run.close()
        if run.status != 0:
            raise Skipped(f"{path} does not list its cases: {' '.join(lines[-3:])[:300]}")
        return "\n".join(lines)

    def _pattern(self, path):
        return self.programs[path].stratum or self.adapter.stratum

    # --- Running.

    def run(self, chosen, journal, budget, progress):
        """Runs what the journal does not have until `budget` seconds are spent, earlier runs included."""
        tally = Tally(journal)
        deadline = time.monotonic() + budget - journal.seconds
        for cases in selection.order(chosen, self.options.seed, self._pattern):
            todo = [case for case in cases if case not in journal.cases]
            for batch in selection.batches(todo, self.suite.batch_seconds, tally.mean):
                if time.monotonic() > deadline:
                    return
                self._run_batch(batch, journal, tally, deadline)
                progress(self, journal)

    def _run_batch(self, batch, journal, tally, deadline):
        path, names = batch[0][0], [name for _, name in batch]
        limits = Limits(self.suite.case_seconds, self.suite.start_seconds, self.suite.memory_gib << 30)

        def record(name, status, seconds, detail):
            journal.add(path, name, status, seconds, detail)
            tally.add(path, seconds)

        log_path = pathlib.Path(self.options.folder) / "logs" / f"{self.suite.name}.{self.target}.log"
        log_path.parent.mkdir(parents=True, exist_ok=True)
        while names and time.monotonic() < deadline:
            started, before = time.monotonic(), len(names)
            arguments = self.adapter.selecting(names) if self.adapter.listing else []
            with open(log_path, "w") as log:
                names = Batch(self.command(path, arguments), self.environment(path), self.scratch, limits,
                              self.adapter, names, record, log, deadline).run()
            journal.spend(time.monotonic() - started)
            if len(names) == before:
                return
