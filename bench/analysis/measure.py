#!/usr/bin/env python3
"""How long do the answers take? Commands on generated traces, beside plain Python+SQLite versions of the same.

  measure.py [--build BUILD] [--rows 1000000]… [--threads 8]… [--no-reference] [--json FILE]

For each size and thread count: make the trace (make_trace.cc), run every command several times and keep the best, run
the Python version (reference.py) once, show the HTML report in Chromium; print seconds, seconds of CPU (which say more
on a machine others use), peak memory and the ratio. Where both give the same number it is compared, so that a fast
wrong answer does not count. `make bench` runs one million rows; ten million and 256 threads:
  measure.py --rows 1000000 --rows 10000000 --threads 8 --threads 256
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests/web"))
import browser  # noqa: E402
import cost  # noqa: E402


class Failure(RuntimeError):
    pass


def timed(command):
    """Seconds, seconds of CPU, peak MiB and output of a command."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise Failure(f"{' '.join(map(str, command))}: status {child.returncode}: {errors.decode().strip()[-300:]}")
        output.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.read()

# What both sides must agree on: (name in the reference's result, the same from wavetap's --json).
CHECKS = {
    "report": [("dispatches", lambda j: j["facts"]["dispatches"]),
               ("busy_ns", lambda j: sum(gpu["busy_ns"] for gpu in j["tables"]["gpus"])),
               ("top_kernel_ns", lambda j: j["tables"]["kernels"][0]["total_ns"])],
    "callstack": [("names", lambda j: j["truncated"]["calls"]),
                  ("most_inclusive_ns", lambda j: j["tables"]["calls"][0]["cpu_inclusive_ns"])],
    "autograd": [("operators", lambda j: j["facts"]["operators"]), ("kernels", lambda j: j["truncated"]["kernels"])],
    "graph": [("launches", lambda j: sum(row["launches"] for row in j["tables"]["graphs"]))],
}


# Those of reference.py that write a file.
WRITERS = ("chrome", "trim", "merge")


def print_row(name, *cells):
    print("  " + name.ljust(16) + "".join(cell.rjust(11) for cell in cells), flush=True)


class Measure:
    def __init__(self, build, folder, repeat):
        self.tool, self.maker = build / "bin/wavetap", build / "bin/bench_make_trace"
        self.folder, self.repeat, self.results = folder, repeat, []

    def trace(self, rows, threads, rank=0, counters=0):
        path = self.folder / f"t{rows}x{threads}r{rank}c{counters}.rpd"
        if not path.exists():
            timed([self.maker, path, rows, threads, rank, counters])
        return path

    def best(self, make_command):
        runs = []
        for _ in range(self.repeat):
            runs.append(timed(make_command()))
        return min(runs, key=lambda run: run[0])

    def new_file(self, suffix):
        path = self.folder / f"out{suffix}"
        path.unlink(missing_ok=True)
        return path

    def parts(self, rows, threads):
        return [self.trace(rows // 8, threads, rank) for rank in range(8)]

    def commands(self, trace, rows, threads):
        """(what, command maker, name in reference.py or None)"""
        tool, out = self.tool, self.new_file
        yield "report", lambda: [tool, "report", trace, "--json"], "report"
        for name in ("callstack", "autograd", "graph", "variability"):
            yield name, lambda name=name: [tool, "analyze", name, trace, "--json"], name
        # A quarter of the calls launch a kernel, with ten counters each: as many dispatches as the others have calls.
        counted = self.trace(4 * rows, threads, counters=10)
        yield "profile", lambda: [tool, "profile", counted, "--gpu", "mi210", "--json"], None
        yield "chrome", lambda: [tool, "export", "--format", "chrome", trace, "-o", out(".json")], "chrome"
        for name, suffix in (("perfetto", ".pftrace"), ("html", ".html"), ("jsonl", ".jsonl"), ("folded", ".folded")):
            yield name, lambda name=name, suffix=suffix: [tool, "export", "--format", name, trace, "-o", out(suffix)], None
        yield "trim 25-50 %", lambda: [tool, "trim", trace, "--start", "25%", "--end", "50%", "-o", out(".rpd")], "trim"
        yield "merge of 8", lambda: [tool, "merge", *self.parts(rows, threads), "-o", out(".rpd")], "merge"

    def run(self, rows, threads, reference):
        trace = self.trace(rows, threads)
        print(f"\nA trace of {rows:,} calls by {threads} threads, {trace.stat().st_size >> 20} MiB\n")
        print_row("command", "wavetap", "CPU", "peak MiB", "Python", "CPU", "peak MiB", "faster")
        for what, command, name in self.commands(trace, rows, threads):
            seconds, cpu, peak, output = self.best(command)
            row = {"command": what, "rows": rows, "threads": threads, "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak}
            cells = [f"{seconds:.2f} s", f"{cpu:.2f} s", f"{peak:.0f}"]
            if name and reference:
                words = [sys.executable, HERE / "reference.py", name]
                words += self.parts(rows, threads) if name == "merge" else [trace]
                theirs, their_cpu, their_peak, their_output = timed(words + ([self.new_file(".ref")] if name in WRITERS else []))
                self.compare(what, output, json.loads(their_output))
                row |= {"reference_seconds": theirs, "reference_cpu_seconds": their_cpu, "reference_peak_mib": their_peak}
                cells += [f"{theirs:.1f} s", f"{their_cpu:.1f} s", f"{their_peak:.0f}", f"{theirs / seconds:.1f}x"]
            self.results.append(row)
            print_row(what, *cells)
            for suffix in (".json", ".pftrace", ".html", ".jsonl", ".folded", ".rpd", ".ref"):
                self.new_file(suffix)
        self.page(trace, rows, threads)

    def page(self, trace, rows, threads):
        """The HTML report in a browser, where there is one."""
        if not browser.program():
            print("\n  The HTML report in a browser: left out, there is no Chromium")
            return
        html = self.new_file(".html")
        timed([self.tool, "export", "--format", "html", trace, "-o", html])
        with browser.start() as chromium:
            numbers, _ = cost.measure(chromium, html)
        print("\n  The HTML report in Chromium: " + cost.text(numbers))
        self.results.append({"command": "html in a browser", "rows": rows, "threads": threads, **numbers})
        self.new_file(".html")

    def compare(self, what, output, reference):
        for key, ours in CHECKS.get(what, []):
            value = ours(json.loads(output))
            if value != reference[key]:
                raise Failure(f"{what}: {key} is {value}, the Python version says {reference[key]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build")
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-reference", action="store_true", help="skip the Python versions")
    parser.add_argument("--folder", type=pathlib.Path, help="keep the generated traces here")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        measure = Measure(arguments.build.resolve(), folder, arguments.repeat)
        try:
            for rows in arguments.rows or [1_000_000]:
                for threads in arguments.threads or [8]:
                    measure.run(rows, threads, not arguments.no_reference)
        except (Failure, OSError) as error:
            sys.exit(f"wavetap: error: {error}")
    if arguments.json:
        arguments.json.write_text(json.dumps(measure.results, indent=2) + "\n")


if __name__ == "__main__":
    main()
