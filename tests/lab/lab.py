#!/usr/bin/env python3
"""Looks for better kernels with `wavetap tune` and `wavetap optimize`, on dispatches captured on a virtual GPU.

  lab.py --bin BUILD/bin --clang clang++-19 --model MODEL CASE

The cases are the functions below.
"""
import argparse
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import tiled_table

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from other_users import folder_in_the_way  # noqa: E402

TARGETS = {"rx6800xt": "gfx1030", "mi210": "gfx90a"}
KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"


class Failure(Exception):
    pass


class Skip(Exception):
    """What the case needs is not here."""


def expect(holds, what):
    if not holds:
        raise Failure(what)


class Bench:
    def __init__(self, bin_folder, clang, model, scratch):
        self.bin, self.clang, self.model, self.scratch = bin_folder, clang, model, pathlib.Path(scratch)
        self.prefix, self.python = [], sys.executable
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=scratch, COLUMNS="250")

    def wavetap(self, *words, status=0, environment=None):
        done = subprocess.run([*self.prefix, str(self.bin / "wavetap"), *map(str, words)], cwd=self.scratch, env=environment or self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=280)
        if "neither bubblewrap nor namespaces work here" in done.stderr:
            raise Skip(done.stderr.strip())
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def capture(self, kernel):
        path = self.scratch / f"{kernel}.wtcap"
        # No sandbox, so that the many files of a virtual GPU can be where wavetap makes them by itself: in memory.
        environment = {name: value for name, value in self.environment.items() if name != "TMPDIR"}
        self.wavetap("capture", "--gpu", self.model, "-k", kernel, "-o", path, "--", self.bin / "hip/lab", kernel, environment=environment)
        return path

    def compiler(self, source="{source}", out="{out}"):
        return (f"{self.clang} -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch={TARGETS[self.model]} -nogpuinc -nogpulib "
                f"-fms-extensions -mcode-object-version=4 -O2 -include {KERNELS}/plain.h {source} -o {out}")

    def optimize(self, kernel, *words, status=0, ledger=None):
        self.wavetap("optimize", "--source", KERNELS / f"{kernel}.inc", "--build", self.compiler(), "-o", ledger or f"{kernel}.ledger", *words,
                     f"{kernel}.wtcap", status=status)
        return json.loads((self.scratch / (ledger or f"{kernel}.ledger") / "ledger.json").read_text())

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


# Evaluations count themselves, and those beyond a number wait until they are killed.
GATE = "echo >> begun\nif test $(wc -c < begun) -gt $(cat most); then sleep 1000; fi\n"


