#!/usr/bin/env python3
"""Exports, read back by Perfetto's own importer: no error, and every call, operation and flow as the trace has it.

  perfetto_reader.py --bin DIR

The importer is `trace_processor_shell`, found on PATH or named by WAVETAP_TRACE_PROCESSOR; Debian has no package of it, so
without one the test is skipped.
"""
import argparse
import collections
import csv
import io
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = pathlib.Path(os.environ.get("WAVETAP_GOLDEN", TESTS.parents[1] / "shared/golden"))

SLICES = """
select hex(name) as name, ts, dur, extract_arg(arg_set_id, 'debug.id') as id from slice
"""
FLOWS = """
select extract_arg(o.arg_set_id, 'debug.id') as sender, i.ts, extract_arg(i.arg_set_id, 'debug.id') as receiver, o.ts as first
from flow join slice o on o.id = flow.slice_out join slice i on i.id = flow.slice_in
"""
CALLS = "select id, start, max(end - start, 0) from rocpd_api"
OPS = """
select coalesce(nullif(d.string, ''), t.string, ''), o.start, max(o.end - o.start, 0)
from rocpd_op o left join rocpd_string d on d.id = o.description_id left join rocpd_string t on t.id = o.opType_id
"""
LINKS = """
select max(a.id), o.start from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join rocpd_op o on o.id = l.op_id group by o.id
"""


class Reader:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def ask(self, trace, sql):
        query = self.folder / "query.sql"
        query.write_text(sql)
        done = subprocess.run([self.program, "-q", query, trace], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(f"{trace.name}: the importer failed: {done.stderr}")
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def check_errors(self, trace):
        errors = self.ask(trace, "select name, value from stats where severity in ('error', 'data_loss') and value > 0")
        return [f"{row['name']} = {row['value']}" for row in errors]


def compare(reader, rpd, exported):
    """What differs between the trace and what the importer made of it."""
    problems = reader.check_errors(exported)
    with sqlite3.connect(f"file:{rpd}?mode=ro", uri=True) as db:
        db.text_factory = lambda raw: raw.decode(errors="replace")
        calls = collections.Counter(db.execute(CALLS))
        ops = collections.Counter(db.execute(OPS))
        links = collections.Counter(db.execute(LINKS))
    slices = reader.ask(exported, SLICES)
    is_call = lambda row: row["id"] not in ("[NULL]", "")
    found_calls = collections.Counter((int(row["id"]), int(row["ts"]), int(row["dur"])) for row in slices if is_call(row))
    found_ops = collections.Counter((bytes.fromhex(row["name"]).decode(errors="replace"), int(row["ts"]), int(row["dur"]))
                                    for row in slices if not is_call(row))
    # An arrow leads from the earlier one to the later one; clocks may make that the operation.
    found_links = collections.Counter(
        (int(row["sender"]), int(row["ts"])) if row["receiver"] in ("[NULL]", "") else (int(row["receiver"]), int(row["first"]))
        for row in reader.ask(exported, FLOWS))
    for what, wanted, found in (("call", calls, found_calls), ("operation", ops, found_ops), ("flow", links, found_links)):
        problems += [f"{what} {key}: missing" for key in list(wanted - found)[:3]]
        problems += [f"{what} {key}: not in the trace" for key in list(found - wanted)[:3]]
    return problems, len(slices)


def traces(bin_folder, folder):
    for text in sorted((TESTS / "traces").glob("*.txt")):
        rpd = folder / f"{text.stem}.rpd"
        subprocess.run([bin_folder / "trace_from_text", text, rpd], check=True)
        yield rpd
    yield from sorted(GOLDEN.glob("*.rpd"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    program = os.environ.get("WAVETAP_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if program is None:
        print("skip: no trace_processor_shell here; build it from Perfetto's sources and set WAVETAP_TRACE_PROCESSOR")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reader = Reader(program, folder)
        for rpd in traces(arguments.bin, folder):
            exported = folder / f"{rpd.stem}.pftrace"
            subprocess.run([arguments.bin / "wavetap", "export", "--format", "perfetto", rpd, "-o", exported], check=True, capture_output=True)
            problems, slices = compare(reader, rpd, exported)
            print(f"{'FAIL' if problems else 'ok  '} {rpd.name}: {slices} slices", *problems, sep="\n       " if problems else " ")
            failed |= bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
