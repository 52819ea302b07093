#!/usr/bin/env python3
"""Runs cases of AMD's test suites under wavetap sanitize and lists what is found.

  sweep_suites.py [--build BUILD] [--suites NAME…] [--targets GFX…] [--budget SECONDS] [--most N]

Roots, programs and the order of cases are those of tests/suites/run.py: each kind of case once, then two more of each …, until the
budget of a suite on a target is spent. Cases of one program run together. Exit status 1 when there is an error, 77 when nothing could be run.
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
sys.path.insert(0, str(HERE.parent / "suites"))
from harness import catalogue, selection  # noqa: E402
from harness.roots import Roots, Skipped, enter_namespace  # noqa: E402
from harness.session import Session  # noqa: E402

# Of one program at a time; more would leave too little of the budget to the others.
TOGETHER = 4


def batches(session, seed):
    """(program, cases), every kind of case once before any comes twice."""
    chosen, _ = session.cases()
    places = {case: place for place, case in enumerate(chosen)}
    for cases in selection.order(chosen, seed, session._pattern, session._size):
        by_program = {}
        for program, case in sorted(cases, key=places.get):
            by_program.setdefault(program, []).append(case)
        for program, names in by_program.items():
            for at in range(0, len(names), TOGETHER):
                yield program, names[at:at + TOGETHER]


def sanitize(session, program, names, limit):
    """(document or None, what went wrong)"""
    command = session.command(program, session.adapter.selecting(names))
    program_words = command[command.index("--") + 1:]
    with tempfile.TemporaryDirectory(dir=session.scratch) as folder:
        path = pathlib.Path(folder) / "findings.json"
        words = [command[0], "sanitize", "--gpu", catalogue.MODELS[session.target], "--json", str(path), "--", *program_words]
        try:
            ran = subprocess.run(words, env=session.environment(program), capture_output=True, text=True, errors="replace", timeout=limit)
        except subprocess.TimeoutExpired:
            return None, f"took more than {limit:.0f} s"
        if not path.exists():
            return None, ran.stderr[-300:]
        return json.loads(path.read_text()), ""


def sweep(session, options):
    """(cases, dispatches, findings by place)"""
    deadline = time.monotonic() + options.budget
    cases = dispatches = slow = 0
    found = {}
    for program, names in batches(session, options.seed):
        left = deadline - time.monotonic()
        if left <= 0 or (options.most and cases >= options.most):
            break
        document, problem = sanitize(session, program, names, min(left + 30, 180))
        if document is None:
            slow += len(names)
            print(f"left out: {session.suite.name} {session.target}: {pathlib.Path(program).name} {names[0]} …: {problem}", flush=True)
            continue
        cases += len(names)
        dispatches += document["dispatches_checked"]
        for finding in document["findings"]:
            place = (finding["severity"], finding["kind"], finding.get("kernel", finding.get("call", ""))[:160],
                     finding.get("source") or finding.get("instruction", ""))
            if place not in found:
                found[place] = (pathlib.Path(program).name, names[0])
                print(f"{': '.join(place)}\n    in {found[place][0]}, {found[place][1]} …: {finding.get('detail', '')}", flush=True)
    print(f"{session.suite.name} {session.target}: {cases} cases, {dispatches} dispatches checked, {slow} cases left out, "
          f"{sum(place[0] == 'error' for place in found)} errors, {sum(place[0] != 'error' for place in found)} warnings", flush=True)
    return cases, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parents[1] / "build", type=pathlib.Path)
    parser.add_argument("--suites", nargs="+", default=["rocprim", "hipcub"])
    parser.add_argument("--targets", nargs="+", default=["gfx1030", "gfx90a"])
    parser.add_argument("--budget", type=float, default=600, help="seconds for a suite on a target")
    parser.add_argument("--most", type=int, default=0, help="cases of a suite on a target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--offline", action="store_true", help="never fetch packages")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.source, options.shard, options.patience, options.complete = HERE.parents[1], (0, 1), 1, ""
    options.gpu_threads, options.gpu_seed, options.gpu_jit = 0, 0, "off"
    options.folder = pathlib.Path(os.environ.get("WAVETAP_SUITES", options.build / "suites")).resolve()
    suites = catalogue.load_suites(HERE.parent / "suites/suites")
    ran = errors = 0
    try:
        enter_namespace()
        roots = Roots(options.folder, options.offline)
        for name in options.suites:
            for target in options.targets:
                cases, found = sweep(Session(suites[name], target, roots, options), options)
                ran += cases
                errors += sum(place[0] == "error" for place in found)
    except Skipped as reason:
        print(f"skip: {reason}")
    sys.exit(77 if not ran else 1 if errors else 0)


if __name__ == "__main__":
    main()
