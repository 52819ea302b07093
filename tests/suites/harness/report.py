"""The tables of docs/suites.md, from the journals.

Journals of several machines are seldom in one place: rows of a suite and target that have no journal here stay.
"""
import json
import pathlib
import re

from . import catalogue, races
from .journal import FAILED, PASSED, SKIPPED, SLOW, read_whole

BEGIN, END = "<!-- written by tests/suites/run.py --table: begin -->", "<!-- end -->"


def rows_of(folder, suites):
    """One dictionary per suite and target that has a journal."""
    rows = []
    for suite in suites.values():
        for target in catalogue.MODELS:
            journal = read_whole(pathlib.Path(folder) / "journals" / f"{suite.name}.{target}.jsonl")
            if not journal:
                continue
            counts = journal.counts()
            if not any(counts.values()):
                continue
            listed = journal.header.get("listed", 0)
            rows.append({"suite": suite, "target": target, "journal": journal, "listed": listed,
                         "run": counts[PASSED] + counts[FAILED] + counts[SLOW],
                         "left": max(0, listed - sum(counts.values())), **counts})
    return rows


def section(document, heading):
    """The rows of the table below a heading."""
    below = document.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line for line in below.splitlines() if line.startswith("| ")][1:]


def about(row, cells=2):
    """What a row is about: suite and target, and the engine with three cells."""
    return tuple(cell.strip() for cell in row.split("|")[1:1 + cells])


def in_order(rows, suites):
    """By suite and target; the rows of one pair stay as they come."""
    titles, targets = [suite.title for suite in suites.values()], list(catalogue.MODELS)

    def place(row):
        title, target = about(row)
        return (titles.index(title) if title in titles else len(titles),
                targets.index(target) if target in targets else len(targets))
    return sorted(rows, key=place)


def share(row):
    judged = row[PASSED] + row[FAILED]
    return f"{100 * row[PASSED] / judged:.2f} %" if judged else "-"


def results_table(rows, causes):
    lines = []
    for row in rows:
        failed = row["journal"].failed()
        known = sum(1 for entry in failed if causes.find(row["suite"].name, row["target"], entry["case"]))
        shown = f"{len(failed)} ({known} explained)" if failed else "0"
        packages = row["journal"].header.get("packages", {})
        version = next(iter(packages.values()), "?")
        lines.append(f"| {row['suite'].title} | {row['target']} | {row['journal'].header.get('host', '?')} | "
                     f"{row['journal'].header.get('root', '?')} {version} | {row['run']} | "
                     f"{row[PASSED]} | {shown} | {row[SLOW]} | {row[SKIPPED]} | {row['left']} | {share(row)} |")
    return lines


def failures_table(rows, causes):
    """Failures by cause; those without one are named."""
    groups, unknown = {}, []
    for row in rows:
        for entry in row["journal"].failed():
            cause = causes.find(row["suite"].name, row["target"], entry["case"])
            if cause:
                key = json.dumps(cause, sort_keys=True)
                groups.setdefault(key, (cause, {}))[1].setdefault((row["suite"].title, row["target"]), []).append(entry["case"])
            else:
                unknown.append(f"| {row['suite'].title} | {row['target']} | `{entry['case']}` | not known | |")
    lines = []
    for cause, places in groups.values():
        for (title, target), cases in places.items():
            name = f"`{cases[0]}`" + (f" and {len(cases) - 1} more" if len(cases) > 1 else "")
            why = cause["text"] + (f" Evidence: {cause['evidence']}" if cause.get("evidence") else "")
            lines.append(f"| {title} | {target} | {name} | {cause['cause']} | {why} |")
    return lines + unknown


def variants(folder, suites, causes):
    """Whether the cases of a journal ended alike with other threads and seeds."""
    lines = []
    for suite in suites.values():
        for target in catalogue.MODELS:
            base = pathlib.Path(folder) / "journals" / f"{suite.name}.{target}.jsonl"
            whole = read_whole(base)
            if not whole:
                continue
            shown = races.read(base)
            for name, threads, seed, jit in races.variants(base):
                both = races.compared(base, name, whole.cases)
                if not both:
                    continue
                different = [one for one, other in both if one["status"] != other["status"]]
                engine = (f"{threads} thread{'s' if threads != 1 else ''}" if threads else "all threads") + f", seed {seed}" + \
                    (", compiled" if jit else "") + (" and checked" if jit == "verify" else "")
                lines.append(f"| {suite.title} | {target} | {engine} | {len(both)} | "
                             f"{differences(different, shown, lambda case: causes.find(suite.name, target, case))} |")
    return lines


