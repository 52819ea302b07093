"""What compiling hot code costs a program: the time of its first launch, memory, and what its second run still compiles."""
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from support import table

MIB = 1024  # of ru_maxrss's KiB


class Program:
    def __init__(self, build, model, cache):
        self.build, self.model = build, model
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.objects = pathlib.Path(cache) / "wavetap/jit"

    def run(self, mode, program, *arguments):
        """Seconds, seconds of processor time, and the peak of the process in MiB: wait4 reports the largest descendant."""
        begin = time.monotonic()
        child = subprocess.Popen([self.build / "bin/wavetap", "run", "--gpu", self.model, "--no-trace", "--gpu-jit", mode, "--",
                                  self.build / "bin/hip" / program, *arguments], stdout=subprocess.DEVNULL,
                                 env=self.environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{program}: status {child.returncode}")
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB

    def compiled(self):
        return {path.name for path in self.objects.rglob("*") if path.is_file()}


def measure(build, model, repetitions):
    results, rows = {}, []
    seconds, peak = {"off": [], "on": []}, {}
    for _ in range(repetitions):
        # In turn, as machines are not equally quick all the time.
        for mode in seconds:
            # Nothing is there from a run before.
            with tempfile.TemporaryDirectory() as cache:
                seconds[mode].append(Program(build, model, cache).run(mode, "example_saxpy")[:2])
    for mode, times in seconds.items():
        results[f"first_launch_seconds.{mode}"] = statistics.median(wall for wall, _ in times)
        results[f"first_launch_best_seconds.{mode}"] = min(wall for wall, _ in times)
        results[f"first_launch_processor_seconds.{mode}"] = min(processor for _, processor in times)
    with tempfile.TemporaryDirectory() as cache:
        program = Program(build, model, cache)
        for mode in seconds:
            peak[mode] = program.run(mode, "bench_compare")[2]
            results[f"peak_mib.{mode}"] = peak[mode]
        before = program.compiled()
        program.run("on", "bench_whole", "matmul_tiled")
        first = program.compiled() - before
        program.run("on", "bench_whole", "matmul_tiled")
        second = program.compiled() - before - first
        results["compiled.first_run"], results["compiled.second_run"] = len(first), len(second)
    def milliseconds(what):
        return [f"{1e3 * results[f'{what}.{mode}']:.0f} ms" for mode in seconds]
    rows.append(["saxpy, once, nothing compiled before: median", *milliseconds("first_launch_seconds")])
    rows.append(["  the best run", *milliseconds("first_launch_best_seconds")])
    rows.append(["  processor time, all threads, least", *milliseconds("first_launch_processor_seconds")])
    rows.append(["peak of 512^3 matmul and STREAM", f"{peak['off']:.0f} MiB", f"{peak['on']:.0f} MiB"])
    table(["", "interpreted", "compiled"], rows)
    later = results["first_launch_best_seconds.on"] - results["first_launch_best_seconds.off"]
    print(f"  first launch: {1e3 * later:+.0f} ms with compiling, best against best (goal: no later)")
    print(f"  memory for compiling: {peak['on'] - peak['off']:+.0f} MiB (goal: +100 at most); blocks compiled by the first run of a kernel:"
          f" {len(first)}, by the second: {len(second)}")
    return results
