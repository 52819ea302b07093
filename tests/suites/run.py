#!/usr/bin/env python3
"""Runs AMD's own test suites on the virtual GPU and says what became of every case.

  run.py [--suites NAME...] [--targets GFX...] [--budget SECONDS] [--smoke]
  run.py --suites NAME --targets GFX --complete REGEX          every case of a set, with the usual budget
  run.py --suites NAME --targets GFX --case CASE [--counters FILE] [--trace FILE] [--gpu-seed N] [--gpu-threads N]
  run.py --suites NAME --races         cases whose result changed with threads or seed, once more under racecheck
  run.py --table                       rewrites the rows of docs/suites.md that have a journal here

Test programs come from Debian's packages, in roots below $WAVETAP_SUITES (default: BUILD/suites) that are made when
they are needed. A suite without its packages, or without root's rights, is skipped with a reason.

Every case that ends is written into a journal; a run that was stopped goes on where it was, and a run with a larger
budget adds to the smaller one's cases. Exit status 0: no failure without a known cause; 1: there is one; 77: nothing
could be run.
"""
import argparse
import contextlib
import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from harness import catalogue, races, report
from harness.causes import Causes
from harness.journal import FAILED, PASSED, SKIPPED, SLOW, Journal, read_whole
from harness.roots import Roots, Skipped, architecture, build_identity, enter_namespace
from harness.selection import in_shard
from harness.session import Session

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
SMOKE_SECONDS = 600
# What a short look must not miss: each family of instructions once per target.
SMOKE = {"rocprim": ["gfx1030", "gfx90a"], "rocrand": ["gfx1030"], "rocblas": ["gfx90a", "gfx1030"],
         "rocsolver": ["gfx90a", "gfx1030"], "rocfft": ["gfx1030", "gfx90a"], "hipcub": ["gfx1100"]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--suites", nargs="+", metavar="NAME", help="some suites (default: all); --list names them")
    parser.add_argument("--targets", nargs="+", metavar="GFX", help="some targets (default: all that packages carry)")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="time per suite and target (default: the suite's own)")
    parser.add_argument("--smoke", action="store_true", help="a look of ten minutes at the suites that find most")
    parser.add_argument("--seed", type=int, default=1, help="which cases of each kind come first")
    parser.add_argument("--filter", nargs="+", metavar="PATTERN", help="only cases whose names match, as a shell would")
    parser.add_argument("--complete", metavar="REGEX", help="every case of a set, not a sample of each kind; a journal and a table of its own")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="only part I of N of the cases, counted from 0")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--retry", action="store_true", help="run cases again that did not pass")
    parser.add_argument("--patience", type=float, default=1, metavar="N", help="time limits of cases and starts times N, for a slow or busy machine")
    parser.add_argument("--gpu-threads", type=int, default=0, metavar="N", help="host threads of the engine")
    parser.add_argument("--gpu-seed", type=int, default=0, metavar="N", help="permutes workgroups and waves")
    parser.add_argument("--gpu-jit", choices=["off", "on", "verify"], default="off", help="compile what kernels run often")
    parser.add_argument("--case", metavar="CASE", help="run one case, its output as it comes")
    parser.add_argument("--races", action="store_true", help="run cases whose result changed with threads or seed under racecheck")
    parser.add_argument("--counters", metavar="FILE", help="with --case: exact counters of every dispatch")
    parser.add_argument("--trace", metavar="FILE", help="with --case: record into FILE")
    parser.add_argument("--offline", action="store_true", help="never fetch packages")
    parser.add_argument("--list", action="store_true", help="list suites and targets")
    parser.add_argument("--table", nargs="?", const="all", choices=["all", "variants"],
                        help="rewrite the rows of docs/suites.md that have a journal here, and end; variants: only those that compare engines")
    options = parser.parse_args()
    index, _, count = options.shard.partition("/")
    options.shard = (int(index), int(count or 1))
    try:
        re.compile(options.complete or "")
    except re.error as error:
        parser.error(f"--complete: {options.complete}: {error}; use an expression of Python's")
    options.build = options.build.resolve()
    options.source = SOURCE
    options.folder = pathlib.Path(os.environ.get("WAVETAP_SUITES", options.build / "suites")).resolve()
    return options