def differences(entries, shown, cause_of):
    """How many results differ, how many of them racecheck or a cause explains, and the first cases."""
    if not entries:
        return "0 "
    racing = sum(1 for entry in entries if shown.get((entry["program"], entry["case"])))
    known = sum(1 for entry in entries if cause_of(entry["case"]))
    what = f"{known} explained" + (f", {racing} with a race shown" if racing else "")
    names = ", ".join(f"`{entry['case']}`" for entry in entries[:3]) + (" …" if len(entries) > 3 else "")
    return f"{len(entries)} ({what}) {names}"


def complete_sets(folder, suites):
    """Sets of which every case was to be run."""
    lines = []
    for suite in suites.values():
        for target in catalogue.MODELS:
            parts = (pathlib.Path(folder) / "journals").glob(f"{suite.name}.{target}.complete-*.jsonl")
            for name in sorted({re.sub(r"\.shard\d+of\d+", "", path.name) for path in parts}):
                journal = read_whole(pathlib.Path(folder) / "journals" / name)
                counts, header = journal.counts(), journal.header
                missing = header["cases"] - sum(counts.values())
                lines.append(f"| {suite.title} | {target} | {header['host']} | `{header['complete'].replace('|', chr(92) + '|')}` | {header['cases']} | "
                             f"{counts[PASSED]} | {counts[FAILED]} | {counts[SLOW]} | {counts[SKIPPED]} | {missing} |")
    return lines


def totals(rows):
    """Sums over the rows of the first table, one line a target."""
    sums = {}
    for row in rows:
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        counts = [int(cell.split()[0]) for cell in cells[4:8]]
        sums.setdefault(cells[1], []).append(counts)
    lines = []
    for target in catalogue.MODELS:
        if target in sums:
            run, passed, failed, slow = map(sum, zip(*sums[target]))
            share = f"{100 * passed / (passed + failed):.2f} %" if passed + failed else "-"
            lines.append(f"| {target} | {len(sums[target])} | {run} | {passed} | {failed} | {slow} | {share} |")
    return lines


def text(folder, suites, causes, before="", part="all"):
    """`before`: the document as it is, whose rows without a journal here are kept; with the part "variants" only
    the comparison of engines is new, for journals that have fewer cases than those of the other tables had."""
    rows = rows_of(folder, suites) if part == "all" else []
    judged = {(row["suite"].title, row["target"]) for row in rows}
    varied, whole_sets = variants(folder, suites, causes), complete_sets(folder, suites) if part == "all" else []
    racing = races.table(folder, suites)
    tables = (("Results", "suite | target | host | packages | run | passed | failed | too slow | skipped | left out | "
               "of those that ended, passed", results_table(rows, causes), judged, "No case was run."),
              ("Failures and their causes", "suite | target | cases | cause | why", failures_table(rows, causes), judged,
               "No case failed."),
              ("Complete sets", "suite | target | host | set | cases | passed | failed | too slow | skipped | not run",
               whole_sets, {about(row) for row in whole_sets}, "No set was run completely."),
              ("One thread, two threads, other seeds, compiled", "suite | target | engine | cases compared | different",
               varied, {about(row, 3) for row in varied}, "No variant was run."),
              ("Races of the libraries", "suite | target | kernel | cases | the first of them", racing,
               {about(row) for row in varied}, "No case was run under racecheck."))
    parts = []
    for heading, columns, fresh, replaced, none in tables:
        whole = in_order(fresh + [row for row in section(before, heading) if not {about(row), about(row, 3)} & replaced], suites)
        rule = "|" + "---|" * len(columns.split(" | "))
        parts.append("\n".join([f"## {heading}", "", *([f"| {columns} |", rule, *whole] if whole else [none])]))
        if heading == "Results" and whole:
            columns = "target | suites | run | passed | failed | too slow | of those that ended, passed"
            rule = "|" + "---|" * len(columns.split(" | "))
            parts.append("\n".join(["## By target", "", f"| {columns} |", rule, *totals(whole)]))
    return "\n\n".join(parts)


def write(path, folder, suites, causes, part="all"):
    before = pathlib.Path(path).read_text()
    head, rest = before.split(BEGIN)
    tail = rest.split(END, 1)[1]
    pathlib.Path(path).write_text(f"{head}{BEGIN}\n\n{text(folder, suites, causes, rest.split(END, 1)[0], part)}\n\n{END}{tail}")
