#!/usr/bin/env python3
"""Holds modelled times against times that somebody measured: the public MI300A set of mgpusim.

FOLDER has mi300a.csv (kernel_name, problem_size, iterations, avg_ms, min_ms, max_ms) and the HIP programs that were timed, one
.cpp each. Neither is part of this tree. The programs are compiled for gfx90a, which ROCm 5.2 can run, and run on a virtual
MI300A that takes such code; counters and caches go into one trace per point. A second step models the times from the traces, so
that a change of the model needs no second run:

    bench/timing_model.py FOLDER --work DIR                  both steps; points that have a trace are not run again
    bench/timing_model.py FOLDER --work DIR --markdown       the tables of docs/timing-model.md

What is modelled is what was timed: everything between the two events of the timed iteration, one after the other. That is kernels,
each with its launch, copies that the host waits for, and its waiting for kernels.

A point whose run takes more than --seconds of processor time is listed as not run, and so are larger ones of its kernel. Nothing
else is left out. Error is symmetric: (larger - smaller) / smaller."""
import argparse
import csv
import json
import pathlib
import re
import resource
import sqlite3
import statistics
import subprocess
import sys

from support import table

TREE = pathlib.Path(__file__).resolve().parent.parent
# From one event to the next with one empty kernel between them: the floor that every small kernel of the set has. The launch that
# the model counts with the first kernel is part of it.
EVENTS_US = 4.3
# A copy between host and device that the host waits for. Measured by others with AMD's rocm-bandwidth-test: 58 GB/s on an MI300A
# (AMD's guide to it, https://github.com/ROCm/legacy-rocm-build/issues/3652), 6 us for 4 KiB on an MI300X
# (https://github.com/ROCm/hip/issues/3809).
COPY_US = 6
COPY_GB_S = 58
# What the host's waiting for a kernel adds before anything can follow: a short launch and its synchronisation take 16.9 us on an
# MI325X (https://github.com/pytorch/FBGEMM/pull/6219), of which 2 are the launch and the kernel.
WAIT_US = 14.9
WAITS = ("hipDeviceSynchronize", "hipStreamSynchronize")
LARGE_US = 20  # points that took longer are called large: the rest is mostly launch

# kernel_name: program, pattern of problem_size, its groups as options. None: the group is the product with the one before.
POINTS = {
    "vectoradd": ("vectoradd", r"(\d+)", ["--size"]),
    "relu": ("relu", r"(\d+)", ["--size"]),
    "matrixtranspose": ("matrixtranspose", r"(\d+)x\d+", ["--size"]),
    "floydwarshall": ("floydwarshall", r"(\d+)_nodes", ["--nodes"]),
    "fastwalshtransform": ("fastwalshtransform", r"(\d+)", ["--size"]),
    "fir": ("fir", r"(\d+)_taps(\d+)", ["--length", "--taps"]),
    "simpleconvolution": ("simpleconvolution", r"(\d+)x\d+_mask(\d+)", ["--size", "--mask"]),
    "bitonicsort": ("bitonicsort", r"(\d+)", ["--size"]),
    "kmeans": ("kmeans", r"pts(\d+)_feat(\d+)_clus(\d+)", ["--points", "--features", "--clusters"]),
    "atax": ("atax", r"(\d+)x\d+", ["--size"]),
    "bicg": ("bicg", r"(\d+)x\d+", ["--size"]),
    "pagerank": ("pagerank", r"nodes(\d+)_.*", ["--nodes"]),
    "stencil2d": ("stencil2d", r"(\d+)x\d+", ["--size"]),
    "bfs": ("bfs", r"nodes(\d+)", ["--nodes"]),
    "nw": ("nw", r"length=(\d+)", ["--size"]),
    "fft1D_512": ("fft", r"(\d+)_elements", ["--size"]),
    "spmv_csr_scalar": ("spmv", r"(\d+)x\d+_nnz(\d+)", ["--rows", "--nnz"]),
    "matrixmultiplication": ("matrixmultiplication", r"(\d+)x\d+x\d+", ["--size"]),
    "nbody": ("nbody", r"(\d+)_particles", ["--bodies"]),
    "conv2d": ("conv2d", r"N1_C1_(\d+)x\d+_k(\d+)x\d+_OC3", ["--size", "--mask"]),
    "im2col": ("im2col", r"N1_C1_(\d+)x\d+_k(\d+)x\d+", ["--size", "--mask"]),
    "memcopy_h2d": ("memcopy", r"(\d+)MB", ["--size"]),
    "memcopy_d2h": ("memcopy", r"(\d+)MB", ["--size"]),
    "memcopy_d2d": ("memcopy", r"(\d+)MB", ["--size"]),
}
BFS_DEGREES = [4, 8, 16, 32]  # the set's rows of a graph size, in this order
COPIES = ["memcopy_h2d", "memcopy_d2h", "memcopy_d2d"]  # timed by one program, in this order
HOST_COPIES = (1, 2)  # of hipMemcpyKind: to the device, to the host