def journal_path(options, suite, target):
    jit = "" if options.gpu_jit == "off" else f".jit-{options.gpu_jit}"
    variant = "" if not (options.gpu_threads or options.gpu_seed or jit) else \
        f".threads{options.gpu_threads}.seed{options.gpu_seed}{jit}"
    # A name that the journals of plain runs cannot be taken for.
    whole = f".complete-{hashlib.sha256(options.complete.encode()).hexdigest()[:8]}" if options.complete else ""
    shard = "" if options.shard == (0, 1) else f".shard{options.shard[0]}of{options.shard[1]}"
    return options.folder / "journals" / f"{suite}.{target}{whole}{variant}{shard}.jsonl"


def judged_before(options, suite, target):
    """For a variant of the engine: the cases that the plain one has judged, to compare with; None where there are none."""
    whole = read_whole(options.folder / "journals" / f"{suite}.{target}.jsonl")
    if not whole or not (options.gpu_threads or options.gpu_seed or options.gpu_jit != "off"):
        return None
    return {case for case, entry in whole.cases.items() if entry["status"] in (PASSED, FAILED)} or None


def plan(options, suites):
    """(suite, target, seconds) of everything to run."""
    if options.smoke:
        pairs = [(name, target) for name, targets in SMOKE.items() for target in targets]
        share = SMOKE_SECONDS / len(pairs)
        return [(suites[name], target, share) for name, target in pairs
                if name in (options.suites or suites) and target in (options.targets or catalogue.MODELS)]
    chosen = []
    for name in options.suites or suites:
        if name not in suites:
            sys.exit(f"run.py: {name}: no such suite; use one of {', '.join(suites)}")
        for target in options.targets or suites[name].targets:
            if target not in catalogue.MODELS:
                sys.exit(f"run.py: {target}: no such target; use one of {', '.join(catalogue.MODELS)}")
            chosen.append((suites[name], target, options.budget or suites[name].budget))
    return chosen


def show_progress(session, journal):
    counts = journal.counts()
    print(f"{session.suite.name} {session.target}: " + ", ".join(f"{n} {status}" for status, n in counts.items() if n)
          + f" in {journal.seconds:.0f} s", flush=True)


def list_cases(session):
    """The cases to choose from; says how far it is, since programs are started to ask for them."""
    def note(done, total):
        if done % 10 == 0 or total < 10:
            print(f"{session.suite.name} {session.target}: listing the cases of {total} programs, {done} done", flush=True)
    chosen, out = session.cases(note)
    for reason in session.unlisted.values():
        print(f"skip: {session.suite.name} {session.target}: {reason}", flush=True)
    return chosen, out


def show_skipped(suite, target, journal):
    """Why cases were skipped, where the reason is known."""
    reasons = {}
    for entry in journal.cases.values():
        if entry["status"] == SKIPPED and entry.get("detail"):
            reasons[entry["detail"]] = reasons.get(entry["detail"], 0) + 1
    for reason, count in reasons.items():
        print(f"skip: {suite} {target}: {count} case{'s' if count > 1 else ''}: {reason}", flush=True)


def run_case(options, suites):
    if not options.suites or not options.targets:
        sys.exit("run.py: --case: needs a suite and a target; add --suites NAME --targets GFX")
    session = Session(suites[options.suites[0]], options.targets[0], Roots(options.folder, options.offline), options)
    chosen, out = list_cases(session)
    found = [(path, name) for path, name in [*chosen, *out] if name == options.case]
    if not found:
        near = [name for _, name in chosen if options.case in name][:10]
        sys.exit(f"run.py: {options.case}: no such case" + (f"; there are {' '.join(near)}" if near else ""))
    path, name = found[0]
    wanted = {key: value for key in ("counters", "trace") if (value := getattr(options, key))}
    with outputs(wanted, session.scratch) as extra:
        arguments = session.adapter.selecting([name]) if session.adapter.listing else []
        command = session.command(path, arguments, **extra)
        print(" ".join(command), flush=True)
        return subprocess.run(command, env=session.environment(path)).returncode


