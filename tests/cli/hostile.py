#!/usr/bin/env python3
"""Traces nobody should have written, given to every command that reads one.

  hostile.py --bin BUILD/bin

Whatever the file: the command ends by itself, with status 0, 1 or 2, never by a signal or with an internal error; a
failure is one line that begins with `wavetap: error:` and names the file; and the file is left as it was. Damage
that makes a file unreadable must be reported with status 1.
"""
import argparse
import hashlib
import pathlib
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from temporary import scratch_folder  # noqa: E402
ANALYSES = ["callstack", "autograd", "graph", "gaps", "overlap", "busy", "variability", "critical-path", "memory",
            "launch-delay", "queue-depth", "streams", "redirects"]
FORMATS = ["chrome", "perfetto", "html", "jsonl", "csv", "folded"]
MAX = 2**63 - 1
MANY = 60_000  # what takes the square of it does not end in time


def commands(path):
    yield ["report", path]
    yield ["report", path, "--json"]
    for name in ANALYSES:
        yield ["analyze", name, path]
    for name in FORMATS:
        yield ["export", "--format", name, path, "-o", "out"]
    yield ["export", "--format", "chrome", "--rpd-compatible", path, "-o", "out"]
    yield ["export", "--format", "perfetto", "--split", "64k", path, "-o", "out"]
    yield ["check", path]
    yield ["query", path, "select * from rocpd_api limit 3"]
    yield ["trim", path, "--start", "10%", "--end", "90%", "-o", "trimmed.rpd"]
    yield ["merge", path, path, "-o", "merged.rpd"]
    yield ["diff", path, path]