class Point:
    def __init__(self, row, number):
        self.kernel, self.size = row["kernel_name"], row["problem_size"]
        self.measured_us = float(row["avg_ms"]) * 1e3
        self.number = number  # among points of the same name and size
        self.program, self.options, self.modelled_us, self.why_not = None, [], None, ""
        self.launches = 0  # of kernels, between the two events
        self.region = COPIES.index(self.kernel) if self.kernel in COPIES else 0  # of those that the program times
        if self.kernel not in POINTS:
            self.why_not = "not known to this script"
            return
        self.program, pattern, names = POINTS[self.kernel]
        values = [int(value) for value in re.fullmatch(pattern, self.size).groups()]
        if self.kernel == "spmv_csr_scalar":
            values[1] //= values[0]
        if self.kernel == "bfs":
            names, values = names + ["--degree"], values + [BFS_DEGREES[number]]
        self.options = [str(word) for pair in zip(names, values) for word in pair]

    def trace(self, work):
        name = "memcopy" if self.kernel in COPIES else self.kernel
        return work / f"{name}.{self.size.replace('=', '')}.{self.number}.rpd"

    def error(self):
        return max(self.measured_us, self.modelled_us) / min(self.measured_us, self.modelled_us) - 1


def read_points(folder):
    seen, points = {}, []
    with open(folder / "mi300a.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = row["kernel_name"], row["problem_size"]
            points.append(Point(row, seen.get(key, 0)))
            seen[key] = seen.get(key, 0) + 1
    return points


def compile_programs(folder, work, points):
    for program in sorted({point.program for point in points if point.program}):
        output = work / program
        if output.exists():
            continue
        command = ["hipcc", "-O3", "--offload-arch=gfx90a", "-o", output, folder / f"{program}.cpp"]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)


def make_model(work):
    """A virtual MI300A that runs gfx90a code: ROCm 5.2 does not know gfx942."""
    models = TREE / "models"
    for name in ("mi300x", "mi300a"):
        (work / f"{name}.gpu").write_text((models / f"{name}.gpu").read_text())
    path = work / "mi300a-gfx90a.gpu"
    path.write_text((models / "mi300a.gpu").read_text() + "\ntarget = gfx90a\n")
    return path


def limited(seconds):
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def run_points(points, build, work, model, seconds, warm):
    slow = set()  # series that have become too large
    for point in sorted((point for point in points if point.program), key=lambda one: one.measured_us):
        trace = point.trace(work)
        if trace.exists():
            continue
        if point.kernel in slow:
            point.why_not = "larger than one that took too long"
            continue
        part = work / "running.rpd"
        command = [build / "bin/wavetap", "run", "--gpu", model, "--counters", work / "counters.json", "--caches",
                   *(["--warm-caches"] if warm else []), "-o", part, "--", work / point.program, "--iterations", "1", *point.options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, preexec_fn=limited(seconds))
        if done.returncode == 0 and part.exists():
            part.rename(trace)
        else:
            faulted = done.returncode == 134  # it aborts where hardware happens to survive a stray access
            point.why_not = "the program faults" if faulted else f"more than {seconds} s of processor time"
            if not faulted:
                slow.add(point.kernel)
            print(f"{point.kernel} {point.size}: status {done.returncode}: {done.stderr.strip()[-200:]}", file=sys.stderr)


class Region:
    """What a trace has between the events of one timed iteration."""

    def __init__(self, trace, number):
        with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as db:
            times = [time for time, in db.execute(
                "select a.start from rocpd_api a join rocpd_string s on s.id = a.apiName_id where s.string = 'hipEventRecord' order by 1")]
            self.begin, self.end = times[2 * number] + 1, times[2 * number + 1] - 1
            self.copies = db.execute(
                "select c.size, c.kind from rocpd_copyapi c join rocpd_api a on a.id = c.api_ptr_id where a.start between ? and ?",
                (self.begin, self.end)).fetchall()
            self.waits = db.execute(
                "select count(*) from rocpd_api a join rocpd_string s on s.id = a.apiName_id where a.start between ? and ?"
                f" and s.string in {WAITS}", (self.begin, self.end)).fetchone()[0]
            self.has_kernels = db.execute(
                "select count(*) from rocpd_api a join rocpd_api_ops l on l.api_id = a.id join rocpd_counter c on c.op_id = l.op_id"
                " where a.start between ? and ?", (self.begin, self.end)).fetchone()[0] != 0

    def host_copies_us(self):
        return sum(COPY_US + size / COPY_GB_S / 1e3 for size, kind in self.copies if kind in HOST_COPIES)

    def host_us(self):
        return self.host_copies_us() + self.waits * WAIT_US


