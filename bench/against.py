"""run.py --against OTHER: is this build slower than another one, of an earlier commit say?

The two are measured in turn, in one run on one machine: first the one, then the other, then the other and the one again,
so that whatever else the machine does meets both. Of all rounds the best of each counts. Programs that are measured
are this build's for both; only wavetap and its libraries differ. A ratio above 1 says that this build is faster.
"""
import math
import os
import pathlib
import shutil
import tempfile

from recorder.measure import numbers
from support import run, table

ENOUGH = 0.97


class Side:
    """One build, and the best time of each measure."""

    def __init__(self, build, programs):
        self.build, self.programs = build.resolve(), programs.resolve()
        self.best = {}

    def note(self, name, seconds):
        self.best[name] = min(self.best.get(name, float("inf")), seconds)

    def recorded_calls(self, folder, total):
        for label, function, options in (("stopped", "plain", "paused"), ("recorded", "plain", ""),
                                         ("with arguments", "args", "args")):
            session = pathlib.Path(tempfile.mkdtemp(dir=folder))
            environment = dict(os.environ, LD_PRELOAD=str(self.build / "lib/libwavetap.so"), WAVETAP_SESSION=str(session),
                               WAVETAP_OPTIONS=options, XDG_RUNTIME_DIR=str(folder))
            measured = numbers(run([self.programs / "recorder/calls", 1, total, function], env=environment))
            self.note(f"recorder: a call, {label}", measured["cpu"])
            shutil.rmtree(session)

    def launches(self, folder):
        measured = numbers(run([self.build / "bin/wavetap", "run", "--gpu", "rx6800xt", "-o", folder / "launches.rpd", "--",
                                self.programs / "hip/bench_launches"]))
        self.note("recorder: a launch", measured["launch"])

    def instructions(self, model):
        said = run([self.build / "bin/wavetap", "run", "--gpu", model, "--no-trace", "--gpu-threads", "1", "--",
                    self.programs / "hip/bench_instructions"])
        for line in said.splitlines():
            name, count, seconds, _ = line.split()
            self.note(f"engine: {model}: {name}", float(seconds) / float(count))

    def kernels(self, model):
        said = run([self.build / "bin/wavetap", "run", "--gpu", model, "--no-trace", "--", self.programs / "hip/bench_compare"])
        for line in said.splitlines():
            name, seconds = line.split()
            self.note(f"engine: {model}: {name}", float(seconds))


def measure(sides, models, rounds, quick):
    with tempfile.TemporaryDirectory(prefix="wt-against-") as folder:
        folder = pathlib.Path(folder)
        for number in range(rounds):
            order = sides if number % 2 == 0 else sides[::-1]
            for side in order:
                side.recorded_calls(folder, 200_000 if quick else 1_000_000)
                side.launches(folder)
                for model in models:
                    side.instructions(model)
                    side.kernels(model)
            print(f"  round {number + 1} of {rounds}", flush=True)


def mean_ratio(ratios):
    """Geometric: a measure twice as fast and one half as fast make 1."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def compare(build, other, models, quick):
    """Prints the ratios; False when recorder or engine is slower than ENOUGH allows."""
    ours, theirs = Side(build, build / "bin"), Side(other, build / "bin")
    print(f"\n{build} against {other}, in turn\n")
    measure([ours, theirs], models, 2 if quick else 6, quick)
    ratios = {name: theirs.best[name] / ours.best[name] for name in ours.best}
    rows = [[name, f"{ratio:.3f}"] for name, ratio in ratios.items()]
    results = {"measures": ratios}
    good = True
    for part in ("recorder", "engine"):
        results[part] = mean_ratio([ratio for name, ratio in ratios.items() if name.startswith(part)])
        rows.append([f"{part}, all together", f"{results[part]:.3f}"])
        good &= results[part] >= ENOUGH
    print()
    table(["", "times as fast"], rows)
    print(f"  {'no slower' if good else 'SLOWER'} (at least {ENOUGH} is asked for)")
    return good, results
