#!/usr/bin/env python3
"""docs/json-schema.md against what --json prints, both ways.

  json_schema.py --bin BUILD/bin

Every analysis, report and diff run on the traces of tests/traces: no key the document does not know, every row with
exactly the columns it lists, what is not marked optional always there; and whatever the document lists turns up in
at least one trace. So neither can change without the other.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TRACES = ("small", "empty", "lossy", "odd", "died")
# They take a recording on a machine that lies; tests/doctor/recorded.py makes one.
ELSEWHERE = {("report", "counters"), ("report", "device_figures"), ("report", "corrected_figures")}
TOP = {"version", "analysis", "trace", "facts", "tables", "truncated", "notes", "warnings"}


def names_in(text):
    """(name, is optional) of every `name` or [`name` `name`]."""
    text = re.sub(r"\([^)]*\)", "", text)
    for part in re.findall(r"\[[^]]*\]|`[^`]*`", text):
        for name in re.findall(r"`([^`]*)`", part):
            yield name, part.startswith("[")


def documented():
    """{analysis: (facts, tables)}: facts {name: optional}, tables {name: (optional, columns)}."""
    out = {}
    for line in (SOURCE / "docs/json-schema.md").read_text().splitlines():
        cells = line.strip("|").split("|")
        if not re.match(r"\| `[a-z-]+` \|", line) or len(cells) != 3:
            continue
        tables, columns = {}, []
        for group in cells[2].split("<br>"):
            left, right = group.split(":", 1)
            found = [name for name, _ in names_in(right)]
            columns = found + columns[1:] if "and the same" in right else found
            for name, optional in names_in(left):
                tables[name] = (optional, columns)
        out[cells[0].strip(" `")] = (dict(names_in(cells[1])), tables)
    return out


class Checker:
    def __init__(self):
        self.problems, self.seen = [], set()

    def check(self, what, name, facts, tables, text):
        found = json.loads(text)
        say = lambda problem: self.problems.append(f"{what}: {problem}")
        if set(found) - TOP or found["version"] != 1 or found["analysis"] != name:
            say(f"head: {found.get('version')} {found.get('analysis')} {set(found) - TOP}")
        for key in {"trace", "notes", "warnings"} - set(found):
            say(f"no {key}")
        for fact in found.get("facts", {}):
            self.seen.add((name, fact))
            if fact not in facts:
                say(f"fact {fact} is not documented")
        for fact, optional in facts.items():
            if not optional and fact not in found.get("facts", {}):
                say(f"fact {fact} is missing")
        # Without loader events there is nothing to say at all.
        nothing = name == "redirects" and "tables" not in found
        for table, (optional, _) in tables.items():
            if not optional and not nothing and table not in found.get("tables", {}):
                say(f"table {table} is missing")
        for table, rows in found.get("tables", {}).items():
            self.seen.add((name, table))
            if table not in tables:
                say(f"table {table} is not documented")
                continue
            for row in rows:
                self.seen.add((name, table, "row"))
                if set(row) != set(tables[table][1]):
                    say(f"table {table}: {sorted(set(row) ^ set(tables[table][1]))}")
                    break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    binaries = parser.parse_args().bin.resolve()
    tool, contract, checker = binaries / "wavetap", documented(), Checker()
    listed = subprocess.run([tool, "analyze", "--help"], check=True, capture_output=True, text=True).stdout
    listed = re.findall(r"^  ([a-z-]+) ", listed.split("Analyses:\n")[1].split("\n\n")[0], re.M)
    if set(listed) | {"report", "diff"} != set(contract):
        checker.problems.append(f"analyses: {sorted((set(listed) | {'report', 'diff'}) ^ set(contract))}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for trace in TRACES:
            path = folder / f"{trace}.rpd"
            subprocess.run([binaries / "trace_from_text", SOURCE / f"tests/traces/{trace}.txt", path], check=True)
            for name, (facts, tables) in contract.items():
                words = ["report", path] if name == "report" else ["diff", path, path] if name == "diff" else ["analyze", name, path]
                done = subprocess.run([tool, *words, "--json"], check=True, capture_output=True, text=True)
                checker.check(f"{name} of {trace}", name, facts, tables, done.stdout)
    for name, (facts, tables) in contract.items():
        for fact in facts:
            if (name, fact) not in checker.seen:
                checker.problems.append(f"{name}: fact {fact} is documented but never printed")
        for table in tables:
            if (name, table, "row") not in checker.seen and (name, table) not in ELSEWHERE:
                checker.problems.append(f"{name}: table {table} is documented but never has a row")
    print("\n".join(checker.problems + [f"{len(contract)} analyses, {len(checker.problems)} problems"]))
    sys.exit(1 if checker.problems or len(contract) < 10 else 0)


if __name__ == "__main__":
    main()