def modelled_kernels(build, trace, region, model, work):
    """The kernels of a region as `wavetap profile` lists them."""
    part = work / "part.rpd"
    part.unlink(missing_ok=True)
    tool = build / "bin/wavetap"
    commands = [[tool, "trim", trace, "--start", region.begin, "--end", region.end, "-o", part],
                [tool, "profile", part, "--gpu", model, "--json"]]
    for command in commands:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    # Copies of the host are counted by their bytes, however the runtime does them.
    return [kernel for kernel in json.loads(done.stdout)["kernels"]
            if region.host_copies_us() == 0 or "copyBuffer" not in kernel["kernel"]["name"]]


def model_points(points, build, work, model):
    for point in points:
        if point.program is None or not point.trace(work).exists():
            continue
        region = Region(point.trace(work), point.region)
        kernels = modelled_kernels(build, point.trace(work), region, model, work) if region.has_kernels else []
        point.launches = sum(kernel["calls"] for kernel in kernels)
        seconds = sum(kernel["modelled"]["seconds"] * kernel["calls"] for kernel in kernels)
        launch_us = kernels[0]["modelled"]["bounds_seconds"]["launch"] * 1e6 if kernels else 0
        point.modelled_us = EVENTS_US - launch_us + seconds * 1e6 + region.host_us()


def slope(points):
    """Of modelled over measured, by least squares; None where there are too few."""
    if len(points) < 3:
        return None
    xs, ys = [point.measured_us for point in points], [point.modelled_us for point in points]
    mean_x, mean_y = statistics.mean(xs), statistics.mean(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return None if spread == 0 else sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / spread


def percent(value):
    return f"{value * 100:.0f} %"


def summary(points):
    known = [point for point in points if point.modelled_us is not None]
    kernels = [point for point in known if point.kernel not in COPIES]
    rows = []
    for name, chosen in [("all", known), ("copies", [p for p in known if p.kernel in COPIES]), ("kernels", kernels),
                         (f"kernels, under {LARGE_US} us", [p for p in kernels if p.measured_us < LARGE_US]),
                         (f"kernels, {LARGE_US} us and more", [p for p in kernels if p.measured_us >= LARGE_US]),
                         ("one kernel", [p for p in kernels if p.launches <= 1]),
                         ("several kernels", [p for p in kernels if p.launches > 1])]:
        errors = [point.error() for point in chosen]
        if errors:
            within = sum(error <= 0.5 for error in errors) / len(errors)
            rows.append([name, str(len(chosen)), percent(statistics.median(errors)), percent(statistics.mean(errors)), percent(within)])
    return rows


def by_kernel(points):
    rows = []
    for kernel in dict.fromkeys(point.kernel for point in points):
        of = [point for point in points if point.kernel == kernel]
        known = [point for point in of if point.modelled_us is not None]
        if not known:
            rows.append([kernel, f"0 of {len(of)}", "", "", "", of[0].why_not])
            continue
        errors = [point.error() for point in known]
        large = slope([point for point in known if point.measured_us >= LARGE_US])
        rows.append([kernel, f"{len(known)} of {len(of)}", percent(statistics.median(errors)), percent(statistics.mean(errors)),
                     "" if large is None else f"{large:.2f}", ""])
    return rows


def points_text(points):
    """One line per kernel: size measured/modelled."""
    lines = []
    for kernel in dict.fromkeys(point.kernel for point in points):
        texts = []
        for point in (point for point in points if point.kernel == kernel):
            modelled = "–" if point.modelled_us is None else f"{point.modelled_us:.1f}"
            texts.append(f"{point.size} {point.measured_us:.1f}/{modelled}")
        lines.append([kernel, ", ".join(texts)])
    return lines


def markdown(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="mi300a.csv and the programs")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for programs and traces; kept")
    parser.add_argument("--build", type=pathlib.Path, default=TREE / "build")
    parser.add_argument("--seconds", type=int, default=20, help="processor time of one point at most (20)")
    parser.add_argument("--kernel", action="append", help="run only points of this kernel; may be given again")
    parser.add_argument("--warm-caches", action="store_true", help="caches keep what the iteration before left; another --work for these traces")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document; runs nothing")
    arguments = parser.parse_args()
    if not (arguments.folder / "mi300a.csv").exists():
        sys.exit(f"timing_model.py: error: {arguments.folder}: no mi300a.csv; name the folder gpu_perf_scripts of mgpusim")
    arguments.work.mkdir(parents=True, exist_ok=True)
    work, build = arguments.work.resolve(), arguments.build.resolve()
    points = read_points(arguments.folder)
    model = make_model(work)
    if not arguments.markdown:
        compile_programs(arguments.folder, work, points)
        chosen = [point for point in points if not arguments.kernel or point.kernel in arguments.kernel]
        run_points(chosen, build, work, model, arguments.seconds, arguments.warm_caches)
    model_points(points, build, work, model)
    show = markdown if arguments.markdown else table
    show(["points", "count", "median error", "mean error", "within 50 %"], summary(points))
    show(["kernel", "points", "median error", "mean error", "slope, large", "why not"], by_kernel(points))
    show(["kernel", "size measured/modelled, us"], points_text(points))


if __name__ == "__main__":
    main()