def tune_killed(bench):
    """Killed at any point and resumed, the journal is the one of a search that was not."""
    bench.capture("matmul")
    (bench.scratch / "gate.sh").write_text(GATE)
    # Halving: 9 points with a ninth of the workgroups, 3 of them with a third, 1 with all.
    for strategy, budget, count in ("bayesian", 10, 10), ("halving", 3, 13):
        spec = bench.matmul_spec("TILE = [4, 8, 16]\nUNROLL = [1, 2, 4, 8]\nPAD = [0, 1, 2]\nROWS = [1, 2]",
                                 search=f'strategy = "{strategy}"\nseed = 3\nbudget = {budget}\nbatch = 3')
        spec.write_text(spec.read_text().replace('command = "', 'command = "sh gate.sh; '))
        (bench.scratch / "most").write_text("1000000")
        bench.wavetap("tune", spec, "-o", f"{strategy}.whole", "--jobs", 2)
        whole = rows(bench.scratch / f"{strategy}.whole/journal.db")
        expect(count + 1 <= len(whole) < count + 4, f"{strategy}: {len(whole)} rows")
        folder = bench.scratch / f"{strategy}.killed"
        # With one job, evaluation N begins when those before it are kept, and the captured kernel needs no build.
        kill_tune(bench, spec, folder, 1, count // 2)
        part = rows(folder / "journal.db")
        expect(len(part) == 1 + count // 2 and part == whole[:len(part)], f"{strategy}: killed: {len(part)} rows")
        (bench.scratch / "most").write_text("1000000")
        bench.wavetap("tune", spec, "-o", folder, "--resume", "--jobs", 2)
        expect(rows(folder / "journal.db") == whole, f"{strategy}: resumed: another journal")
    # A spec that says something else does not fit a journal.
    spec.write_text(spec.read_text().replace("seed = 3", "seed = 4"))
    other = bench.wavetap("tune", spec, "-o", folder, "--resume", status=1)
    expect("another version" in other.stderr, other.stderr)


def tune_tiled(bench):
    """A few of the 2 000 variants of the tiled matmul, live: what the table of all of them says, but for a newer compiler or timing model."""
    bench.capture("tiled")
    spec = bench.spec(tiled_table.spec(bench.clang, 'strategy = "bayesian"\nseed = 1\nbudget = 8'), "tiled")
    found = json.loads(bench.wavetap("tune", spec, "--json", "--jobs", 2).stdout)
    expect(found["search_space_size"] == 2000 and found["evaluated_configs"] == 8 and found["outcomes"] == {"good": 8}, found)
    table = tiled_table.read_table(KERNELS.parent / "tiled_times.csv")
    expect(len(table) == 2000, f"{len(table)} points in the table")
    for point, time_ns in tiled_table.read_journal(bench.scratch / "tiled.tune/journal.db").items():
        expect(1 / 1.5 < time_ns / table[point] < 1.5, f"{point}: {time_ns} ns, {table[point]} in the table; make it anew with tiled_table.py")


def tune_tiled_killed(bench):
    """All 2 000 variants are there to be searched; killed again and again, at once, early, late and in between, the journal is the same."""
    (bench.scratch / "gate.sh").write_text(GATE)
    for strategy, budget in ("bayesian", 100), ("random", 160), ("hill-climbing", 60):
        spec = bench.spec(tiled_table.recorded_spec(KERNELS.parent / "tiled_times.csv", "sh gate.sh",
                                                    f'strategy = "{strategy}"\nseed = 2\nbudget = {budget}'), strategy)
        (bench.scratch / "most").write_text("1000000")
        found = json.loads(bench.wavetap("tune", spec, "-o", f"{strategy}.whole", "--jobs", 2, "--json").stdout)
        expect(found["search_space_size"] == 2000 and found["evaluated_configs"] == budget, found)
        whole = rows(bench.scratch / f"{strategy}.whole/journal.db")
        folder = bench.scratch / f"{strategy}.killed"
        before = 0
        for jobs, most in (2, 0), (1, 1), (3, budget // 3), (2, 1), (4, budget // 2), (2, budget // 8):
            kill_tune(bench, spec, folder, jobs, most)
            part = rows(folder / "journal.db")
            expect(before <= len(part) <= before + most and len(part) < len(whole), f"{strategy}: killed after {most}: {before} rows became {len(part)}")
            expect(part == whole[:len(part)], f"{strategy}: killed after {most}: another journal")
            before = len(part)
        (bench.scratch / "most").write_text("1000000")
        bench.wavetap("tune", spec, "-o", folder, "--resume", "--jobs", 3)
        expect(rows(folder / "journal.db") == whole, f"{strategy}: resumed: another journal")
        best = [json.loads((bench.scratch / name / "best.json").read_text())["best_config"] for name in (f"{strategy}.whole", f"{strategy}.killed")]
        expect(best[0] == best[1], best)


def tune_journal(bench):
    """A journal is one search's; what a search left that was killed in its first moments does not stand in the way of the next."""
    spec = bench.spec("""
[parameters]
N = { from = 1, to = 12 }
[measure]
program = "sleep 0.3; echo score $(( ({N} - 6) * ({N} - 6) ))"
metric = "score ([0-9]+)"
runs = 1
[search]
strategy = "exhaustive"
""", "slow")
    first = subprocess.Popen([str(bench.bin / "wavetap"), "tune", str(spec), "-o", "shared"], cwd=bench.scratch, env=bench.environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while first.poll() is None and not (bench.scratch / "shared/journal.db").exists():
        time.sleep(0.01)
    for words in ["--resume"], []:
        second = bench.wavetap("tune", spec, "-o", "shared", *words, status=1)
        expect("another search is at work here" in second.stderr, second.stderr)
    errors = first.communicate()[1]
    expect(first.returncode == 0, errors)
    whole = rows(bench.scratch / "shared/journal.db")
    expect(len(whole) == 12, whole)
    # Empty, or with a table that was begun: the file is there, the search is not.
    for words in ["--resume"], []:
        folder = bench.scratch / f"begun{len(words)}"
        (folder / "builds").mkdir(parents=True)
        (folder / "builds/mine").write_text("not the tuner's")
        (folder / "journal.db").write_bytes(b"")
        bench.wavetap("tune", spec, "-o", folder, "--jobs", 12, *words)
        expect(rows(folder / "journal.db") == whole, "another journal")
        expect((folder / "builds/mine").exists(), "a file that was not its own is gone")
    (bench.scratch / "no").mkdir()
    (bench.scratch / "no/journal.db").write_text("this is no database at all, but a text of some length\n" * 30)
    bench.wavetap("tune", spec, "-o", "no", "--resume", status=1)
    for budget in "0", "-1", "nan", "5x", "":
        done = bench.wavetap("tune", spec, "-o", "budget", "--budget=" + budget, status=1)
        expect(budget in done.stderr and not (bench.scratch / "budget").exists(), done.stderr)


def tune_budget(bench):
    """A time as the budget; and on a terminal, a line that says how far it is and what is best so far."""
    spec = bench.spec("""
[parameters]
N = { from = 1, to = 100000 }
[measure]
program = "sleep 0.2; echo score $(( 100000 + {N} ))"
metric = "score ([0-9]+)"
runs = 1
[search]
strategy = "exhaustive"
""", "endless")
    master, slave = pty.openpty()
    with subprocess.Popen([str(bench.bin / "wavetap"), "tune", str(spec), "--budget", "2s", "--jobs", "2", "--json"], cwd=bench.scratch,
                          env=bench.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True) as child:
        os.close(slave)
        found = json.loads(child.stdout.read())
    shown = b""
    while True:
        try:
            shown += os.read(master, 65536)
        except OSError:  # its other end is closed
            break
    os.close(master)
    expect(child.returncode == 0 and 1 <= found["evaluated_configs"] < 1000, found)
    expect(found["best_config"]["parameters"] == {"N": 1}, found)
    line = shown.decode()
    expect("\r" in line and "best metric 100 001" in line, repr(line))
    # Where nobody looks, nothing is in the way of what is said.
    quiet = bench.wavetap("tune", spec, "-o", "quiet", "--budget", "0.7s")
    expect("best metric" not in quiet.stderr and "\r" not in quiet.stderr, repr(quiet.stderr))


def kill_tune(bench, spec, folder, jobs, most):
    """Begins or goes on with a search and kills it, for good, when so many evaluations have begun and the next one waits."""
    begun = bench.scratch / "begun"
    begun.write_text("")
    (bench.scratch / "most").write_text(str(most))
    words = ["tune", str(spec), "-o", str(folder), "--jobs", str(jobs), *(["--resume"] if (folder / "journal.db").exists() else [])]
    child = subprocess.Popen([str(bench.bin / "wavetap"), *words], cwd=bench.scratch, env=bench.environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    while child.poll() is None and begun.stat().st_size <= most:
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    errors = child.communicate()[1]
    expect(child.returncode == -signal.SIGKILL, f"not killed after {most}, it had ended: {child.returncode} {errors}")


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
HANG = [0, 1, 2]
[measure]
capture = "matmul.wtcap"
timeout = 10
[search]
strategy = "exhaustive"
""")
    (bench.scratch / "hang.h").write_text("#if HANG\n#define __syncthreads() for (volatile int i = 0; i < 2; i = 0) {}\n#endif\n"
                                           "#if HANG == 2\n#undef __syncthreads\n#define __syncthreads() (*(volatile int*)4096 = 1)\n#endif\n")
    spec.write_text('conditions = ["(WRONG != \'0\') + (TILE != 8) + (NAME != \'matmul\') + (HANG != 0) <= 1"]\n' + spec.read_text())
    found = json.loads(bench.wavetap("tune", spec, "--json", "--jobs", 2).stdout)
    reasons = {parameters: (outcome, reason) for _, _, _, parameters, outcome, _, _, reason, _ in rows(bench.scratch / "matmul.tune/journal.db")}
    expect(found["outcomes"] == {"good": 1, "build-failed": 1, "wrong": 2, "refused": 1, "timeout": 1, "fault": 1}, f"{found['outcomes']}: {reasons}")
    wrong = [reason for outcome, reason in reasons.values() if outcome == "wrong"]
    expect(any("argument 2 (float*)" in reason and "instead of" in reason for reason in wrong), wrong)
    ran = bench.wavetap("run", "--gpu", bench.model, "-o", "t.rpd", "--swap", "matmul.tune/best.manifest", "--", bench.bin / "hip/lab", "matmul")
    expect("1 dispatch of 1 kernel ran the replacement" in ran.stderr, ran.stderr)
    # Nothing good at all: exit status 2, and the journal says why.
    spec.write_text(spec.read_text().replace('WRONG = ["0", "0.125f", ")"]', 'WRONG = ["0.5f"]'))
    none = bench.wavetap("tune", spec, "-o", "none", status=2)
    expect("none of them is good" in none.stdout, none.stdout)


def tune_constraints(bench):
    """Flags, environment and waves per EU as parameters, and what breaks a constraint is no candidate."""
    bench.capture("matmul")
    spec = bench.spec(f"""
constraints = ["vgprs <= 24", "lds <= 1024 || PAD == 0", "occupancy > 0", "WAVES == 4 || sgprs > 0"]
[build]
command = "{bench.compiler(KERNELS / 'matmul.inc')} -Dmatmul='__attribute__((amdgpu_waves_per_eu({{WAVES}}))) matmul' {{OPT}} -DPAD=$PADDING"
[parameters]
WAVES = [1, 4]
OPT = ["-DUNROLL=1", "-DUNROLL=8"]
PAD = [0, 64]
[environment]
PADDING = "{{PAD}}"
[measure]
capture = "matmul.wtcap"
verify = "rel=1e-5"
[objective]
minimize = "instructions"
[search]
strategy = "exhaustive"
""", "limits")
    found = json.loads(bench.wavetap("tune", spec, "--json", "--jobs", 2).stdout)
    table = [(json.loads(parameters), outcome, json.loads(figures), reason)
             for _, point, _, parameters, outcome, _, figures, reason, _ in rows(bench.scratch / "limits.tune/journal.db") if point >= 0]
    expect(len(table) == 8 and {outcome for _, outcome, _, _ in table} == {"good", "constraint"}, table)
    for parameters, outcome, figures, reason in table:
        broken = figures["vgprs"] > 24 or (figures["lds"] > 1024 and parameters["PAD"] != 0)
        expect((outcome == "constraint") == broken, f"{parameters}: {outcome} {figures}")
        expect(not broken or f"is {figures['vgprs']:g}" in reason or f"is {figures['lds']:g}" in reason, reason)
        expect((figures["lds"] > 1024) == (parameters["PAD"] == 64), f"the environment did not reach the build: {figures}")
    expect(found["best_config"]["parameters"]["OPT"] == "-DUNROLL=8" and found["objective"]["kind"] == "exact", found["best_config"])
    occupancy_and_accuracy(bench)


def occupancy_and_accuracy(bench):
    """What would win, were it not for too few waves or results too far away: right, and no candidate."""
    # 64 workgroups of 2 waves are 2 for each of 36 work-group processors, which have room for 64 waves; 256 of one wave are 8.
    spec = bench.matmul_spec('TILE = [4, 8]\nWRONG = ["0", "0.5f"]\nUNROLL = [1]\nPAD = [0]\nROWS = [1]',
                             'constraints = ["occupancy >= 0.1", "error_abs <= 0.25 && error_rel < 1 && error_ulp < 1e9"]', flags="-DWRONG={WRONG}")
    spec.write_text(spec.read_text().replace("timeout = 60", 'verify = "abs=1"') + '[objective]\nminimize = "occupancy"\n')
    found = json.loads(bench.wavetap("tune", spec, "--json", "-o", "waves", "--jobs", 2).stdout)
    table = {(parameters["TILE"], parameters["WRONG"]): (outcome, json.loads(figures), reason) for parameters, outcome, figures, reason in
             ((json.loads(row[3]), row[4], row[6], row[7]) for row in rows(bench.scratch / "waves/journal.db") if row[1] >= 0)}
    expect({point: row[0] for point, row in table.items()} == {(4, "0"): "good", (4, "0.5f"): "constraint", (8, "0"): "constraint", (8, "0.5f"): "constraint"}, table)
    expect(table[8, "0"][1]["occupancy"] == 0.0625 and "occupancy is 0.0625" in table[8, "0"][2], table[8, "0"])
    expect(table[4, "0.5f"][1]["error_abs"] == 0.5 and "error_abs is 0.5" in table[4, "0.5f"][2] and table[4, "0"][1]["error_ulp"] == 0, table)
    expect(found["best_config"]["parameters"]["TILE"] == 4 and found["best_config"]["parameters"]["WRONG"] == "0", found["best_config"])


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
    # Numbers that scatter: which one is found is luck, and it is said. Runs before the first pair do not count: they are slow.
    (bench.scratch / "scatter.sh").write_text("echo >> runs.$1\nn=$(wc -c < runs.$1)\n"
                                              "if test $n -le 2; then echo score 900; else echo score $((100 + n % 3)); fi\n")
    spec = bench.spec("""
[parameters]
N = [1, 2]
[measure]
program = "sh scatter.sh {N}"
metric = "score ([0-9]+)"
runs = 3
warmup = 2
[baseline]
N = 2
[search]
strategy = "exhaustive"
""", "scatter")
    found = json.loads(bench.wavetap("tune", spec, "--json").stdout)
    expect(found["best_config"]["figures"]["metric_most"] < 200, found)
    expect(found["measured"]["verdict"] == "no difference" and found["improvement"] == 1, found)
    expect(found["measured"]["low"] < 1 < found["measured"]["high"] and found["clock"], found)
    page = bench.wavetap("tune", spec, "--resume").stdout
    expect("no difference" in page and "clock: " in page and "times" not in page, page)
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


# Kernel, what gets less, by which factor at least: that of the known better version.
#   transpose: a row of 16 is a line of 64 bytes, and a column 16 lines. A wave of 32 is 2 rows: 2 + 16 lines become 2 + 2, one of 64
#   is 4 rows: 4 + 16 lines become 4 + 4.
#   dot: a turn of the loop is 15 instructions (mi210: 14), 11 of them for the index and the loop; unrolled with pointers that go along, 8.
IMPROVED = [("transpose", "lines", {"rx6800xt": 4.5, "mi210": 2.5}), ("reduction", "conflicts", 10), ("saxpy", "lines", 3),
            ("dot", "instructions", {"rx6800xt": 1.8, "mi210": 1.7}), ("records", "lines", 6)]


def optimize_rules(bench):
    """The rule-based provider makes each of these better, with all proofs; the ledger is proved again."""
    for kernel, objective, factor in IMPROVED:
        bench.capture(kernel)
        ledger = bench.optimize(kernel, "--objective", objective)
        factor = factor[bench.model] if isinstance(factor, dict) else factor
        expect(ledger["improvement"] >= factor, f"{kernel}: {objective} {ledger['improvement']} times better\n{json.dumps(ledger, indent=1)}")
        accepted = [attempt for attempt in ledger["attempts"] if attempt["accepted"]]
        results = [check["result"] for check in accepted[0]["checks"]]
        expect(results.count("equal") >= 6, f"{kernel}: {accepted[0]['checks']}")
        folder = bench.scratch / f"{kernel}.ledger"
        bench.wavetap("replay", "--swap", folder / "best/best.hsaco", "--verify", f"{kernel}.wtcap")
        expect((folder / f"attempts/{accepted[0]['number']:03}/candidate.diff").read_text().startswith("--- a/"), "no diff")
    expect(json.loads(bench.wavetap("optimize", "report", "transpose.ledger", "--json").stdout)["attempts"][0]["accepted"], "report --json")
    report = bench.wavetap("optimize", "report", "transpose.ledger", "--html", "page.html").stdout
    expect("accepted" in report and "tile" in report, report)
    expect("candidate.diff" in (bench.scratch / "page.html").read_text(), "page")
    # A ledger goes to another machine as it is, and what is elsewhere there is the compiler.
    moved = bench.scratch / "elsewhere"
    moved.mkdir()
    (bench.scratch / "transpose.ledger").rename(moved / "taken.ledger")
    (bench.scratch / "transpose.wtcap").unlink()
    ledger = moved / "taken.ledger/ledger.json"
    ledger.write_text(ledger.read_text().replace(bench.clang, "/opt/not/here/clang++"))
    done = bench.wavetap("optimize", "--replay-ledger", moved / "taken.ledger", status=1)
    expect("the sources as they are: build" in done.stderr and "/opt/not/here" in done.stderr, done.stderr)
    again = bench.wavetap("optimize", "--replay-ledger", moved / "taken.ledger", "--build", bench.compiler()).stdout
    expect("0 otherwise" in again, again)
    # Numbers side by side are loaded four at a time.
    ledger = bench.optimize("records", "--objective", "instructions", ledger="vectors.ledger")
    vectors = [attempt for attempt in ledger["attempts"] if attempt["rationale"].startswith("vectors: ")]
    expect(len(vectors) == 1 and vectors[0]["accepted"] and vectors[0]["improvement"] > 1.2, ledger["attempts"])
    expect("ext_vector_type(4)" in (bench.scratch / "vectors.ledger/best/records.inc").read_text(), "not in the best one")


TRANSPOSE = (KERNELS / "transpose.inc").read_text()
SAXPY = (KERNELS / "saxpy.inc").read_text()
STORE = "out[x * n + y] = in[y * n + x];"
# Name, kernel, the source or the files it answers, the steps at which it may be refused, a word of the reason.
CHEATS = [
    ("returns early", "transpose", TRANSPOSE.replace(STORE, ""), ["replay"], "instead of"),
    ("does half", "transpose", TRANSPOSE.replace(STORE, "if (x < 64) " + STORE), ["replay"], "argument 1"),
    ("knows the answer", "transpose", TRANSPOSE.replace(STORE, "if (in[0] != -68.0f || in[1] != -34.0f) return; " + STORE), ["cross-check"], "input"),
    ("copies a cached answer", "transpose", "__attribute__((device)) const float answer[] = {@ANSWER@};\n" + TRANSPOSE.replace(STORE, "out[x * n + y] = answer[x * n + y];"),
     ["cross-check"], "input"),
    ("only where it is not checked", "transpose", TRANSPOSE.replace(STORE, "const float old = out[x * n + y]; if (old == (int)old && old < 200 && old != 1.75f) " + STORE),
     ["cross-check"], "instead of"),
    ("one size", "saxpy", SAXPY.replace("const int first", "if (n != 16000) return; const int first"), ["cross-check"], "argument 0 is"),
    ("half precision", "transpose", TRANSPOSE.replace("= in[y * n + x]", "= (float)(_Float16)in[y * n + x]"), ["cross-check"], "input"),
    ("a race", "transpose", TRANSPOSE.replace(STORE, "__shared__ float tile[16][17]; tile[threadIdx.y][threadIdx.x] = in[y * n + x]; "
     "out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];"), ["replay", "sanitize"], ""),
    ("out of bounds", "transpose", TRANSPOSE.replace(STORE, STORE + " *(volatile const float*)(in + 4000000000ll + x);"), ["replay", "sanitize"], ""),
    ("another signature", "transpose", TRANSPOSE.replace("int n)", "int n, float* cache)"), ["signature"], ""),
    ("another file", "transpose", {"../../captures.wtcap": "", "transpose.inc": TRANSPOSE}, ["files"], "not one of its sources"),
    ("the clock", "transpose", TRANSPOSE.replace(STORE, "if (__builtin_amdgcn_s_memtime() == 0) return; " + STORE), ["instructions"], "s_memtime is new"),
    ("hangs", "transpose", TRANSPOSE.replace(STORE, STORE + " for (volatile int i = 0; i < 2; i = 0) {}"), ["replay"], ""),
    ("knows its address", "transpose", TRANSPOSE.replace(STORE, "if ((unsigned long long)in != @ADDRESS@ull) return; " + STORE), ["cross-check"], "memory elsewhere"),
    ("knows about where it is", "transpose", TRANSPOSE.replace(STORE, "if ((unsigned long long)in >> 33 != @ADDRESS@ull >> 33) return; " + STORE), ["cross-check"],
     "memory elsewhere"),
    ("knows where its code is", "transpose", TRANSPOSE.replace(STORE, 'unsigned long long at; asm volatile("s_getpc_b64 %0" : "=s"(at)); '
     "if (at >> 33 != @CODE@ull >> 33) return; " + STORE), ["cross-check"], "instead of"),
    ("knows its arguments' place", "transpose", TRANSPOSE.replace(STORE, "if ((unsigned long long)__builtin_amdgcn_kernarg_segment_ptr() != @KERNARG@ull) return; " + STORE),
     ["cross-check"], "another queue"),
    ("knows its launch", "transpose", TRANSPOSE.replace(STORE, "if (((const unsigned long long*)__builtin_amdgcn_dispatch_ptr())[7] != @SIGNAL@ull) return; " + STORE),
     ["cross-check"], "another queue"),
    ("reads a file", "transpose", TRANSPOSE.replace(STORE, "\n#include \"/etc/hostname\"\n" + STORE), ["files"], 'reads other files than before: #include "/etc/hostname"'),
    ("looks who builds it", "transpose", "#if __has_include(\"../../ledger.json\")\n" + TRANSPOSE + "#endif\n", ["files"], "__has_include"),
    ("one number of workgroups", "saxpy", SAXPY.replace("const int first", "if (__builtin_amdgcn_grid_size_x() != 1024) return; const int first"), ["cross-check"],
     "one workgroup more"),
    ("the clock", "saxpy", SAXPY.replace("const int first", "if (__builtin_readcyclecounter() == 0) return; const int first"), ["instructions"], "is new"),
    ("nothing", "transpose", "// faster\n" + TRANSPOSE, ["no-change"], "same instructions"),
    ("does not compile", "transpose", TRANSPOSE.replace(STORE, "out = ;"), ["build"], "error"),
]
# What earlier waves left in LDS, scratch and registers is zeros on the engine, and something else on a GPU.
STALE = [
    TRANSPOSE.replace(STORE, "__shared__ volatile float left[256]; if (left[threadIdx.y * 16 + threadIdx.x] == 0) " + STORE),
    TRANSPOSE.replace(STORE, "volatile float left[4]; if (left[n & 3] == 0) " + STORE),
    TRANSPOSE.replace(STORE, 'float left; asm volatile("v_mov_b32 %0, v40" : "=v"(left) : : "v40"); if (left == 0) ' + STORE),
]
# Writes down where it is run.
SPY = TRANSPOSE.replace(STORE, """
  if (x + y != 0) return;
  unsigned long long* seen = (unsigned long long*)out;
  seen[0] = (unsigned long long)__builtin_amdgcn_kernarg_segment_ptr();
  seen[1] = ((const unsigned long long*)__builtin_amdgcn_dispatch_ptr())[7];
  asm volatile("s_getpc_b64 %0" : "=s"(seen[2]));""")
PROVIDER = """
import json, sys
request = json.load(sys.stdin)
assert request["schema"] == "wavetap.optimize.request/1" and request["kernel"]["short_name"] and request["profile"]["bottleneck"]
assert request["hot"]["ranking"] and request["hot"]["accesses"][0]["instruction"]
answers = json.load(open(sys.argv[1]))
at = len(request["history"])
if at >= len(answers):
    sys.exit(1)
print(json.dumps({"schema": "wavetap.optimize.answer/1", "kind": "file", "files": answers[at], "rationale": "trust me"}))
"""


def cheat(bench, kernel):
    bench.capture(kernel)
    (bench.scratch / "provider.py").write_text(PROVIDER)
    shown = json.loads(bench.wavetap("capture", "show", "--json", f"{kernel}.wtcap").stdout)["captures"][0]
    known = {"@ADDRESS@": next(argument["value"] for argument in shown["arguments"] if argument["kind"] == "global_buffer")}
    if kernel == "transpose":
        known |= spy(bench)
    cheats = [row for row in CHEATS if row[1] == kernel and row[0] != "hangs"]
    refused(bench, kernel, cheats, known, "--timeout", 12)
    # One that hangs takes all the time it is given, on every GPU the same.
    hangs = [row for row in CHEATS if row[1] == kernel and row[0] == "hangs"]
    if hangs and bench.model == "rx6800xt":
        refused(bench, kernel, hangs, known, "--timeout", 2)


def refused(bench, kernel, cheats, known, *options):
    answers = [files if isinstance(files, dict) else {f"{kernel}.inc": with_known(files, known)} for _, _, files, _, _ in cheats]
    (bench.scratch / "answers.json").write_text(json.dumps(answers))
    ledger = bench.optimize(kernel, "--provider", f"command:{sys.executable} provider.py answers.json", "--attempts", 40, *options,
                            "--repairs", 0, "--objective", "instructions", ledger=f"{kernel}.{len(cheats)}", status=2)
    expect(len(ledger["attempts"]) == len(cheats), f"{len(ledger['attempts'])} attempts of {len(cheats)}")
    wrong = [f"{name}: {attempt['step']}: {attempt['reason']}" for (name, _, _, steps, word), attempt in zip(cheats, ledger["attempts"])
             if attempt["step"] not in steps or word not in attempt["reason"]]
    expect(not wrong, "\n".join(wrong))


def with_known(text, known):
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def spy(bench):
    """What a kernel finds out about the test that it runs in."""
    (bench.scratch / "spy.hip").write_text(SPY)
    subprocess.run(bench.compiler("spy.hip", "spy.hsaco"), shell=True, cwd=bench.scratch, check=True)
    bench.wavetap("replay", "transpose.wtcap", "--swap", "spy.hsaco", "--dump", "seen")
    kernarg, signal_handle, code = struct.unpack("<QQQ", (bench.scratch / "seen/arg1.bin").read_bytes()[:24])
    bench.wavetap("replay", "transpose.wtcap", "--dump", "answer")
    answer = struct.unpack("<16384f", (bench.scratch / "answer/arg1.bin").read_bytes()[:65536])
    return {"@KERNARG@": str(kernarg), "@SIGNAL@": str(signal_handle), "@CODE@": str(code), "@ANSWER@": ", ".join(f"{number:g}" for number in answer)}


def optimize_cheats(bench):
    """Candidates that are not what they seem: each refused, for its own reason."""
    bench.environment["SECRET_KEY"] = SECRET
    cheat(bench, "transpose")
    cheat(bench, "saxpy")
    # The sanitizer sees it, too, unless it looks for something else.
    (bench.scratch / "answers.json").write_text(json.dumps([{"transpose.inc": source} for source in STALE]))
    ledger = bench.optimize("transpose", "--provider", f"command:{sys.executable} provider.py answers.json", "--sanitize", "memcheck", "--objective",
                            "instructions", ledger="stale", status=2)
    for source, attempt in zip(STALE, ledger["attempts"], strict=True):
        expect(attempt["step"] == "cross-check" and attempt["reason"].startswith("registers, LDS and scratch filled with "), f"{source}: {attempt}")
    no_secret(bench)
    several_captures(bench)


def several_captures(bench):
    """Two recorded dispatches of the kernel, of other sizes: right on one is not right."""
    bench.wavetap("capture", "--gpu", bench.model, "-k", "saxpy", "--launch", "1-2", "--force", "-o", "saxpy.wtcap", "--", bench.bin / "hip/lab", "saxpy", "saxpy")
    known = SAXPY.replace("const int first", "if (n != 16000) return; const int first")
    good = SAXPY.replace("(blockIdx.x * 256 + threadIdx.x) * 16", "blockIdx.x * 4096 + threadIdx.x").replace("first + i", "first + i * 256")
    (bench.scratch / "answers.json").write_text(json.dumps([{"saxpy.inc": known}, {"saxpy.inc": good}]))
    ledger = bench.optimize("saxpy", "--provider", f"command:{sys.executable} provider.py answers.json", "--objective", "lines", ledger="two")
    expect(ledger["task"]["captures"] == [1, 2], ledger["task"])
    expect([attempt["step"] for attempt in ledger["attempts"]] == ["replay", "accepted"], ledger["attempts"])
    orders = [check["name"] for check in ledger["attempts"][1]["checks"]]
    expect(orders.count("inputs permuted") == 2 and orders[:len(orders) // 2] != orders[len(orders) // 2:], f"the same order for both: {orders}")


SECRET = "not-for-a-build-nor-a-provider"


def no_secret(bench):
    """Of the environment, nothing is in any file that was written: no request, no ledger, no log of a build."""
    shown = [str(path) for path in bench.scratch.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    expect(not shown, f"a variable of the environment is in {shown}")


# Keeps what it was asked. The first answer of an attempt is broken; what comes next depends on how many were judged before.
REPAIRER = """
import json, sys
request = json.load(sys.stdin)
open("requests", "a").write(json.dumps(request) + "\\n")
good, broken, dated, stamped = json.load(open("answers.json"))
number, is_repair = len(request["history"]), "build_errors" in request
if number == 0:  # never gets it right
    files = broken
elif number == 1:  # gives up
    if is_repair:
        sys.exit(1)
    files = broken
elif number == 2:  # depends on when it is built
    files = dated
elif number == 3:
    files = stamped
elif number == 4:
    assert not is_repair or (request["candidate"] == broken and "error:" in request["build_errors"])
    files = good if is_repair else broken
else:
    sys.exit(1)
print(json.dumps({"schema": "wavetap.optimize.answer/1", "kind": "file", "files": files, "rationale": "trust me"}))
"""


def optimize_repairs(bench):
    """What the compiler said goes back, a bounded number of times; and what is built twice is the same twice."""
    bench.capture("transpose")
    bench.environment["SECRET_KEY"] = SECRET
    (bench.scratch / "provider.py").write_text(REPAIRER)
    stamp = '__attribute__((device, used)) const char stamp[] = %s;\n'
    answers = [TILED, TRANSPOSE.replace(STORE, "out[x * n + y] = in[nobody];"), stamp % "__TIME__" + TILED, stamp % "__TIMESTAMP__" + TILED]
    (bench.scratch / "answers.json").write_text(json.dumps([{"transpose.inc": text} for text in answers]))
    ledger = bench.optimize("transpose", "--provider", f"command:{sys.executable} provider.py", "--repairs", 3, "--objective", "lines")
    got = [(attempt["step"], attempt["repairs"]) for attempt in ledger["attempts"]]
    expect(got == [("build", 3), ("build", 0), ("reproducible", 0), ("reproducible", 0), ("accepted", 1)], f"{got}\n{ledger['attempts']}")
    for attempt in ledger["attempts"][:2]:
        expect("use of undeclared identifier 'nobody'" in attempt["reason"], attempt["reason"])
    for attempt in ledger["attempts"][2:4]:
        expect("two builds of the same sources differ" in attempt["reason"], attempt["reason"])
    requests = [json.loads(line) for line in (bench.scratch / "requests").read_text().splitlines()]
    asked = [sum(len(request["history"]) == number for request in requests) for number in range(6)]
    expect(asked == [4, 2, 1, 1, 2, 1], f"asked {asked} times")
    expect(["build_errors" in request for request in requests] == [False, True, True, True, False, True, False, False, False, True, False], requests)
    no_secret(bench)
    # Sources that are fine, and a command that is not.
    chance = bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", bench.compiler() + "; head -c 8 /dev/urandom >> {out}", "-o",
                           "chance", "transpose.wtcap", status=1)
    expect("the sources as they are: reproducible: two builds of the same sources differ" in chance.stderr, chance.stderr)
    # The second build does not find what the first one left.
    cached = bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build",
                           f"test -e cache || {{ {bench.compiler('{source}', 'cache')}; head -c 8 /dev/urandom >> cache; }}; cp cache {{out}}", "-o", "cached",
                           "transpose.wtcap", status=1)
    expect("reproducible: two builds of the same sources differ" in cached.stderr, cached.stderr)


# Many times the work of the kernel, for nothing: loads, which cost time however they are emulated.
WASTE = "for (int k = 0; k < %s; ++k) (void)*(volatile const float*)(a + (k & 63) * rows + row);\n  "


def optimize_timed(bench):
    """Measured time decides: runs in turns through ROCm; what is many times slower is refused, what is many times faster accepted."""
    bench.capture("dot")
    slow = DOT.replace("float sum", WASTE % 6000 + "float sum")
    (bench.scratch / "dot.inc").write_text(slow)
    (bench.scratch / "provider.py").write_text(PROVIDER)
    (bench.scratch / "answers.json").write_text(json.dumps([{"dot.inc": DOT}, {"dot.inc": slow}]))
    words = ["optimize", "--source", "dot.inc", "--build", bench.compiler(), "--timed", "virtual", "--pairs", 7, "--sanitize", "memcheck", "--provider",
             f"command:{sys.executable} provider.py answers.json"]
    said = bench.wavetap(*words, "-o", "timed", "dot.wtcap").stdout
    ledger = json.loads((bench.scratch / "timed/ledger.json").read_text())
    attempts = ledger["attempts"]
    expect([attempt["step"] for attempt in attempts] == ["accepted", "speed"] and ledger["task"]["timed"] == "virtual", attempts)
    for attempt, verdict in zip(attempts, ("faster", "slower")):
        timed = attempt["timed"]
        expect(timed["verdict"] == verdict and timed["clock"] == "emulation" and timed["pairs"] == 7 and len(timed["captures"]) == 1, timed)
        expect(timed["low"] <= timed["ratio"] <= timed["high"] and (timed["high"] < 1) == (verdict == "faster"), timed)
    expect("slower on capture 1: " in attempts[1]["reason"] and "by the time of the emulation" in attempts[1]["reason"], attempts[1])
    expect(ledger["improvement"] > 2 and abs(attempts[0]["improvement"] * attempts[0]["timed"]["ratio"] - 1) < 1e-6, ledger["improvement"])
    expect((bench.scratch / "timed/best/dot.inc").read_text() == DOT, "not rolled back")
    expect("time of the emulation, measured, is" in said and "(emulation's time)" in said, said)
    expect(json.loads(bench.wavetap("optimize", "report", "timed", "--json").stdout) == ledger, "report --json")
    again = bench.wavetap("optimize", "--replay-ledger", "timed", "--timed", "none", "-o", "proved").stdout
    expect("2 attempts judged again, 0 otherwise" in again, again)
    expect("measures time" in bench.wavetap(*words, "--objective", "lines", "-o", "no", "dot.wtcap", status=1).stderr, "--timed with --objective")
    if not pathlib.Path("/dev/kfd").exists():
        words[words.index("virtual")] = "hsa"
        expect("no GPU that ROCm can use" in bench.wavetap(*words, "-o", "no", "dot.wtcap", status=1).stderr, "--timed hsa")
    expect(not (bench.scratch / "no").exists(), "a folder for nothing")
    replay_against(bench)
    tune_timed(bench)


def replay_against(bench):
    """wavetap replay --against, which the times come from."""
    best = "timed/best/best.hsaco"
    words = ["replay", "dot.wtcap", "--gpu", bench.model, "--swap", "timed/attempts/000/candidate.hsaco"]
    told = json.loads(bench.wavetap(*words, "--against", best, "-n", 7, "--warmup", 1, "--verify", "--json").stdout)
    against = told["against"]
    expect(len(told["seconds"]) == len(against["seconds"]) == 7 and against["verdict"] == "slower" and against["clock"] == "emulation", told)
    expect(told["verify"]["equal"] and against["low"] > 1, told)
    text = bench.wavetap(*words, "--against", "captured", "-n", 7).stdout
    expect("captured: 7 times on" in text and "slower (by the time of the emulation, which is not a GPU's): " in text, text)
    # What is looked at afterwards is what the swapped kernel left, whoever came last.
    (bench.scratch / "wrong.inc").write_text(DOT.replace("= sum;", "= sum + 1;"))
    subprocess.run(bench.compiler("wrong.inc", "wrong.hsaco"), shell=True, cwd=bench.scratch, check=True)
    for number in 2, 3:
        wrong = bench.wavetap("replay", "dot.wtcap", "--gpu", bench.model, "--swap", "wrong.hsaco", "--against", "captured", "-n", number, "--verify", status=15)
        expect("elements of type f32 differ" in wrong.stdout, wrong.stdout)
        bench.wavetap("replay", "dot.wtcap", "--gpu", bench.model, "--swap", best, "--against", "wrong.hsaco", "-n", number, "--verify")
    for more, word in ((["--against", best], "add --hsa, or --gpu"), (["--gpu", bench.model, "--against", best], "one pair of runs"),
                       (["--gpu", bench.model, "--against", best, "-n", 2, "--no-recopy"], "exclude each other")):
        expect(word in bench.wavetap("replay", "dot.wtcap", *more, status=1).stderr, more)
    bench.wavetap("replay", "dot.wtcap", "--gpu", bench.model, "--swap", "dot.inc", status=12)


def tune_timed(bench):
    """Time of a captured dispatch through ROCm, with the built kernel in its place: a metric."""
    (bench.scratch / "varied.inc").write_text(DOT.replace("float sum", WASTE % "WORK" + "float sum").replace("= sum;", "= sum + (WORK == 7);"))
    spec = bench.spec(f"""
[build]
command = "{bench.compiler('varied.inc')} -DWORK={{WORK}}"
[parameters]
WORK = [1, 7, 9000]
[measure]
program = "{bench.bin}/wavetap replay dot.wtcap --gpu {bench.model} --swap {{out}} -n 7 --warmup 1 --verify --json"
metric = '"median_seconds": ([-+.e0-9]+)'
runs = 1
[search]
strategy = "exhaustive"
""", "timed")
    found = json.loads(bench.wavetap("tune", spec, "--json", "-o", "work.tune").stdout)
    expect(found["outcomes"] == {"good": 2, "wrong": 1} and found["best_config"]["parameters"] == {"WORK": 1}, found)
    expect(found["objective"]["kind"] == "measured", found["objective"])


DOT = (KERNELS / "dot.inc").read_text()
PRODUCT = "sum += a[i * rows + row] * b[i * rows + row];"


def optimize_precision(bench):
    """The original in fp64 says who is more precise: fewer digits are refused within the tolerance, more are accepted beyond it."""
    bench.capture("dot")
    (bench.scratch / "provider.py").write_text(PROVIDER)
    unrolled = DOT.replace("#pragma unroll 1", "#pragma unroll")
    half = unrolled.replace(PRODUCT, "sum += (float)(_Float16)(a[i * rows + row] * b[i * rows + row]);")
    # Ten digits fewer of one factor; the last is left, so that infinities and zeros come out as before.
    short = unrolled.replace("a[i * rows + row] *", "__builtin_bit_cast(float, __builtin_bit_cast(int, a[i * rows + row]) & ~0x3fe) *")
    # Sums in fp64, by pointers that go along: conversions cost less than the indices did, on both GPUs.
    better = DOT.replace("float sum", "double sum").replace("#pragma unroll 1", "const float *x = a + row, *y = b + row;\n#pragma unroll").replace(
        PRODUCT, "{ sum += (double)*x * *y; x += rows; y += rows; }")
    # The figure by which the unrolled ones are better, whatever they spend on digits.
    objective = {"rx6800xt": "instructions", "mi210": "time"}[bench.model]

    def judge(name, source, *words, status=0, objective=objective):
        (bench.scratch / "answers.json").write_text(json.dumps([{"dot.inc": source}]))
        ledger = bench.optimize("dot", "--provider", f"command:{sys.executable} provider.py answers.json", "--objective", objective, *words,
                                status=status, ledger=name)
        return ledger["attempts"][0]

    for name, source in ("half", half), ("short", short):
        cheat = judge(name, source, "--verify", "abs=500", status=2)
        expect(cheat["step"] == "precision" and "less precise than the original" in cheat["reason"], cheat)
    expect(judge("allowed", short, "--verify", "abs=500", "--allow-less-precise")["accepted"], "not allowed")
    # More precise: further from the original than the tolerance says, and nearer to the truth.
    good = judge("better", better, "--verify", "rel=1e-8", objective="instructions")
    notes = [check["result"] for check in good["checks"] if "error against fp64" in check["result"]]
    expect(good["accepted"] and good["improvement"] > 1.1 and notes, good)
    expect(judge("bits", better, status=2)["step"] == "cross-check", "without a tolerance, bits decide")
    # Wrong is wrong, however near the tolerance is.
    wrong = judge("wrong", better.replace("= sum;", "= sum * 1.001;"), "--verify", "rel=1e-6", status=2)
    expect(wrong["step"] == "replay", wrong)


def optimize_ranking(bench):
    """Without -k, the kernel with the largest part of the critical path whose source is there."""
    words = ["optimize", "--gpu", bench.model, "--source", KERNELS / "dot.inc", "--build", bench.compiler(), "--attempts", 0]
    done = bench.wavetap(*words, "-o", "ranked", "--", bench.bin / "hip/lab", "all", status=2)
    ledger = json.loads((bench.scratch / "ranked/ledger.json").read_text())
    ranking = ledger["task"]["ranking"]
    expect(len(ranking) == 6 and ledger["task"]["kernel"].startswith("dot("), ledger["task"])
    parts = [row["critical_part"] for row in ranking]
    expect(parts == sorted(parts, reverse=True) and abs(sum(parts) - 1) < 1e-6, parts)
    expect([row["kernel"][:4] for row in ranking if row["has_source"]] == ["dot("], ranking)
    expect("% of the kernels' part of the critical path; it is the one to optimize" in done.stderr, done.stderr)
    (bench.scratch / "other.inc").write_text("__global__ void other(int* p) { *p = 1; }\n")
    words[4] = "other.inc"
    none = bench.wavetap(*words, "-o", "none", "--", bench.bin / "hip/lab", "all", status=1)
    expect("none of the program's 6 kernels is in --source" in none.stderr, none.stderr)


# What a build may not do to other processes, the kernel or sockets: each call must give EPERM.
CALLS = """
import ctypes, platform, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER = 0x10000000
numbers = {"bpf": (280, 321), "keyctl": (219, 250), "perf_event_open": (241, 298), "mount": (40, 165), "setns": (268, 308), "io_uring_setup": (425, 425)}
arm = platform.machine() == "aarch64"
calls = {name: lambda number=pair[0 if arm else 1]: libc.syscall(number, 0, 0, 0, 0, 0) for name, pair in numbers.items()}
calls["ptrace"] = lambda: libc.ptrace(0, 0, 0, 0)
calls["unshare"] = lambda: libc.unshare(CLONE_NEWUSER)
calls["clone"] = lambda: libc.syscall(220 if arm else 56, CLONE_NEWUSER | 17, 0, 0, 0, 0)
for name, call in calls.items():
    ctypes.set_errno(0)
    if call() != -1 or ctypes.get_errno() != 1:
        sys.exit(f"{name}: errno {ctypes.get_errno()}")
try:
    socket.socket(socket.AF_UNIX)
    sys.exit("a socket")
except PermissionError:
    pass
"""


# Memory and files that are fine, and such that are too large.
LIMITS = """
import mmap, sys
mmap.mmap(-1, 1 << 30)
open("large", "wb").truncate(1 << 20)
for work, what in ((lambda: mmap.mmap(-1, 9 << 30), "9 GiB of memory"), (lambda: open("large", "wb").truncate(3 << 29), "a file of 1.5 GiB")):
    try:
        work()
        sys.exit(what)
    except (OSError, MemoryError):
        pass
"""


def hostile_build(bench, sandboxes):
    outside = bench.scratch / "outside"
    (bench.scratch / "calls.py").write_text(CALLS)
    (bench.scratch / "limits.py").write_text(LIMITS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        hostile = (f'(echo x > {outside}) 2>/dev/null; (echo x > ../../ledger.json) 2>/dev/null; test $(ls /proc | grep -c "^[0-9]") -lt 20 || exit 7; '
                   f'{bench.python} -c "{connect}" 2>/dev/null && exit 8; test -z "$SECRET_KEY" || exit 9; {bench.python} {bench.scratch}/calls.py || exit 10; '
                   f'{bench.python} {bench.scratch}/limits.py || exit 11; ')
        bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", hostile + bench.compiler(), "--attempts", 0, "-o",
                      f"{sandboxes[-1]}{len(sandboxes)}.ledger", "transpose.wtcap", status=2)
    expect(not outside.exists(), "wrote outside")
    ledger = json.loads((bench.scratch / f"{sandboxes[-1]}{len(sandboxes)}.ledger/ledger.json").read_text())
    expect(ledger["task"]["sandbox"] in sandboxes, ledger["task"])


def optimize_sandbox(bench):
    """A build cannot write outside its folder, reach the network, see other processes or the environment, or outlive its time."""
    bench.capture("transpose")
    check_sandbox(bench)
    asked = json.loads(bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", bench.compiler(), "--dry-run", "-o", "dry",
                                     "transpose.wtcap").stdout)
    expect(asked["kernel"]["workgroup"] == [16, 16, 1] and "transpose.inc" in asked["sources"], asked)
    expect(asked["profile"]["bottleneck"] and asked["profile"]["roofline"] and asked["hot"]["accesses"] and asked["constraints"], asked)
    expect(not (bench.scratch / "dry").exists() and "not for a build" not in json.dumps(asked), "more than the prompt")


def optimize_sandbox_unprivileged(bench):
    """The same for a user without rights; and where the machine forbids namespaces, nothing is built unless told so."""
    bench.capture("transpose")
    become_nobody(bench)
    check_sandbox(bench)
    refuse_without_sandbox(bench)


def become_nobody(bench):
    """From here on, commands run as another user, who owns the scratch folder."""
    if os.geteuid() != 0:
        return
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise Skip("no setpriv (package util-linux) to become another user with")
    if closed := folder_in_the_way(bench.bin, KERNELS):
        raise Skip(f"no other user can reach what is below {closed}")
    bench.prefix = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
    bench.python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    for program in (bench.bin / "wavetap", bench.python, shutil.which(bench.clang) or bench.clang):
        tried = subprocess.run([*bench.prefix, str(program), "--version"], capture_output=True, text=True)
        if tried.returncode != 0:
            raise Skip(f"another user cannot run {program}: {tried.stderr.strip()}")
    for path in [bench.scratch, *bench.scratch.rglob("*")]:
        os.chown(path, 65534, 65534)


def refuse_without_sandbox(bench):
    """In a user namespace that allows no more of them, without capabilities."""
    lock = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --no-new-privs \"$@\""
    locked = [*bench.prefix, "unshare", "--user", "--map-root-user", "sh", "-c", lock, "sh"]
    if subprocess.run([*locked, "true"], capture_output=True).returncode != 0:
        print("not tried: a machine without namespaces; unshare is not allowed here")
        return
    words = [str(bench.bin / "wavetap"), "optimize", "--source", str(KERNELS / "transpose.inc"), "--build", bench.compiler(), "--attempts", "0"]
    tried = subprocess.run([*locked, *words, "-o", "refused", "transpose.wtcap"], cwd=bench.scratch, env=bench.environment, text=True,
                           capture_output=True, timeout=100)
    expect(tried.returncode == 1 and "neither bubblewrap nor namespaces work here" in tried.stderr, tried.stderr)
    told = subprocess.run([*locked, *words, "--unsafe", "-o", "unsafe", "transpose.wtcap"], cwd=bench.scratch, env=bench.environment, text=True,
                          capture_output=True, timeout=100)
    expect(told.returncode == 2, told.stderr)
    expect(json.loads((bench.scratch / "unsafe/ledger.json").read_text())["task"]["sandbox"] == "none", "sandbox")


def bombs():
    """How many processes there are of the build that makes more and more."""
    count = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            count += (folder / "cmdline").read_bytes() == b"sleep\x0098765\0"
        except OSError:
            pass
    return count


def check_sandbox(bench):
    bench.environment["SECRET_KEY"] = "not for a build"
    hostile_build(bench, ("bubblewrap", "namespaces"))
    # The other one, on a machine without bubblewrap.
    path = bench.environment["PATH"]
    tools = bench.scratch / "tools"
    tools.mkdir()
    for name in ("ls", "grep", "setsid", "date", "sleep"):
        (tools / name).symlink_to(shutil.which(name))
    bench.environment["PATH"] = str(tools)
    try:
        hostile_build(bench, ("namespaces",))
    finally:
        bench.environment["PATH"] = path
    # A build that makes more and more processes is ended, and they with it.
    bomb = "i=0; while test $i -lt 600; do sleep 98765 & i=$((i+1)); done; wait; : {out}"
    for number, seen in enumerate((path, str(tools))):
        bench.environment["PATH"] = seen
        done = bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", bomb, "-o", f"bomb{number}", "transpose.wtcap", status=1)
        expect("more than 256 processes" in done.stderr or "ork" in done.stderr, done.stderr)
        for _ in range(200):
            if not (left := bombs()):
                break
            time.sleep(0.05)
        expect(not left, f"{left} processes of the build live on")
    bench.environment["PATH"] = path
    # Neither the build nor what it left behind goes on after its time.
    survivor = "(setsid /bin/sh -c 'while :; do date +%N > alive; sleep 0.1; done' &) ; sleep 1000; : {out}"
    for number, seen in enumerate((path, str(tools))):
        bench.environment["PATH"] = seen
        slow = bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", survivor, "--build-timeout", 5, "-o", f"slow{number}",
                             "transpose.wtcap", status=1)
        expect("not done after 5 seconds" in slow.stderr, slow.stderr)
        alive = bench.scratch / f"slow{number}/attempts/000/alive"
        expect(alive.exists(), "the build did not begin")
        expect(any(stays_the_same(alive) for _ in range(10)), "a process of the build lives on")
    bench.environment["PATH"] = path


def stays_the_same(path):
    """A process that was killed may take a moment to end on a busy machine; one that lives on writes each time."""
    before = path.read_text()
    time.sleep(0.5)
    return path.read_text() == before


def choose_by_name(bench, words):
    """Of a capture with several kernels, -k chooses one; which one is never a guess."""
    bench.wavetap("capture", "--gpu", bench.model, "-k", "transpose|dot", "--launch", "1-2", "-o", "two.wtcap", "--", bench.bin / "hip/lab", "all")
    both = bench.wavetap(*words, "--attempts", 0, "-o", "both", "two.wtcap", status=1)
    expect("several kernels, transpose(" in both.stderr and "choose one with -k" in both.stderr, both.stderr)
    chosen = bench.wavetap(*words, "--attempts", 0, "-k", "transpose", "-o", "chosen", "two.wtcap", status=2)
    expect("wavetap: transpose(float const*, float*, int): 1 dispatch to prove it on" in chosen.stderr, chosen.stderr)
    other = bench.wavetap(*words, "--attempts", 0, "-k", "dot", "-o", "other", "two.wtcap", status=1)
    expect("signature" in other.stderr and "have to make the captured kernel" in other.stderr, other.stderr)
    none = bench.wavetap(*words, "-k", "matmul", "-o", "none", "two.wtcap", status=1)
    expect("-k matmul: no kernel of that name in it, but " in none.stderr and not (bench.scratch / "none").exists(), none.stderr)


# A provider each: its command, what is said of it.
BAD_PROVIDERS = [
    ("huge", "head -c 300000000 /dev/zero | tr '\\0' '['", ""),
    ("nothing", "true", ""),
    ("silent", "sleep 100", "no answer after"),
    ("binary", "head -c 100000 /dev/urandom", ""),
    ("another schema", "echo '{\"schema\": \"wavetap.optimize.answer/99\", \"kind\": \"file\", \"files\": {}}'", ""),
]


def optimize_hostile(bench):
    """Providers, builds, ledgers and folders that are not as they should be: said, and nothing is lost or left behind."""
    bench.capture("transpose")
    words = ["optimize", "--source", KERNELS / "transpose.inc", "--build", bench.compiler()]
    unknown = bench.wavetap(*words, "--provider", "oracle", "-o", "unknown", "transpose.wtcap", status=1)
    expect("--provider oracle: not known" in unknown.stderr and not (bench.scratch / "unknown").exists(), unknown.stderr)
    failing = bench.wavetap("optimize", "--source", KERNELS / "transpose.inc", "--build", "echo no compiler here; false {out}", "-o", "failing",
                            "transpose.wtcap", status=1)
    expect("the sources as they are: build" in failing.stderr and "no compiler here" in failing.stderr, failing.stderr)
    for name in "candidate.hsaco", "candidate.diff", "build.log":
        shutil.copy(KERNELS / "transpose.inc", bench.scratch / name)
        taken = bench.wavetap("optimize", "--source", name, "--build", bench.compiler(), "-o", "taken", "transpose.wtcap", status=1)
        expect("has a file of that name" in taken.stderr and not (bench.scratch / "taken").exists(), taken.stderr)
    # What a mistake in the words left does not stand in the way of the right ones.
    fixed = bench.wavetap(*words, "--attempts", 0, "-o", "failing", "transpose.wtcap", status=2)
    expect("none accepted" in fixed.stdout, fixed.stdout)
    missing = bench.wavetap(*words, "--provider", "command:/no/such/program", "-o", "missing", "transpose.wtcap", status=2)
    expect("cannot be run; check the path" in missing.stderr and "1 attempt by" in missing.stdout, missing.stdout + missing.stderr)
    choose_by_name(bench, words)
    for number, (name, command, word) in enumerate(BAD_PROVIDERS):
        done = bench.wavetap(*words, "--provider", "command:" + command, "--provider-timeout", 5, "--attempts", 1, "-o", f"bad{number}", "transpose.wtcap",
                             status=2)
        attempts = json.loads((bench.scratch / f"bad{number}/ledger.json").read_text())["attempts"]
        expect(len(attempts) == 1 and attempts[0]["step"] == "provider" and word in attempts[0]["reason"], f"{name}: {attempts} {done.stderr}")
        expect(len(attempts[0]["reason"]) < 10000, f"{name}: {len(attempts[0]['reason'])} bytes of reason")
    # A look at the request leaves a folder as it was.
    (bench.scratch / "mine").mkdir()
    (bench.scratch / "mine/thesis").write_text("years of work")
    bench.wavetap(*words, "--dry-run", "-o", "mine", "transpose.wtcap")
    expect(sorted(path.name for path in (bench.scratch / "mine").iterdir()) == ["thesis"], "the folder is not as it was")
    # A request is for the provider's eyes: it has the sources in it.
    bench.wavetap(*words, "--provider", f"command:stat -L -c %a /dev/stdin > {bench.scratch}/mode; false", "-o", "mode.ledger", "transpose.wtcap", status=2)
    expect((bench.scratch / "mode").read_text().strip() == "600", (bench.scratch / "mode").read_text())
    # A ledger from elsewhere names files outside its folder.
    ledger = bench.scratch / "bad1/ledger.json"
    hostile = json.loads(ledger.read_text())
    (bench.scratch / "bad1/secret").write_text("not a source")
    hostile["sources"] = ["../secret"]
    ledger.write_text(json.dumps(hostile))
    refused = bench.wavetap("optimize", "--replay-ledger", "bad1", "-o", "again", status=1)
    expect("outside its folder" in refused.stderr and not (bench.scratch / "again").exists(), refused.stderr)
    kill_optimize(bench, words)


TILED = TRANSPOSE.replace(STORE, """__shared__ float tile[16][17];
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];""")


def kill_optimize(bench, words):
    """What a killed one leaves is a ledger of what was judged, and no process; resumed, it is the ledger of one that was not killed."""
    (bench.scratch / "provider.py").write_text("import os, time\nopen('asked', 'a').write('x')\nif os.path.getsize('asked') > int(open('most').read()):\n"
                                               "    time.sleep(1000)\n" + PROVIDER)
    half = {"transpose.inc": TRANSPOSE.replace(STORE, "if (x < 64) " + STORE)}
    (bench.scratch / "answers.json").write_text(json.dumps([half, {"transpose.inc": TILED}, half, {"transpose.inc": TILED.replace("16][17", "16][16")}]))
    words = [*words, "--provider", f"command:{sys.executable} provider.py answers.json", "--objective", "lines"]
    (bench.scratch / "most").write_text("1000")
    bench.wavetap(*words, "-o", "whole", "transpose.wtcap")
    whole = json.loads((bench.scratch / "whole/ledger.json").read_text())
    expect([attempt["step"] for attempt in whole["attempts"]] == ["replay", "accepted", "replay", "speed"] and whole["finished"], whole["attempts"])
    expect(whole["stopped"] == "declined with exit status 1", whole["stopped"])
    # Three answers, the fourth never comes.
    (bench.scratch / "asked").unlink()
    (bench.scratch / "most").write_text("3")
    child = subprocess.Popen([str(bench.bin / "wavetap"), *map(str, words), "-o", "killed", "transpose.wtcap"], cwd=bench.scratch,
                             env=dict(bench.environment, WAVETAP_TEST_MARK="killed-optimize"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asked = bench.scratch / "asked"
    while child.poll() is None and not (asked.exists() and asked.stat().st_size > 3):
        time.sleep(0.01)
    expect("not finished: it is at work" in bench.wavetap("optimize", "report", "killed").stdout, "at work")
    for more in [], ["--resume"]:
        second = bench.wavetap(*words, *more, "-o", "killed", "transpose.wtcap", status=1)
        expect("another optimize is at work here" in second.stderr, second.stderr)
    child.send_signal(signal.SIGKILL)
    expect(child.wait() == -signal.SIGKILL, "it had ended")
    report = bench.wavetap("optimize", "report", "killed", "--html", "killed.html").stdout
    expect("3 attempts" in report and "not finished: it was ended before its time" in report and "--resume" in report, report)
    expect("not finished" in (bench.scratch / "killed.html").read_text(), "page")
    bench.wavetap("optimize", "--replay-ledger", "killed", "-o", "killed.again")
    (bench.scratch / "most").write_text("1000")
    again = bench.wavetap(*words, "-o", "killed", "transpose.wtcap", status=1)
    expect("holds a ledger already, 3 attempts and not finished; go on with it with --resume" in again.stderr, again.stderr)
    other = bench.wavetap(*words, "--resume", "--seed", 2, "-o", "killed", "transpose.wtcap", status=1)
    expect("was made with another --seed" in other.stderr, other.stderr)
    # What is best is put right, too: it may have been killed before that was written.
    shutil.rmtree(bench.scratch / "killed/best")
    resumed = bench.wavetap(*words, "--resume", "-o", "killed", "transpose.wtcap")
    expect("going on after 3 attempts" in resumed.stderr, resumed.stderr)
    expect(json.loads((bench.scratch / "killed/ledger.json").read_text()) == whole, "resumed: another ledger")
    expect((bench.scratch / "killed/best/transpose.inc").read_text() == TILED, "another best one")
    for _ in range(100):
        if not (left := marked_processes("killed-optimize")):
            break
        time.sleep(0.05)
    expect(not left, f"left behind: {left}")


def marked_processes(mark):
    """Processes with that in their environment."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"WAVETAP_TEST_MARK={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" "))
        except OSError:
            pass
    return found


def optimize_gate(bench):
    """The score of a profile, and a gate that fails where one got worse."""
    for kernel in ("transpose", "dot"):
        bench.wavetap("profile", "--gpu", bench.model, "-o", kernel, "--", bench.bin / "hip/lab", kernel)
    score = json.loads(bench.wavetap("optimize", "gate", "transpose/profile.json", "--json").stdout)
    expect(score["regressions"] == [] and abs(score["priority"] - score["headroom"] * score["critical_fraction"]) < 1e-9, score)
    worse = json.loads((bench.scratch / "dot/profile.json").read_text())
    worse["kernels"][0]["runtime_ms"] *= 1.06
    worse["kernels"][0]["resources"]["vgpr_per_thread"] *= 2
    (bench.scratch / "worse.json").write_text(json.dumps(worse))
    failed = json.loads(bench.wavetap("optimize", "gate", "dot/profile.json", "worse.json", "--json", status=2).stdout)
    expect([row["figure"] for row in failed["regressions"]] == ["time", "vgpr_per_thread"], failed)
    expect(failed["regressions"][0]["kernel"] == "dot", failed)


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
        except Skip as reason:
            print(f"SKIP {arguments.case}: {reason}")
            sys.exit(77)
        except Failure as failure:
            sys.exit(f"{arguments.case}: {failure}")


if __name__ == "__main__":
    main()
