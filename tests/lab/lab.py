#!/usr/bin/env python3
"""Looks for better kernels with `wavetap tune` and `wavetap optimize`, on dispatches captured on a virtual GPU.

  lab.py --bin BUILD/bin --clang clang++-19 --model MODEL CASE

The cases are the functions below.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import tiled_table

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

    def wavetap(self, *words, status=0):
        done = subprocess.run([*self.prefix, str(self.bin / "wavetap"), *map(str, words)], cwd=self.scratch, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=280)
        if "neither bubblewrap nor namespaces work here" in done.stderr:
            raise Skip(done.stderr.strip())
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def capture(self, kernel):
        path = self.scratch / f"{kernel}.wtcap"
        self.wavetap("capture", "--gpu", self.model, "-k", kernel, "-o", path, "--", self.bin / "hip/lab", kernel)
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
    ("nothing", "transpose", "// faster\n" + TRANSPOSE, ["no-change"], "same instructions"),
    ("does not compile", "transpose", TRANSPOSE.replace(STORE, "out = ;"), ["build"], "error"),
]
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
    # One that hangs takes all the time it is given, on every GPU the same.
    cheats = [row for row in CHEATS if row[1] == kernel and (row[0] != "hangs" or bench.model == "rx6800xt")]
    bench.capture(kernel)
    (bench.scratch / "provider.py").write_text(PROVIDER)
    shown = json.loads(bench.wavetap("capture", "show", "--json", f"{kernel}.wtcap").stdout)["captures"][0]
    address = next(argument["value"] for argument in shown["arguments"] if argument["kind"] == "global_buffer")
    answers = [files if isinstance(files, dict) else {f"{kernel}.inc": files.replace("@ADDRESS@", address)} for _, _, files, _, _ in cheats]
    (bench.scratch / "answers.json").write_text(json.dumps(answers))
    ledger = bench.optimize(kernel, "--provider", f"command:{sys.executable} provider.py answers.json", "--attempts", 20, "--timeout", 12,
                            "--repairs", 0, "--objective", "instructions", status=2)
    expect(len(ledger["attempts"]) == len(cheats), f"{len(ledger['attempts'])} attempts of {len(cheats)}")
    wrong = [f"{name}: {attempt['step']}: {attempt['reason']}" for (name, _, _, steps, word), attempt in zip(cheats, ledger["attempts"])
             if attempt["step"] not in steps or word not in attempt["reason"]]
    expect(not wrong, "\n".join(wrong))


def optimize_cheats(bench):
    """Candidates that are not what they seem: each refused, for its own reason."""
    cheat(bench, "transpose")
    cheat(bench, "saxpy")


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


def hostile_build(bench, sandboxes):
    outside = bench.scratch / "outside"
    (bench.scratch / "calls.py").write_text(CALLS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        hostile = (f'(echo x > {outside}) 2>/dev/null; (echo x > ../../ledger.json) 2>/dev/null; test $(ls /proc | grep -c "^[0-9]") -lt 20 || exit 7; '
                   f'{bench.python} -c "{connect}" 2>/dev/null && exit 8; test -z "$SECRET_KEY" || exit 9; {bench.python} {bench.scratch}/calls.py || exit 10; ')
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
        before = alive.read_text()
        time.sleep(0.5)
        expect(alive.read_text() == before, "a process of the build lives on")
    bench.environment["PATH"] = path


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
