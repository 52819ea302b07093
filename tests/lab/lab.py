#!/usr/bin/env python3
"""Looks for better kernels with `wavetap tune`, on dispatches captured on a virtual GPU.

  lab.py --bin BUILD/bin --clang clang++-19 --model MODEL CASE

The cases are the functions below.
"""
import argparse
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TARGETS = {"rx6800xt": "gfx1030", "mi210": "gfx90a"}
KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


class Bench:
    def __init__(self, bin_folder, clang, model, scratch):
        self.bin, self.clang, self.model, self.scratch = bin_folder, clang, model, pathlib.Path(scratch)
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=scratch, COLUMNS="250")

    def wavetap(self, *words, status=0):
        done = subprocess.run([str(self.bin / "wavetap"), *map(str, words)], cwd=self.scratch, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=280)
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def capture(self, kernel):
        path = self.scratch / f"{kernel}.wtcap"
        self.wavetap("capture", "--gpu", self.model, "-k", {"aos": "lengths"}.get(kernel, kernel), "-o", path, "--", self.bin / "hip/lab", kernel)
        return path

    def compiler(self, source="{source}", out="{out}"):
        return (f"{self.clang} -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch={TARGETS[self.model]} -nogpuinc -nogpulib "
                f"-fms-extensions -mcode-object-version=4 -O2 -include {KERNELS}/plain.h {source} -o {out}")

    def spec(self, text, name="matmul"):
        path = self.scratch / f"{name}.toml"
        path.write_text(text)
        return path

    def matmul_spec(self, parameters, more="", search='strategy = "exhaustive"', flags=""):
        return self.spec(f"""
{more}
[build]
command = "{self.compiler(KERNELS / 'matmul.inc')} -DTILE={{TILE}} -DUNROLL={{UNROLL}} -DPAD={{PAD}} -DROWS={{ROWS}} {flags}"
[parameters]
{parameters}
[measure]
capture = "matmul.wtcap"
timeout = 60
[launch]
workgroup = ["TILE", "TILE"]
workgroups = ["64 / TILE", "64 / TILE / ROWS"]
[search]
{search}
""")


def rows(path):
    with sqlite3.connect(path) as db:
        return db.execute("select * from evaluation order by id").fetchall()


def tune_matmul(bench):
    """Tiles, unrolling and padding of a matmul, each with its own launch; all are right."""
    bench.capture("matmul")
    spec = bench.matmul_spec("TILE = [4, 8, 16]\nUNROLL = [1, 8]\nPAD = [0, 1]\nROWS = [1, 2]")
    found = json.loads(bench.wavetap("tune", spec, "--json", "--jobs", 2).stdout)
    expect(found["search_space_size"] == 24 and found["evaluated_configs"] == 24, found)
    expect(found["outcomes"] == {"good": 24}, found["outcomes"])
    expect(found["objective"]["kind"] == "modelled" and found["improvement"] > 1.2, found)
    best = found["best_config"]
    for _, point, part, parameters, outcome, objective, *_ in rows(bench.scratch / "matmul.tune/journal.db"):
        expect(point < 0 or objective >= best["figures"]["objective"], f"{parameters} is better than the best")
    folder = bench.scratch / "matmul.tune"
    expect("-DTILE=" in (folder / "best.flags").read_text(), "flags")
    page = (folder / "report.html").read_text()
    expect(page.count("<svg") == 5 and "TILE" in page, "one panel for the search and one for each parameter")
    expect((folder / "best.hsaco").exists() and not (folder / "best.manifest").exists(), "its launch is not the program's")
    # The second time it says that there is a journal; a search that is over goes on where it was: nowhere.
    again = bench.wavetap("tune", spec, status=1)
    expect("add --resume" in again.stderr, again.stderr)
    before = rows(folder / "journal.db")
    bench.wavetap("tune", spec, "--resume")
    expect(rows(folder / "journal.db") == before, "a search that is over changed its journal")