class Maker:
    """Methods named damage_* write one bad file each; those named broken_* one that no command can read."""

    def __init__(self, base):
        self.base = base.read_bytes()

    def database(self, path, *statements):
        path.write_bytes(self.base)
        db = sqlite3.connect(path)
        for statement in statements:
            db.execute(*([statement] if isinstance(statement, str) else statement))
        db.commit()
        db.close()

    def page_bytes(self):
        return struct.unpack(">H", self.base[16:18])[0]

    def root_page(self, table):
        with tempfile.NamedTemporaryFile(suffix=".rpd") as file:
            file.write(self.base)
            file.flush()
            db = sqlite3.connect(file.name)
            return db.execute("select rootpage from sqlite_master where name = ?", [table]).fetchone()[0]

    def broken_empty(self, path):
        path.write_bytes(b"")

    def broken_text(self, path):
        path.write_text("this is not a trace\n" * 1000)

    def broken_header_only(self, path):
        path.write_bytes(self.base[:100])

    def broken_truncated_schema(self, path):
        path.write_bytes(self.base[:1000])

    def broken_other_database(self, path):
        sqlite3.connect(path).execute("create table t (a)").connection.close()

    def broken_missing_table(self, path):
        self.database(path, "drop table rocpd_string")

    def broken_cyclic_view(self, path):
        self.database(path, "drop view api", "drop table rocpd_api", "create view rocpd_api as select * from other",
                      "create view other as select * from rocpd_api")

    def broken_endless_view(self, path):
        self.view_without_end(path, "rocpd_api", "select id, 1 pid, 1 tid, 0 start, 1 end, 1 domain_id, 1 category_id, 1 apiName_id, 1 args_id")

    def broken_endless_detail(self, path):
        self.view_without_end(path, "rocpd_metadata", "select id, 'tag' tag, 'value' value")

    def view_without_end(self, path, table, columns):
        self.database(path, "drop view if exists api", "drop view if exists top", f"drop table {table}",
                      f"create view {table} as with r(id) as (select 1 union all select id + 1 from r) {columns} from r")

    def damage_missing_column(self, path):
        self.database(path, "drop view busy", "drop view op", "drop view top", "drop view kernel", "drop view copyop", "drop view nop",
                      "drop table rocpd_op", "create table rocpd_op (id integer primary key)",
                      "insert into rocpd_op values (1)")

    def damage_truncated_half(self, path):
        path.write_bytes(self.base[: len(self.base) // 2])

    def damage_truncated_page(self, path):
        path.write_bytes(self.base[: len(self.base) - 700])

    def damage_pages_in_a_loop(self, path):
        # The calls' root page becomes an interior page whose children are itself.
        data, page, number = bytearray(self.base), self.page_bytes(), self.root_page("rocpd_api")
        at = (number - 1) * page
        data[at:at + 12] = struct.pack(">BHHHBI", 5, 0, 1, page - 8, 0, number)
        data[at + 12:at + 14] = struct.pack(">H", page - 8)
        data[at + page - 8:at + page] = struct.pack(">IBBBB", number, 1, 0, 0, 0)
        path.write_bytes(data)

    def damage_cell_pointers(self, path):
        data, page = bytearray(self.base), self.page_bytes()
        for table in ("rocpd_api", "rocpd_op", "rocpd_ustring", "rocpd_api_ops"):
            at = (self.root_page(table) - 1) * page
            data[at + 8:at + 12] = b"\xff\xff\xff\xf0"
        path.write_bytes(data)

    def damage_record_sizes(self, path):
        data, page = bytearray(self.base), self.page_bytes()
        for table in ("rocpd_api", "rocpd_op", "rocpd_ustring"):
            at = (self.root_page(table) - 1) * page
            cell = struct.unpack(">H", data[at + 8:at + 10])[0]
            data[at + cell:at + cell + 9] = b"\xff" * 9
        path.write_bytes(data)

    def damage_wrong_types(self, path):
        self.database(path, "update rocpd_api set start = 'soon', end = x'00ff' where id % 2",
                      "update rocpd_op set gpuId = 'left', queueId = 1.5, start = 'x' where id % 2",
                      "update rocpd_kernelapi set gridX = 'wide', stream = x'80'", "update rocpd_copyapi set size = 'much', kind = ''",
                      "update rocpd_monitor set value = x'ff', start = 'now'", "update rocpd_api_ops set api_id = 'a' where id = 1")

    def damage_huge_string(self, path):
        text = "k" * 10_000_000
        self.database(path, ("update rocpd_string set string = ? where id = 3", [text]),
                      ("update rocpd_ustring set string = ? where id = 2", [text]))

    def damage_zero_bytes(self, path):
        self.database(path, ("update rocpd_string set string = ?", ["a\0b\x1b[31m\n\"\\"]),
                      ("update rocpd_ustring set string = ?", [b"\xff\xfe\0\x80 | = | ="]))

    def damage_negative_durations(self, path):
        self.database(path, "update rocpd_api set end = start - 1000000000000", "update rocpd_op set end = start - 5")

    def damage_negative_times(self, path):
        self.database(path, "update rocpd_api set start = -start, end = -start + 10", "update rocpd_op set start = -9e18, end = -1")

    def damage_times_near_the_end(self, path):
        self.database(path, f"update rocpd_api set start = {MAX} - id, end = {MAX}", f"update rocpd_op set start = {-MAX}, end = {MAX}")

    def damage_dangling_ids(self, path):
        self.database(path, "update rocpd_api set apiName_id = 9999999, args_id = -5, domain_id = 77777",
                      "update rocpd_op set description_id = -1, opType_id = 123456789012",
                      "update rocpd_api_ops set api_id = api_id + 1000000", "update rocpd_kernelapi set kernelName_id = -7")

    def damage_large_ids(self, path):
        self.database(path, f"update rocpd_api set id = {MAX} - id", f"update rocpd_op set id = {MAX} - id",
                      f"update rocpd_api_ops set api_id = {MAX} - api_id, op_id = {MAX} - op_id",
                      f"update rocpd_ustring set id = {MAX} - id", f"update rocpd_api set args_id = {MAX} - args_id")

    def damage_negative_ids(self, path):
        self.database(path, "update rocpd_api set id = -id", "update rocpd_op set id = -id * 1000000007",
                      "update rocpd_string set id = -id where id > 1")

    def damage_odd_devices(self, path):
        self.database(path, "update rocpd_op set gpuId = -2147483648 - id, queueId = 4294967296 + id",
                      "update rocpd_api set pid = -1, tid = 9223372036854775807 - id")

    def damage_nulls(self, path):
        self.database(path, "pragma writable_schema = on",
                      "update sqlite_master set sql = replace(sql, 'not null', '') where name like 'rocpd_%'", "pragma writable_schema = off")
        db = sqlite3.connect(path)
        db.execute("insert into rocpd_api (id) values (null)")
        db.execute("insert into rocpd_op (id) values (null)")
        db.execute("insert into rocpd_api_ops (id) values (null)")
        db.execute("insert into rocpd_string (id) values (null)")
        db.execute("insert into rocpd_ustring (id) values (null)")
        db.commit()
        db.close()

    def damage_write_ahead_log(self, path):
        path.write_bytes(self.base)
        db = sqlite3.connect(path)
        db.execute("pragma journal_mode = wal")
        db.execute("insert into rocpd_string (string) values ('late')")
        db.commit()
        db.close()

    def damage_utf16(self, path):
        source = sqlite3.connect(":memory:")
        source.deserialize(self.base)
        target = sqlite3.connect(path)
        target.execute("pragma encoding = 'UTF-16le'")
        target.executescript("\n".join(line for line in source.iterdump() if "sqlite_sequence" not in line))
        target.close()

    def damage_without_rowid(self, path):
        self.database(path, "create table copied as select * from rocpd_ustring", "drop table rocpd_ustring",
                      "create table rocpd_ustring (id integer primary key, string text) without rowid",
                      "insert into rocpd_ustring select * from copied", "drop table copied")

    def damage_added_columns(self, path):
        self.database(path, "alter table rocpd_op add column note text default 'x'", "alter table rocpd_api add column z integer default 5")

    def damage_sizes(self, path):
        self.database(path, f"update rocpd_copyapi set size = {MAX}", f"update rocpd_kernelapi set gridX = {MAX}, groupSegmentSize = {-MAX}",
                      ("update rocpd_ustring set string = ? where string like '%ptr%'", ["ptr = 0xffffffffffffffff | size = 18446744073709551615"]))

    def damage_own_tables(self, path):
        wide = ", ".join(f"c{i}" for i in range(40))
        self.database(path, "drop table wavetap_allocation",
                      "create table wavetap_allocation (id text primary key, pid, api_id, gpuId, kind, address, bytes, start, end) without rowid",
                      f"insert into wavetap_allocation values ('x', 'y', -1, {MAX}, x'ff', 'zz', {-MAX}, {MAX}, 'never')",
                      "insert into wavetap_loss values (-9, 'p', 'now', null, 'many', x'00')",
                      f"create table wavetap_wide ({wide})", "insert into wavetap_wide (c0) values (1)")

    def damage_own_ids(self, path):
        self.database(path, f"insert into wavetap_process (session, pid, start) values ({MAX}, {MAX}, {-MAX})",
                      f"insert into wavetap_queue (id, gpuId) values ({MAX}, {-MAX})", "drop table wavetap_kernel")

    def broken_view_of_itself(self, path):
        self.database(path, "drop table wavetap_kernel", "create view wavetap_kernel as select * from wavetap_kernel")

    def damage_odd_schema(self, path):
        self.database(path, "create table wavetap_generated (a integer, b integer generated always as (a + 1) stored)",
                      "insert into wavetap_generated (a) values (1)", "create virtual table v using rtree(id, a, b)",
                      "insert into v values (1, 2, 3)", "create trigger no before delete on rocpd_metadata begin select raise(abort, 'no'); end",
                      "create index e on rocpd_api (start + end)", "create index d on rocpd_op (start desc) where start > 5",
                      "create table \"a \"\"b\"\" ' c\" (\"x \"\" y\" text collate nocase unique, \"select\" integer)",
                      "insert into \"a \"\"b\"\" ' c\" values ('q', 1), ('r', null)")

    def calls(self, path, spans):
        """Many calls of one thread, copies of the first one at other times."""
        self.database(path)
        db = sqlite3.connect(path)
        first = db.execute("select * from rocpd_api order by id limit 1").fetchone()
        names = [column[1] for column in db.execute("pragma table_info(rocpd_api)")]
        keep = [(names.index(name), name) for name in names if name not in ("id", "start", "end")]
        rows = [(1000 + i, start, end, *(first[at] for at, _ in keep)) for i, (start, end) in enumerate(spans)]
        columns = ", ".join(["id", "start", "end", *(name for _, name in keep)])
        db.executemany(f"insert into rocpd_api ({columns}) values ({', '.join('?' * (3 + len(keep)))})", rows)
        db.commit()
        db.close()

    def damage_calls_nested_by_the_thousand(self, path):
        self.calls(path, [(10**7 + i, 10**9 - i) for i in range(MANY)])

    def damage_calls_that_all_overlap(self, path):
        self.calls(path, [(10**7 + i, 10**9 + i) for i in range(MANY)])

    def damage_surrogates(self, path):
        self.database(path, "update rocpd_string set string = cast(x'6BEDA08062C0AF' as text) where id % 2",
                      "update rocpd_ustring set string = cast(x'F4908080EDBFBF' as text)")

    def flips(self, path, seed):
        """Random bytes anywhere but in the first page, which holds the schema."""
        generator, data = random.Random(seed), bytearray(self.base)
        for _ in range(generator.choice([1, 8, 64])):
            data[generator.randrange(self.page_bytes(), len(data))] = generator.randrange(256)
        path.write_bytes(data)


def run(tool, words, folder):
    for name in ("trimmed.rpd", "merged.rpd"):
        (folder / name).unlink(missing_ok=True)
    return subprocess.run([tool, *words], cwd=folder, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)


def check(tool, folder, path, name, must_fail, thorough=True):
    problems = []
    before = hashlib.sha256(path.read_bytes()).digest()
    for words in commands(path.name):
        if not thorough and words[0] in ("query", "diff") or not thorough and "--json" in words:
            continue
        try:
            done = run(tool, words, folder)
        except subprocess.TimeoutExpired:
            problems.append(f"{name}: wavetap {' '.join(words)}: does not end")
            continue
        errors = done.stderr.decode(errors="replace")
        what = f"{name}: wavetap {' '.join(words)}: status {done.returncode}: {errors.strip()[:300]}"
        if done.returncode not in (0, 1, 2):
            problems.append(what)
        elif done.returncode == 1 and not (errors.startswith("wavetap: error: ") and errors.count("\n") == 1):
            problems.append(f"{what}: not one error line")
        elif must_fail and done.returncode != 1:
            problems.append(f"{what}: should have failed")
    if hashlib.sha256(path.read_bytes()).digest() != before:
        problems.append(f"{name}: the file was changed")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--flips", type=int, default=12, help="how many files with random damage")
    parser.add_argument("only", nargs="*")
    arguments = parser.parse_args()
    tool, problems, count = arguments.bin.resolve() / "wavetap", [], 0
    with scratch_folder() as scratch:
        folder = pathlib.Path(scratch)
        base = folder / "base.rpd"
        subprocess.run([arguments.bin / "trace_from_text", SOURCE / "tests/traces/small.txt", base], check=True)
        maker = Maker(base)
        for name in sorted(dir(maker)):
            if not name.startswith(("damage_", "broken_")) or (arguments.only and name not in arguments.only):
                continue
            path = folder / "bad.rpd"
            path.unlink(missing_ok=True)
            getattr(maker, name)(path)
            problems += check(tool, folder, path, name, name.startswith("broken_"))
            count += 1
        for seed in range(0 if arguments.only else arguments.flips):
            path = folder / "bad.rpd"
            path.unlink(missing_ok=True)
            maker.flips(path, seed)
            problems += check(tool, folder, path, f"flips {seed}", False, thorough=False)
            count += 1
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
