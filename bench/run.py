#!/usr/bin/env python3
"""make bench: measures the virtual GPU and the recorder, and prints one table per question, as ratios where there is a floor.

  run.py --build BUILD [--gpu rx6800xt --gpu mi210] [--json FILE] [--quick] [--only engine|recorder|analysis|micro]
  run.py --build BUILD --against OTHER     recorder and engine of two builds, measured in turn (against.py); exit status 1
                                           when BUILD is the slower one

1. How fast is the engine? Loops of one instruction, on one host thread and on all (instructions.hip).
2. How does it compare with native code? The same kernels from one source, interpreted, compiled, and on PoCL
   (compare.hip, compare_opencl.c, kernels.inc); the matrix product by OpenBLAS (compare_blas.c).
3. What does compiling hot code bring? Whole kernels with --gpu-jit on and off, by processor time (whole.hip). And what does
   it cost: until the first launch is over, in memory, and in the second run of a program? (compiling.py)
4. What does it cost when nobody uses it? (idle.hip) And what does watching cost: the tools of wavetap sanitize, the
   handlers of wavetap probe, counters with caches? (watching.py, sanitize.hip) What do instrumented kernels tell, in how many
   bytes? (records.py) And capturing? (capturing.py)
5. What does recording cost, beside LTTng-UST? (recorder/)
6. How fast are the answers? Commands on a large trace against plain Python (analysis/measure.py).
7. The micro-benchmarks beside the sources (*_bench), as they are.

Only ratios of one run on one machine mean anything; absolute times are printed to be read beside them.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import against
import capturing
import compiling
import records
import watching
from recorder import measure
from support import run, table

BENCH = pathlib.Path(__file__).resolve().parent
# Arrays that each of STREAM's kernels reads or writes.
STREAM_ARRAYS = {"stream_copy": 2, "stream_scale": 2, "stream_add": 3, "stream_triad": 3}


def rate(value):
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.1f} {unit}/s"
    return f"{value:.1f} /s"


class Bench:
    def __init__(self, build, quick):
        self.build, self.quick = build, quick
        self.results = {"cores": os.cpu_count()}

    def on_gpu(self, model, program, *options):
        return run([self.build / "bin/wavetap", "run", "--gpu", model, "--no-trace", *options, "--",
                    self.build / "bin/hip" / program])

    def instructions(self, model):
        print(f"\nWave instructions per second, {model}\n")
        measured = {}
        for label, threads in (("one", 1), ("all", 0)):
            for line in self.on_gpu(model, "bench_instructions", "--gpu-threads", threads).splitlines():
                name, count, seconds, wave = line.split()
                measured.setdefault(name, {"wave": int(wave)})[label] = float(count) / float(seconds)
        def lanes(name, m, label):
            return "-" if name == "scalar" else rate(m[label] * m["wave"])
        rows = [[name, rate(m["one"]), lanes(name, m, "one"), rate(m["all"]), lanes(name, m, "all"),
                 f"{m['all'] / m['one']:.2f}x"] for name, m in measured.items()]
        wave = next(iter(measured.values()))["wave"]
        table(["instruction", "one core", "lanes", f"all {os.cpu_count()} cores", "lanes", "scaling"], rows)
        print(f"  (waves of {wave} lanes, all active; lanes: operations of single lanes)")
        self.results[f"instructions.{model}"] = measured

    def compare(self, models):
        print("\nThe same kernels, one source: virtual GPU, interpreted and compiled, against PoCL's native code\n")
        def times(command):
            return {name: float(seconds) for name, seconds in map(str.split, command.splitlines())}
        def optional(program, *arguments):
            path = self.build / "bin" / program
            return times(run([path, *arguments])) if path.exists() else {}
        native, tuned = optional("compare_opencl", BENCH / "kernels.inc"), optional("compare_blas")
        rows = []
        for model in models:
            modes = {mode: times(self.on_gpu(model, "bench_compare", "--gpu-jit", mode)) for mode in ("off", "on")}
            for name, seconds in modes["on"].items():
                arrays = STREAM_ARRAYS.get(name)
                shown = f"STREAM {name.removeprefix('stream_')}, {arrays} x 64 MiB" if arrays else "512^3 f32 matmul, LDS tiles"
                speed = f"{arrays * 64 * 2**20 / seconds / 1e9:.1f} GB/s" if arrays else f"{2 * 512**3 / seconds / 1e9:.1f} GFLOP/s"
                floor = native.get(name)
                rows.append([shown, model, f"{modes['off'][name]:.3f} s", f"{seconds:.3f} s", speed,
                             f"{floor:.4f} s" if floor else "-", f"{seconds / floor:.2f}x" if floor else "-"])
                self.results[f"{name}.{model}"] = {"interpreted_seconds": modes["off"][name], "seconds": seconds,
                                                   "native_seconds": floor}
            if tuned:
                share = tuned["matmul"] / modes["on"]["matmul"]
                print(f"  512^3 f32 matmul by OpenBLAS: {1e3 * tuned['matmul']:.2f} ms; {model} reaches {100 * share:.1f} % of its speed")
                self.results[f"openblas.{model}"] = {"seconds": tuned["matmul"], "share": share}
        table(["kernel", "GPU", "interpreted", "compiled", "rate", "PoCL", "compiled / PoCL"], rows)
        if not native:
            print("  PoCL is not installed (packages pocl-opencl-icd, ocl-icd-opencl-dev): no floor")
        if not tuned:
            print("  OpenBLAS is not installed (package libopenblas-dev)")

    def compiled(self, model):
        """Whole kernels, interpreted and compiled: the engine's processor time, and the same results."""
        print(f"\nCompiled against interpreted: whole kernels, one engine thread, {model}\n")
        def times(mode):
            lines = self.on_gpu(model, "bench_whole", "--gpu-threads", 1, "--gpu-jit", mode).splitlines()
            return {name: (float(seconds), checksum) for name, seconds, checksum in map(str.split, lines)}
        plain, native = times("off"), times("on")
        ratios = {name: plain[name][0] / native[name][0] for name in plain}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        rows = [[name, f"{1e3 * plain[name][0]:.1f} ms", f"{1e3 * native[name][0]:.1f} ms", f"{ratio:.2f}x",
                 "yes" if plain[name][1] == native[name][1] else "NO"] for name, ratio in ratios.items()]
        table(["kernel", "interpreted", "compiled", "faster by", "same result"], rows)
        print(f"  geometric mean {mean:.2f}x")
        self.results[f"compiled.{model}"] = {**ratios, "geometric_mean": mean}

    def compiling(self, model):
        print(f"\nCompiling: what it costs a program, {model}\n")
        self.results[f"compiling.{model}"] = compiling.measure(self.build, model, 3 if self.quick else 7)

    def probes(self, model):
        """The comparison kernels under each handler of wavetap probe: times of the same run, without a probe and with."""
        print(f"\nProbes: the kernels' time by handler, {model}; goals: memory 3x, blocks 1.5x\n")
        command = [self.build / "bin/wavetap", "probe", None, "--gpu", model, "--", self.build / "bin/hip/bench_compare"]
        def times(text):
            return {name: float(seconds) for name, seconds in (line.split() for line in text.splitlines())}
        plain = times(self.on_gpu(model, "bench_compare"))
        rows = []
        for handler in ["blocks", "instructions", "memory", "values", "heatmap"]:
            command[2] = handler
            probed = times(run(command))
            slower = {name: probed[name] / plain[name] for name in plain}
            rows.append([handler] + [f"{slower[name]:.2f}x" for name in plain])
            self.results[f"probe.{handler}.{model}"] = slower
        table(["handler", *plain], rows)

    def watching(self, model):
        print(f"\nWatching: processor time of kernels by who watches them, times the plain engine, {model}\n")
        self.results[f"watching.{model}"] = watching.measure(self.build, model, 1 if self.quick else 3)

    def records(self, model):
        print(f"\nRecords of instrumented kernels, {model}: processor time of kernels, times the plain engine\n")
        self.results[f"records.{model}"] = records.measure(self.build, model)

    def capturing(self, model):
        print(f"\nCapturing: processor time, {model}\n")
        self.results[f"capturing.{model}"] = capturing.measure(self.build, model, 1 if self.quick else 3)

    def idle(self, model):
        print("\nIdle: a process asleep with open queues\n")
        cpu, wall, queues = map(float, self.on_gpu(model, "bench_idle").split()[1:])
        print(f"  {100 * cpu / wall:.2f} % of one core with {queues:.0f} streams open on {model}")
        self.results["idle"] = {"cpu_seconds": cpu, "wall_seconds": wall, "queues": queues}

    def memory(self, model):
        """Peak of the process that runs both comparison kernels; wait4 reports the largest descendant."""
        print("\nMemory: peak of the process that runs the 512^3 matmul and STREAM\n")
        child = subprocess.Popen([self.build / "bin/wavetap", "run", "--gpu", model, "--no-trace", "--",
                                  self.build / "bin/hip/bench_compare"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"bench_compare: status {child.returncode}")
        peak, own = usage.ru_maxrss / 1024, 2 * 3 * 64  # STREAM's arrays, on the host and on the device
        print(f"  {peak:.0f} MiB; the program's own data is {own} MiB, so the rest is {peak - own:.0f} MiB")
        self.results["memory"] = {"peak_mib": peak, "own_mib": own}

    def recorder(self):
        if not (self.build / "bin/recorder/calls").exists():
            print("\nThe recorder: left out, there are no HIP headers")
            return
        recorder = measure.Recorder(self.build, self.quick)
        try:
            recorder.all()
        finally:
            recorder.close()
            self.results["recorder"] = recorder.results

    def analysis(self):
        print("\nAnswers: reports, analyses and exports of a large trace, against plain Python+SQLite", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            numbers = pathlib.Path(folder) / "numbers.json"
            rows = 100_000 if self.quick else 1_000_000
            done = subprocess.run([sys.executable, BENCH / "analysis/measure.py", "--build", self.build, "--json", numbers,
                                   "--rows", str(rows)], check=False)
            if done.returncode != 0:
                raise RuntimeError("analysis/measure.py failed")
            self.results["analysis"] = json.loads(numbers.read_text())

    def micro(self):
        programs = sorted((self.build / "bin").glob("*_bench"))
        for program in programs:
            print(f"\nMicro-benchmarks: {program.name}\n")
            options = ["--benchmark_format=json"]
            if self.quick:
                options.append("--benchmark_min_time=0.05")
            data = json.loads(run([program, *options]))
            rows = []
            for item in data["benchmarks"]:
                if item.get("run_type") == "aggregate" or item.get("error_occurred"):
                    continue
                per_second = item.get("items_per_second") or item.get("bytes_per_second")
                rows.append([item["name"], f"{item['real_time']:.1f} {item['time_unit']}",
                             rate(per_second) if per_second else ""])
            table(["benchmark", "time", "rate"], rows)
            self.results[f"micro.{program.name}"] = data["benchmarks"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=BENCH.parent / "build")
    parser.add_argument("--gpu", action="append", help="models to measure; default rx6800xt and mi210")
    parser.add_argument("--json", type=pathlib.Path, help="also write every number here")
    parser.add_argument("--quick", action="store_true", help="shorter micro-benchmarks")
    parser.add_argument("--only", choices=["engine", "recorder", "analysis", "micro"], help="one part: questions 1 to 3, 4, 5 or 6")
    parser.add_argument("--against", type=pathlib.Path, metavar="OTHER", help="compare with another build folder instead")
    arguments = parser.parse_args()
    models = arguments.gpu or ["rx6800xt", "mi210"]
    bench = Bench(arguments.build.resolve(), arguments.quick)
    failed = False
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load average {load:.1f}"
          + (": the machine is busy, expect low and uneven numbers" if load > 0.5 * os.cpu_count() else ""))
    if arguments.against:
        good, bench.results["against"] = against.compare(bench.build, arguments.against.resolve(), models, arguments.quick)
        if arguments.json:
            arguments.json.write_text(json.dumps(bench.results, indent=2) + "\n")
        sys.exit(0 if good else 1)
    engine = [lambda model=model: bench.instructions(model) for model in models]
    engine += [lambda: bench.compare(models), *(lambda model=model: bench.compiled(model) for model in models),
               lambda: bench.compiling(models[0]), lambda: bench.probes(models[0]),
               lambda: bench.watching(models[0]), *(lambda model=model: bench.records(model) for model in models),
               lambda: bench.memory(models[0]), lambda: bench.capturing(models[0]), lambda: bench.idle(models[0])]
    parts = {"engine": engine, "recorder": [bench.recorder], "analysis": [bench.analysis], "micro": [bench.micro]}
    for step in [step for name, steps in parts.items() if arguments.only in (None, name) for step in steps]:
        try:
            step()
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            print(f"  wavetap: error: {error}", file=sys.stderr)
            failed = True
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=2) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