def show_races(options, suites):
    """Status 1 where a case whose result depends on the order of waves has no race."""
    roots, looked, without = Roots(options.folder, options.offline), 0, 0
    for suite, target, seconds in plan(options, suites):
        base = options.folder / "journals" / f"{suite.name}.{target}.jsonl"
        wanted, known = races.differing(base), races.read(base)
        todo = [case for case in wanted if (options.fresh or case not in known) and in_shard(" ".join(case), *options.shard)]
        deadline = time.monotonic() + seconds
        session = Session(suite, target, roots, options) if todo else None
        for program, case in todo:
            if time.monotonic() > deadline:
                break
            found = races.look(session, program, case, suite.case_seconds * options.patience)
            if found is not None:
                races.keep(base, program, case, found)
            what = "did not end" if found is None else "no race" if not found else \
                "; ".join(f"{race['kernel']}: {race['text']} (pairs: {race['pairs']})" for race in found)
            print(f"{suite.name} {target}: {case}: {what}", flush=True)
        known = races.read(base)
        looked += sum(1 for case in wanted if case in known)
        without += sum(1 for case in wanted if not known.get(case))
    print(f"{looked} cases looked at, {without} without a race")
    return 1 if without else 0 if looked else 77


@contextlib.contextmanager
def outputs(wanted, scratch):
    """Paths to write to in place of `wanted`, which get what was written there.

    The program sees only the root and the folders that are bound into it, among them `scratch`.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        yield {key: f"{folder}/{pathlib.Path(value).name}" for key, value in wanted.items()}
        for value in wanted.values():
            made = pathlib.Path(folder) / pathlib.Path(value).name
            if made.exists():
                shutil.move(made, value)


def run_all(options, suites):
    roots, causes = Roots(options.folder, options.offline), Causes.load(HERE / "causes.toml")
    ran, unexplained = 0, []
    for suite, target, seconds in plan(options, suites):
        try:
            session = Session(suite, target, roots, options)
            path = journal_path(options, suite.name, target)
            if options.smoke:
                path = path.with_suffix(".smoke.jsonl")
            if options.fresh or options.smoke:
                path.unlink(missing_ok=True)
            journal = Journal(path)
            chosen, _ = list_cases(session)
            header = {"root": session.root, "packages": session.versions(), "seed": options.seed,
                      "engine": build_identity(options.build), "host": architecture(), "listed": session.listed()}
            journal.begin(header | ({"complete": options.complete, "cases": session.known} if options.complete else {}))
            known = judged_before(options, suite.name, target)
            if known:
                chosen = [case for case in chosen if case in known]
            if options.filter:
                chosen = [(program, name) for program, name in chosen
                          if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.filter)]
            if options.retry:
                journal.forget([FAILED, SLOW, SKIPPED], chosen)
            session.run(chosen, journal, seconds, show_progress)
        except Skipped as reason:
            print(f"skip: {suite.name} {target}: {reason}", flush=True)
            continue
        ran += 1
        show_skipped(suite.name, target, journal)
        for entry in journal.failed():
            if not causes.find(suite.name, target, entry["case"]):
                unexplained.append((suite.name, target, entry))
    for suite, target, entry in unexplained:
        print(f"FAILED {suite} {target} {entry['program']} {entry['case']}\n  " +
              entry.get("detail", "").replace("\n", "\n  "))
    if not ran:
        return 77
    print(f"{len(unexplained)} failures without a known cause")
    return 1 if unexplained else 0


def main():
    options = parse_arguments()
    suites = catalogue.load_suites(HERE / "suites")
    if options.list:
        for suite in suites.values():
            print(f"{suite.name:12} {suite.title}: {', '.join(suite.targets)}; {', '.join(suite.packages)}")
        return 0
    if options.table:
        report.write(SOURCE / "docs/suites.md", options.folder, suites, Causes.load(HERE / "causes.toml"), options.table)
        return 0
    if not (options.build / "bin/wavetap").exists():
        sys.exit(f"run.py: {options.build}: no bin/wavetap there; build first")
    try:
        enter_namespace()
    except Skipped as reason:
        print(f"skip: {reason}")
        return 77
    try:
        return run_case(options, suites) if options.case else show_races(options, suites) if options.races else run_all(options, suites)
    except Skipped as reason:
        print(f"skip: {reason}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