def tune_killed(bench):
    """Killed at any point and resumed, the journal is the one of a search that was not."""
    bench.capture("matmul")
    spec = bench.matmul_spec("TILE = [4, 8, 16]\nUNROLL = [1, 2, 4, 8]\nPAD = [0, 1, 2]\nROWS = [1, 2]",
                             search='strategy = "bayesian"\nseed = 3\nbudget = 24\nbatch = 3')
    bench.wavetap("tune", spec, "-o", "whole", "--jobs", 2)
    whole = rows(bench.scratch / "whole/journal.db")
    expect(len(whole) == 25, f"{len(whole)} rows")
    child = subprocess.Popen([str(bench.bin / "wavetap"), "tune", str(spec), "-o", "killed", "--jobs", "2"], cwd=bench.scratch, env=bench.environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = bench.scratch / "killed/journal.db"
    while child.poll() is None:
        try:
            if len(rows(journal)) >= 7:
                break
        except sqlite3.OperationalError:
            pass
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    part = rows(journal)
    expect(7 <= len(part) < 25 and part == whole[:len(part)], f"killed: {len(part)} rows")
    bench.wavetap("tune", spec, "-o", "killed", "--resume")
    expect(rows(journal) == whole, "resumed: another journal")
    # A spec that says something else does not fit a journal.
    spec.write_text(spec.read_text().replace("seed = 3", "seed = 4"))
    other = bench.wavetap("tune", spec, "-o", "killed", "--resume", status=1)
    expect("another version" in other.stderr, other.stderr)


def tune_outcomes(bench):
    """Build failures, wrong results, timeouts, faults and refusals are results."""
    bench.capture("matmul")
    spec = bench.spec(f"""
[build]
command = "{bench.compiler(KERNELS / 'matmul.inc')} -DWRONG={{WRONG}} -DTILE={{TILE}} -Dmatmul={{NAME}} -DHANG={{HANG}} -include hang.h"
[parameters]
WRONG = ["0", "0.125f", ")"]
TILE = [8, 16]
NAME = ["matmul", "other"]
HANG = [0, 1]
[measure]
capture = "matmul.wtcap"
timeout = 10
[search]
strategy = "exhaustive"
""")
    (bench.scratch / "hang.h").write_text("#if HANG\n#define __syncthreads() for (volatile int i = 0; i < 2; i = 0) {}\n#endif\n")
    spec.write_text('conditions = ["(WRONG != \'0\') + (TILE != 8) + (NAME != \'matmul\') + HANG <= 1"]\n' + spec.read_text())
    found = json.loads(bench.wavetap("tune", spec, "--json", "--jobs", 2).stdout)
    reasons = {parameters: (outcome, reason) for _, _, _, parameters, outcome, _, _, reason, _ in rows(bench.scratch / "matmul.tune/journal.db")}
    expect(found["outcomes"] == {"good": 1, "build-failed": 1, "wrong": 2, "refused": 1, "timeout": 1}, f"{found['outcomes']}: {reasons}")
    wrong = [reason for outcome, reason in reasons.values() if outcome == "wrong"]
    expect(any("argument 2 (float*)" in reason and "instead of" in reason for reason in wrong), wrong)
    ran = bench.wavetap("run", "--gpu", bench.model, "-o", "t.rpd", "--swap", "matmul.tune/best.manifest", "--", bench.bin / "hip/lab", "matmul")
    expect("1 dispatch of 1 kernel ran the replacement" in ran.stderr, ran.stderr)
    # Nothing good at all: exit status 2, and the journal says why.
    spec.write_text(spec.read_text().replace('WRONG = ["0", "0.125f", ")"]', 'WRONG = ["0.5f"]'))
    none = bench.wavetap("tune", spec, "-o", "none", status=2)
    expect("none of them is good" in none.stdout, none.stdout)


def tune_program(bench):
    """A program's own number, and a kernel of a program."""
    spec = bench.spec("""
[parameters]
N = { from = 1, to = 9 }
[measure]
program = "echo score $(( ({N} - 6) * ({N} - 6) + 10 )); test {N} != 3"
metric = "score ([0-9]+)"
runs = 1
[baseline]
N = 1
[search]
strategy = "exhaustive"
""", "metric")
    found = json.loads(bench.wavetap("tune", spec, "--json").stdout)
    expect(found["best_config"]["parameters"] == {"N": 6} and found["outcomes"] == {"good": 8, "wrong": 1}, found)
    expect(found["objective"]["kind"] == "measured" and abs(found["measured"]["ratio"] - 10 / 35) < 1e-6, found)
    spec = bench.spec(f"""
[parameters]
WHICH = ["transpose", "dot"]
[measure]
program = "{bench.bin}/hip/lab {{WHICH}}"
kernel = "transpose|dot"
gpu = "{bench.model}"
[search]
strategy = "exhaustive"
""", "kernel")
    found = json.loads(bench.wavetap("tune", spec, "--json").stdout)
    expect(found["outcomes"] == {"good": 2} and found["best_config"]["runtime_ms"] > 0, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clang", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(arguments.bin.resolve(), arguments.clang, arguments.model, scratch)
        try:
            globals()[arguments.case](bench)
        except Failure as failure:
            sys.exit(f"{arguments.case}: {failure}")


if __name__ == "__main__":
    main()
