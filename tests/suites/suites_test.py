#!/usr/bin/env python3
"""The logic of the suites' runner: selection, batches, journals, output of each kind of program, causes, tables.

Programs that stand in for AMD's are shell scripts: they pass, fail, crash, hang and eat memory.
"""
import fnmatch
import json
import os
import pathlib
import random
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run  # noqa: E402
from harness import catalogue, datafile, races, report, selection  # noqa: E402
from harness.adapters import BackendOps, ExitStatus, GoogleTest, Magma, Thrust  # noqa: E402
from harness.causes import Causes  # noqa: E402
from harness.execution import Batch, Limits  # noqa: E402
from harness.journal import FAILED, PASSED, SKIPPED, SLOW, Journal  # noqa: E402
from harness.process import Run, resident_bytes  # noqa: E402
from harness.roots import Roots, Skipped  # noqa: E402
from harness.session import Session  # noqa: E402

GTEST_LIST = """Some text of the runtime
quick/gemm.
  blas3/f32_r_NN_1  # GetParam() = { a: 1 }
  blas3/f32_r_NN_2
DISABLED_slow.
  one
TypedTest/0.  # TypeParam = int
  Adds
  DISABLED_Hangs
"""

GTEST_RUN = """Note: filter = ...
[ RUN      ] quick/gemm.blas3/f32_r_NN_1
[       OK ] quick/gemm.blas3/f32_r_NN_1 (12 ms)
[ RUN      ] TypedTest/0.Adds
file.cc:12: Failure
wrong: 1 != 2
[  FAILED  ] TypedTest/0.Adds, where TypeParam = int (5 ms)
[ RUN      ] A.Skips
[  SKIPPED ] A.Skips (0 ms)
[==========] 3 tests from 3 test suites ran. (17 ms total)
[  FAILED  ] TypedTest/0.Adds, where TypeParam = int
"""


def events(reader, text):
    return [event for line in text.splitlines() for event in reader.feed(line)]


class Parsing(unittest.TestCase):
    def test_gtest_cases_are_listed_without_comments_and_disabled_ones(self):
        self.assertEqual(GoogleTest.parse_listing(GTEST_LIST),
                         ["quick/gemm.blas3/f32_r_NN_1", "quick/gemm.blas3/f32_r_NN_2", "TypedTest/0.Adds"])

    def test_gtest_verdicts_are_read_once_each(self):
        ends = [event[1:] for event in events(GoogleTest.reader(), GTEST_RUN) if event[0] == "end"]
        self.assertEqual(ends, [("quick/gemm.blas3/f32_r_NN_1", PASSED, 0.012), ("TypedTest/0.Adds", FAILED, 0.005),
                                ("A.Skips", SKIPPED, 0.0)])

    def test_gtest_verdict_behind_other_text_is_read(self):
        self.assertEqual(events(GoogleTest.reader(), "dots...[       OK ] A.B (3 ms)"), [("end", "A.B", PASSED, 0.003)])

    def test_a_filter_has_no_letter_that_means_something_else(self):
        self.assertEqual(GoogleTest.selecting(["a.b_-1", "c:d"])[0], "--gtest_filter=a.b_?1:c?d")

    def test_operators_of_llama_are_read_with_colours(self):
        text = ("  ADD(type=f32,ne=[1,1,8,1]): \x1b[1;32mOK\x1b[0m\n  MUL(type=f16): not supported [ROCm0]\n"
                "  CPY(type=f16): [CPY] NMSE = 0.3 > 0.0001 \x1b[1;31mFAIL\x1b[0m\n  1/1 backends passed\n")
        self.assertEqual(events(BackendOps.reader(), text),
                         [("end", "ADD(type=f32,ne=[1,1,8,1])", PASSED, None), ("end", "MUL(type=f16)", SKIPPED, None),
                          ("end", "CPY(type=f16)", FAILED, None), ("done",)])

    def test_cases_of_llama_are_listed_with_parameters(self):
        text = ('load_backend: ROCm\n"backend_name","op_name","op_params","test_mode","supported","error_message","reg"\n'
                '"ROCm0","ADD","type=f16,ne=[1,1,8,1]","support","1","yes","ROCm"\n'
                '"ROCm0","CPY","type=q4_0","support","0","no","ROCm"\n')
        self.assertEqual(BackendOps.parse_listing(text), ["ADD(type=f16,ne=[1,1,8,1])"])

    def test_cases_of_thrust_are_read_behind_a_carriage_return(self):
        self.assertEqual(Thrust.parse_listing("TestSortDevice\nTestSortHost\n  text\n"), ["TestSortDevice", "TestSortHost"])
        text = ("Running 4 unit tests.\nRunning TestA...\r[PASS]    12.5 ms TestA\n"
                "Running TestB...\rprinted\n[FAILURE]           TestB\nRunning TestC...\r[KNOWN FAILURE]     TestC\n"
                "Running TestD...\r[ERROR]             TestD\nTotals: 1 failures, 1 known failures, 1 errors, and 1 passes.\n")
        self.assertEqual(events(Thrust.reader(), text),
                         [("end", "TestA", PASSED, 0.0125), ("end", "TestB", FAILED, None), ("end", "TestC", SKIPPED, None),
                          ("end", "TestD", FAILED, None), ("done",)])

    def test_a_magma_tester_fails_by_one_row(self):
        reader = Magma.reader()
        events(reader, "% failed is a word of the heading\n 123 0.1 1e-7 ok\n")
        self.assertEqual(reader.verdict(0), PASSED)
        events(reader, " 234 0.1 1e+2 failed\n")
        self.assertEqual(reader.verdict(0), FAILED)
        self.assertEqual(Magma.reader().verdict(0), SKIPPED)

    def test_exit_status_77_is_skipped(self):
        self.assertEqual([ExitStatus.reader.verdict(status) for status in (0, 77, 1, -11)],
                         [PASSED, SKIPPED, FAILED, FAILED])


class Selection(unittest.TestCase):
    CASES = [("p", f"{kind}/{i}") for kind in ("gemm", "trsm", "dot") for i in range(20)] + [("q", "only/0")]

    def order(self, seed):
        return list(selection.order(self.CASES, seed, lambda program: GoogleTest.stratum))

    def test_every_kind_comes_in_the_first_round(self):
        first = self.order(1)[0]
        self.assertEqual({selection.stratum_of(name, GoogleTest.stratum) for _, name in first},
                         {"gemm", "trsm", "dot", "only"})
        self.assertEqual(len(first), 4)

    def test_all_cases_come_exactly_once(self):
        for short in (False, True):
            rounds = selection.order(self.CASES, 1, lambda program: GoogleTest.stratum, short=short)
            self.assertEqual(sorted(case for cases in rounds for case in cases), sorted(self.CASES))

    def test_a_short_look_begins_with_one_case_of_every_program(self):
        first, second, *_ = selection.order(self.CASES, 1, lambda program: GoogleTest.stratum, short=True)
        self.assertEqual(sorted(program for program, _ in first), ["p", "q"])
        self.assertEqual({selection.stratum_of(name, GoogleTest.stratum) for _, name in second}, {"gemm", "trsm", "dot"})

    def test_the_seed_decides_and_nothing_else(self):
        self.assertEqual(self.order(1), self.order(1))
        self.assertNotEqual(self.order(1), self.order(2))

    def test_a_suite_may_say_what_a_kind_is(self):
        self.assertEqual(selection.stratum_of("quick_gemm_f32_r_NT_4_5", r"_(gemm)_(f32_r)"), "gemm|f32_r")

    def test_small_cases_of_a_kind_come_first(self):
        cases = [("p", f"fft_len_{n}_{n}_single_batch_{b}") for n in (8, 512, 4096) for b in (1, 2)]
        size = r"_len_([\d_]+)_single_batch_(\d+)"
        rounds = list(selection.order(cases, 1, lambda program: "^fft", lambda program: size))
        flat = [name for cases in rounds for _, name in cases]
        self.assertEqual([selection.size_class(name, size) for name in flat], [0, 0, 2, 2, 3, 3])
        self.assertEqual(selection.size_class("unit_test", size), 0)

    def test_the_kinds_of_fourier_transforms_do_not_depend_on_sizes(self):
        program = catalogue.load_suite(HERE / "suites/rocfft.toml").programs[0]
        names = [f"pow2_1D/accuracy_test.vs_fftw/complex_forward_len_{n}_{kind}_batch_1_istride_1_CI_ostride_1_CI"
                 for n in (4, 65536) for kind in ("single_ip", "double_op")]
        self.assertEqual(len({selection.stratum_of(name, program.stratum) for name in names}), 2)
        self.assertLess(selection.size_class(names[0], program.size), selection.size_class(names[3], program.size))

    def test_shards_are_disjoint_and_complete(self):
        names = [name for _, name in self.CASES]
        shards = [[name for name in names if selection.in_shard(name, i, 3)] for i in range(3)]
        self.assertEqual(sorted(sum(shards, [])), sorted(names))
        self.assertTrue(all(shards))

    def test_patterns_say_what_is_wanted_and_nothing_else(self):
        listed = [f"s.{kind}_{i}" for kind in ("small", "small_c", "large") for i in range(30)] + ["s.small"]
        for seed in range(20):
            names = [name for name in listed if random.Random(f"{seed}{name}").random() < seed / 19]
            found = selection.patterns(names, listed)
            self.assertEqual([name for name in listed if any(fnmatch.fnmatchcase(name, one) for one in found)], names)
        self.assertEqual(selection.patterns(listed, listed), ["*"])
        self.assertEqual(selection.patterns([], listed), [])

    def test_a_batch_is_one_program_of_the_right_length(self):
        cases = [("p", str(i)) for i in range(10)] + [("q", "0")]
        places = {case: place for place, case in enumerate(cases)}
        cut = list(selection.batches(cases[3::-1] + cases[4:], 10, lambda program: 2.5, places))
        self.assertEqual([len(batch) for batch in cut], [4, 4, 2, 1])
        self.assertEqual(sum(cut, []), cases)
        self.assertEqual({batch[0][0] for batch in cut[:3]}, {"p"})
        cut = list(selection.batches(cases, 10, lambda program: 0.1, places, most=3))
        self.assertEqual([len(batch) for batch in cut], [3, 3, 3, 1, 1])


class DataFile(unittest.TestCase):
    """A file as the programs know it: signature, then records with a number, three names and a size."""
    RECORD = 8 + 3 * 64 + 4

    def make(self, records):
        head = b"rocTEST\0" + bytes(i % 251 for i in range(self.RECORD)) + b"ROCtest\0"
        return head + b"".join(number.to_bytes(8, "little") + b"".join(name.encode().ljust(64, b"\0") for name in names)
                               + size.to_bytes(4, "little") for number, names, size in records)

    def test_some_records_of_each_group_are_kept(self):
        records = [(i, ("gemm", "gemm_small", "quick"), i) for i in range(100)] + \
                  [(100 + i, ("trsm", "trsm_small", "quick"), i) for i in range(3)] + \
                  [(200 + i, ("gemm", "gemm_large", "nightly"), i) for i in range(50)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "all", pathlib.Path(folder) / "some"
            source.write_bytes(self.make(records))
            self.assertEqual(datafile.reduce(source, target, ["quick"], 10, seed=1), 153)
            data = target.read_bytes()
            layout = datafile.read_layout(data)
            self.assertEqual((layout.header_bytes, layout.record_bytes, layout.names_at), (self.RECORD + 16, self.RECORD, 8))
            kept = [data[at:at + self.RECORD] for at in range(layout.header_bytes, len(data), self.RECORD)]
            names = [datafile.names_of(record, layout) for record in kept]
            self.assertEqual((names.count(records[0][1]), names.count(records[100][1]), len(names)), (10, 3, 13))
            numbers = [int.from_bytes(record[:8], "little") for record in kept[:10]]
            self.assertTrue(all(b - a == 10 for a, b in zip(numbers, numbers[1:])), numbers)

    def test_a_complete_set_has_every_record(self):
        records = [(i, ("gemm_ex", "gemm_small", "quick"), i) for i in range(100)] + \
                  [(100 + i, ("gemm", "gemm_large", "nightly"), i) for i in range(5)] + [(200, ("trsm", "trsm_small", "quick"), 0)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "all", pathlib.Path(folder) / "set"
            source.write_bytes(self.make(records))
            self.assertEqual(datafile.reduce(source, target, ["pre_checkin"], 10, seed=1, complete="^gemm[^/]*/quick_"), 106)
            self.assertEqual(len(target.read_bytes()), self.RECORD + 16 + 100 * self.RECORD)
            datafile.reduce(source, target, ["quick"], 10, seed=1, complete="^syrk/")
            self.assertEqual(len(target.read_bytes()), self.RECORD + 16)

    def test_a_case_is_known_by_its_records_short_name(self):
        self.assertEqual(datafile.short_case("_/gemm_ex.blas3_tensile/quick_gemm_small_f32_r_NN"), "gemm_ex/quick_gemm_small_f32_r_NN")
        self.assertEqual(datafile.short_case("checkin_lapack/GETRF.__float/12"), "checkin_lapack/GETRF.__float/12")
        self.assertEqual(datafile.short_name(("gemm_ex", "gemm_small", "quick")), "gemm_ex/quick_gemm_small")

    def test_something_else_is_refused(self):
        self.assertRaises(ValueError, datafile.read_layout, b"\x7fELF\0" + bytes(100))


class JournalTest(unittest.TestCase):
    def test_a_run_goes_on_where_it_was_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "j/rocblas.gfx90a.jsonl"
            journal = Journal(path)
            journal.begin({"root": "sid"})
            journal.add("p", "a", PASSED, 1.0)
            journal.add("p", "b", FAILED, 2.0, "wrong")
            journal.spend(3.5)
            with open(path, "a") as file:
                file.write('{"program": "p", "case": "c", "sta')
            again = Journal(path)
            self.assertEqual((set(again.cases), again.seconds, again.header),
                             ({("p", "a"), ("p", "b")}, 3.5, {"root": "sid"}))
            again.forget([FAILED], [("p", "a"), ("p", "b"), ("p", "z")])
            self.assertEqual(set(again.cases), {("p", "a")})
            again.add("p", "b", PASSED, 2.0)
            self.assertEqual(Journal(path).counts(), {PASSED: 2, FAILED: 0, SLOW: 0, SKIPPED: 0})


class CatalogueTest(unittest.TestCase):
    def test_every_suite_of_the_tree_loads(self):
        suites = catalogue.load_suites(HERE / "suites")
        self.assertGreater(len(suites), 10)
        Causes.load(HERE / "causes.toml")

    def test_targets_come_from_the_packages_and_what_they_need(self):
        controls = {"tests": {"Depends": "libx (>= 1), libc6"}, "libx": {"X-Rocm-Gpu-Architecture": "gfx908 gfx10-3-generic"},
                    "libc6": {}}
        self.assertEqual(catalogue.built_for(controls, ["tests"]), {"gfx908", "gfx1030"})
        self.assertIsNone(catalogue.built_for(controls, ["libc6"]))

    def test_what_is_left_out_has_a_reason(self):
        program = catalogue.Program(path="/p", only=["quick*"],
                                    left_out=[{"cases": ["*huge*"], "why": "4 Gi keys", "targets": ["gfx90a"]}])
        self.assertIsNone(catalogue.left_out(program, "gfx90a", "quick_1"))
        self.assertEqual(catalogue.left_out(program, "gfx90a", "quick_huge"), "4 Gi keys")
        self.assertIsNone(catalogue.left_out(program, "gfx1030", "quick_huge"))
        self.assertTrue(catalogue.left_out(program, "gfx1030", "nightly_1"))

    def test_a_defect_of_others_needs_evidence(self):
        entry = {"suites": ["rocblas"], "cases": ["*gemm*"], "cause": "theirs", "text": "a race"}
        self.assertRaises(ValueError, Causes, [entry])
        causes = Causes([entry | {"evidence": "seen"}])
        self.assertTrue(causes.find("rocblas", "gfx90a", "quick_gemm_1"))
        self.assertIsNone(causes.find("rocsolver", "gfx90a", "quick_gemm_1"))


class RootsTest(unittest.TestCase):
    def test_a_file_is_linked_where_a_program_looks_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            roots = Roots(folder, offline=True)
            (pathlib.Path(folder) / "sid/usr/bin").mkdir(parents=True)
            (pathlib.Path(folder) / "sid/usr/bin/clang").write_text("")
            for _ in range(2):
                roots.link("sid", {"/build/x/clang": "/usr/bin/clang", "/build/x/other": "/usr/bin/other"})
            made = pathlib.Path(folder) / "sid/build/x"
            self.assertEqual([(path.name, os.readlink(path)) for path in made.iterdir()], [("clang", "/usr/bin/clang")])


class SessionTest(unittest.TestCase):
    def test_packages_of_another_architecture_are_a_reason_to_skip(self):
        suite = catalogue.Suite("rocr", "ROCr", "gtest", {"sid": ["tests"]}, [], hosts=["vax"])
        with self.assertRaisesRegex(Skipped, "for vax only"):
            Session(suite, "gfx90a", Roots("/nowhere", offline=True), None)

    def test_every_seed_has_its_own_records(self):
        program = catalogue.Program("/t", data={"path": "/all.data", "categories": ["quick"], "per_group": 10})
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "sid").mkdir()
            (pathlib.Path(folder) / "sid/all.data").write_bytes(
                DataFile().make([(i, ("gemm", "gemm_small", "quick"), i) for i in range(100)]))
            kept = []
            for seed in (1, 2, 1):
                session = Session.__new__(Session)  # without a machine to run anything on
                session.suite = catalogue.Suite("blas", "BLAS", "gtest", {"sid": ["tests"]}, [program])
                session.root, session.roots = "sid", Roots(folder, offline=True)
                session.options = types.SimpleNamespace(folder=folder, seed=seed, complete=None)
                path, total = session._reduce(program.data)
                self.assertEqual(total, 100)
                kept.append(path.read_bytes())
            self.assertEqual(kept[0], kept[2])
            self.assertNotEqual(kept[0], kept[1])


    def make(self, folder, names, adapter=GoogleTest, **options):
        """A session with one program that has these cases, and no machine to run anything on."""
        session = Session.__new__(Session)
        session.suite = catalogue.Suite("blas", "BLAS", "gtest", {"sid": ["tests"]}, [catalogue.Program("/t")])
        session.adapter, session.target, session.scratch = adapter, "gfx90a", pathlib.Path(folder)
        session.programs, session.unlisted, session.known = {"/t": session.suite.programs[0]}, {}, 0
        session.options = types.SimpleNamespace(**{"shard": (0, 1), "complete": None, "smoke": False, "folder": folder} | options)
        session._list, session._kept_list = lambda key: names, lambda key: pathlib.Path(folder)
        return session

    def test_a_complete_set_is_what_its_expression_finds_in_all_shards(self):
        names = [f"_/gemm.tensile/quick_gemm_{i}" for i in range(40)] + ["_/trsm.blas3/quick_trsm_1", "A.B"]
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for shard in range(3):
                session = self.make(folder, names, complete="^gemm/quick_", shard=(shard, 3))
                chosen, out = session.cases()
                found += [name for _, name in chosen]
                self.assertEqual((session.known, sorted(out)), (40, [("/t", "A.B"), ("/t", "_/trsm.blas3/quick_trsm_1")]))
            self.assertEqual(sorted(found), sorted(names[:40]))

    def test_a_complete_set_is_run_in_its_own_order_by_few_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [f"case_{i:04}" for i in range(2000)]
            session = self.make(folder, names, complete="case", seed=1)
            batches, journal = [], types.SimpleNamespace(cases={("/t", names[0]): {"program": "/t", "seconds": 0.001}}, seconds=0.0)
            session._run_batch = lambda batch, *rest: batches.append([name for _, name in batch])
            session.run([("/t", name) for name in names], journal, 100, lambda *rest: None)
            self.assertEqual(batches, [names[1:]])

    def test_a_list_too_long_for_a_command_line_is_said_in_patterns(self):
        names = [f"A.{kind}_{i:0100}" for kind in "ab" for i in range(2000)]
        with tempfile.TemporaryDirectory() as folder:
            session = self.make(folder, names)
            self.assertEqual(session._selecting("/t", names[:2]), [f"--gtest_filter={names[0]}:{names[1]}", "--gtest_color=no"])
            self.assertEqual(session._selecting("/t", names[:2000])[0], "--gtest_filter=A.a*")
            self.assertEqual(session._selecting("/t", names)[0], "--gtest_filter=*")


class OneCase(unittest.TestCase):
    def test_counters_and_traces_are_written_where_the_root_is_and_moved(self):
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as elsewhere:
            wanted = {"counters": f"{elsewhere}/c.json", "trace": f"{elsewhere}/t.wt"}
            with run.outputs(wanted, scratch) as extra:
                self.assertTrue(all(path.startswith(scratch) for path in extra.values()))
                pathlib.Path(extra["counters"]).write_text("{}")  # and no trace: the program did not get so far
            self.assertEqual(os.listdir(elsewhere), ["c.json"])
            self.assertEqual(os.listdir(scratch), [])


class Execution(unittest.TestCase):
    """Shell scripts that print as a gtest program does."""

    def run_batch(self, script, names, adapter=GoogleTest, case_seconds=20, memory=1 << 30, budget=60):
        results = {}
        with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as log:
            batch = Batch(["bash", "-c", script], dict(os.environ), folder, Limits(case_seconds, case_seconds, memory),
                          adapter, names, lambda name, status, seconds, detail: results.__setitem__(name, (status, detail)),
                          log, time.monotonic() + budget)
            rest = batch.run()
        return results, rest

    def test_verdicts_are_recorded_with_what_was_printed(self):
        results, rest = self.run_batch("cat <<'EOF'\n" + GTEST_RUN + "EOF",
                                       ["quick/gemm.blas3/f32_r_NN_1", "TypedTest/0.Adds", "A.Skips"])
        self.assertEqual({name: status for name, (status, _) in results.items()},
                         {"quick/gemm.blas3/f32_r_NN_1": PASSED, "TypedTest/0.Adds": FAILED, "A.Skips": SKIPPED})
        self.assertIn("wrong: 1 != 2", results["TypedTest/0.Adds"][1])
        self.assertEqual(rest, [])

    def test_what_a_talkative_program_prints_before_the_failure_is_not_kept(self):
        script = "echo '[ RUN      ] A.a'; seq 30; printf 'x.cc:7: Failure\\nwrong\\n[  FAILED  ] A.a (5 ms)\\n'"
        results, _ = self.run_batch(script, ["A.a"])
        self.assertIn("x.cc:7: Failure\nwrong", results["A.a"][1])
        self.assertNotIn("\n3\n", results["A.a"][1])

    def test_a_crash_fails_its_case_and_leaves_the_others_to_run(self):
        results, rest = self.run_batch('echo "[ RUN      ] A.a"; kill -SEGV $$', ["A.a", "A.b"])
        self.assertEqual(results["A.a"][0], FAILED)
        self.assertIn("SIGSEGV", results["A.a"][1])
        self.assertEqual(rest, ["A.b"])

    def test_a_case_that_takes_too_long_is_slow(self):
        results, rest = self.run_batch('echo "[ RUN      ] A.a"; sleep 60', ["A.a", "A.b"], case_seconds=1)
        self.assertEqual((results["A.a"][0], rest), (SLOW, ["A.b"]))

    def test_a_case_that_eats_memory_is_ended(self):
        script = 'echo "[ RUN      ] A.a"; python3 -c "x=bytearray(400<<20); x[::4096]=b\'1\'*len(x[::4096]); import time; time.sleep(60)"'
        results, _ = self.run_batch(script, ["A.a"], memory=100 << 20, case_seconds=30)
        self.assertEqual(results["A.a"][0], SLOW)
        self.assertIn("memory", results["A.a"][1])

    def test_a_slow_case_without_a_start_is_the_next_of_the_list(self):
        results, rest = self.run_batch('echo "  ADD(a=1): OK"; sleep 60', ["ADD(a=1)", "ADD(a=2)", "ADD(a=3)"],
                                       adapter=BackendOps, case_seconds=2)
        self.assertEqual({name: status for name, (status, _) in results.items()}, {"ADD(a=1)": PASSED, "ADD(a=2)": SLOW})
        self.assertEqual(rest, ["ADD(a=3)"])

    def test_the_budget_ends_a_batch_without_a_verdict(self):
        results, rest = self.run_batch('echo "[ RUN      ] A.a"; sleep 60', ["A.a"], budget=1)
        self.assertEqual((results, rest), ({}, []))

    def test_a_program_that_cannot_start_fails_its_first_case(self):
        results, rest = self.run_batch("echo no such library >&2; exit 127", ["A.a", "A.b"])
        self.assertEqual((results["A.a"][0], rest), (FAILED, ["A.b"]))
        self.assertIn("no such library", results["A.a"][1])

    def test_a_program_without_its_library_is_skipped_and_says_which(self):
        script = "echo 'prog: error while loading shared libraries: libx.so.0: cannot open shared object file' >&2; exit 127"
        for adapter, names in ((GoogleTest, ["A.a", "A.b"]), (Magma, ["prog"])):
            results, rest = self.run_batch(script, names, adapter=adapter)
            self.assertEqual((results, rest), ({name: (SKIPPED, "libx.so.0 is not in the root") for name in names}, []))

    def test_a_program_is_its_own_case(self):
        results, _ = self.run_batch("exit 3", ["prog"], adapter=ExitStatus)
        self.assertEqual(results["prog"][0], FAILED)

    def test_children_end_with_their_program(self):
        run = Run(["bash", "-c", "sleep 1000 & echo started; wait"], dict(os.environ), 1 << 30, "/")
        for _, line in run.lines():
            if line == "started":
                break
        self.assertGreater(resident_bytes(run.process.pid), 0)
        run.close()
        self.assertEqual(resident_bytes(run.process.pid), 0)


class Races(unittest.TestCase):
    """A case with another seed's other result, and a program that stands in for `wavetap sanitize`."""
    FINDING = {"tool": "racecheck", "severity": "error", "kind": "write-after-read", "space": "LDS", "wave": 0, "offset": 0x4a0,
               "kernel": "void solver::v3::potf2<float, int>(bool, int)", "instruction": "ds_write_b32 v7, v6",
               "other": {"wave": 1, "offset": 0x3d0, "instruction": "ds_read_b32 v6, v6"}}
    TEXT = "write-after-read in LDS, ds_write_b32 at entry + 0x4a0 of wave 0 against ds_read_b32 at entry + 0x3d0 of wave 1"

    def make(self, folder):
        base = pathlib.Path(folder) / "journals/solver.gfx1030.jsonl"
        for path, statuses in ((base, {"a": PASSED, "b": PASSED, "c": SLOW}),
                               (base.with_name("solver.gfx1030.threads2.seed3.jsonl"), {"a": FAILED, "b": PASSED, "c": FAILED})):
            for case, status in statuses.items():
                Journal(path).add("p", case, status, 1.0)
        return base

    def test_cases_that_ended_otherwise_are_looked_at(self):
        with tempfile.TemporaryDirectory() as folder:
            base = self.make(folder)
            self.assertEqual(races.differing(base), [("p", "a")])
            self.assertEqual(races.differing(base.with_name("other.gfx1030.jsonl")), [])

    def test_findings_are_told_by_kernel(self):
        second = self.FINDING | {"offset": 0x500}
        others = [self.FINDING | {"severity": "warning"}, self.FINDING | {"tool": "memcheck"}]
        self.assertEqual(races.by_kernel([self.FINDING, second, *others]), [{"kernel": "potf2", "pairs": 2, "text": self.TEXT}])
        called = self.FINDING | {"other": {"wave": 1, "instruction": "global_load_dword v1"}}
        del called["offset"]
        self.assertTrue(races.describe(called).endswith("ds_write_b32 of wave 0 against global_load_dword of wave 1"))
        self.assertTrue(races.describe(self.FINDING | {"other": {"call": "hipMemcpy"}}).endswith("against hipMemcpy"))
        self.assertEqual([races.short_name(name) for name in ("plain", "void f<a::b>(int)", "ns::g(char*)")], ["plain", "f", "g"])

    def look(self, script):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "tool"
            tool.write_text("#!/bin/bash\n" + script)
            tool.chmod(0o755)
            session = types.SimpleNamespace(adapter=GoogleTest, target="gfx1030", scratch=folder, environment=lambda program: dict(os.environ),
                                            command=lambda program, arguments: [str(tool), "run", "--", program, *arguments])
            return races.look(session, "p", "a", 20)

    def test_a_case_is_run_under_racecheck(self):
        write = f"cat > $7 <<'EOF'\n{json.dumps({'findings': [self.FINDING]})}\nEOF\n"
        says = '[ "$1 $2 $3 $6 $8 $9" = "sanitize --tool racecheck --json -- p" ] || exit 1\n'
        self.assertEqual([race["text"] for race in self.look(says + write + "exit 2")], [self.TEXT])
        self.assertEqual(self.look("echo '{\"findings\": []}' > $7"), [])
        self.assertIsNone(self.look("exit 1"))

    def test_the_table_names_the_races(self):
        suites = {"solver": catalogue.Suite("solver", "Solver", "gtest", {}, [])}
        with tempfile.TemporaryDirectory() as folder:
            base = self.make(folder)
            text = report.text(folder, suites, Causes([]))
            self.assertIn("2 threads, seed 3 | 2 | 1 (0 explained) `a` |", text)
            self.assertIn("No case was run under racecheck.", text)
            races.keep(base, "p", "a", [])
            races.keep(base, "p", "a", races.by_kernel([self.FINDING]))  # the last look counts
            text = report.text(folder, suites, Causes([]))
            self.assertIn("2 threads, seed 3 | 2 | 1 (0 explained, 1 with a race shown) `a` |", text)
            self.assertIn(f"| Solver | gfx1030 | `potf2` | 1 | `a`: {self.TEXT} |", text)
            self.assertEqual(report.text(folder, suites, Causes([]), text), text)


class Report(unittest.TestCase):
    def test_the_table_counts_and_names_causes(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = Journal(pathlib.Path(folder) / "journals/rocblas.gfx90a.jsonl")
            journal.begin({"root": "sid", "packages": {"librocblas4-tests": "6.4.4-4"}, "listed": 10, "host": "arm64"})
            for case, status in (("a", PASSED), ("b", FAILED), ("c", FAILED), ("d", SLOW), ("e", SKIPPED)):
                journal.add("p", case, status, 1.0)
            other = Journal(pathlib.Path(folder) / "journals/rocblas.gfx90a.threads1.seed0.jsonl")
            other.add("p", "a", FAILED, 1.0)
            shard = Journal(pathlib.Path(folder) / "journals/rocblas.gfx90a.shard1of2.jsonl")
            shard.add("p", "f", PASSED, 1.0)
            shard = Journal(pathlib.Path(folder) / "journals/rocblas.gfx90a.threads2.seed3.shard0of2.jsonl")
            shard.add("p", "f", PASSED, 1.0)
            compiled = Journal(pathlib.Path(folder) / "journals/rocblas.gfx90a.threads0.seed0.jit-on.jsonl")
            compiled.add("p", "a", PASSED, 1.0)
            suites = {"rocblas": catalogue.Suite("rocblas", "rocBLAS", "gtest", {}, [])}
            causes = Causes([{"cases": ["b"], "cause": "needs", "text": "images"}])
            text = report.text(folder, suites, causes)
            self.assertIn("| rocBLAS | gfx90a | arm64 | sid 6.4.4-4 | 5 | 2 | 2 (1 explained) | 1 | 1 | 4 | 50.00 % |", text)
            self.assertIn("| gfx90a | 1 | 5 | 2 | 2 | 1 | 50.00 % |", text)
            self.assertIn("| rocBLAS | gfx90a | `b` | needs | images |", text)
            self.assertIn("`c` | not known", text)
            self.assertIn("1 thread, seed 0 | 1 | 1 (0 explained) `a` |", text)
            self.assertIn("2 threads, seed 3 | 1 | 0  |", text)
            self.assertIn("all threads, seed 0, compiled | 1 | 0  |", text)

    def test_a_complete_set_has_a_table_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            for shard, cases in enumerate(("ab", "c")):
                journal = Journal(pathlib.Path(folder) / f"journals/rocblas.gfx90a.complete-12345678.shard{shard}of2.jsonl")
                journal.begin({"root": "sid", "packages": {}, "listed": 10, "host": "arm64", "complete": "^(a|b)", "cases": 4})
                for case in cases:
                    journal.add("p", case, PASSED, 1.0)
            suites = {"rocblas": catalogue.Suite("rocblas", "rocBLAS", "gtest", {}, [])}
            text = report.text(folder, suites, Causes([]))
            self.assertIn("| rocBLAS | gfx90a | arm64 | `^(a\\|b)` | 4 | 3 | 0 | 0 | 0 | 1 |", text)
            self.assertIn("No case was run.", text)
            self.assertEqual(report.text(folder, suites, Causes([]), text), text)

    def test_rows_of_other_machines_stay(self):
        suites = {name: catalogue.Suite(name, name.upper(), "gtest", {}, []) for name in ("fft", "blas", "rand")}
        causes = Causes([{"cases": ["b"], "cause": "needs", "text": "images"}])
        with tempfile.TemporaryDirectory() as folder:
            document = pathlib.Path(folder) / "suites.md"
            document.write_text(f"# Suites\n\n{report.BEGIN}\nold\n{report.END}\nend\n")
            for name, cases in (("fft", "a"), ("blas", "ab")):
                for place in ("one", "two")[:1 if name == "fft" else 2]:
                    journal = Journal(pathlib.Path(folder) / place / f"journals/{name}.gfx90a.jsonl")
                    journal.begin({"root": "sid", "packages": {"tests": place}, "listed": 10, "host": "arm64"})
                    for case in cases if place == "one" else "a":
                        journal.add("p", case, FAILED if case == "b" else PASSED, 1.0)
            Journal(pathlib.Path(folder) / "one/journals/fft.gfx90a.threads1.seed0.jsonl").add("p", "a", PASSED, 1.0)
            report.write(document, pathlib.Path(folder) / "one", suites, causes)
            self.assertIn("| BLAS | gfx90a | `b` | needs | images |", document.read_text())
            report.write(document, pathlib.Path(folder) / "two", suites, causes)
            text = document.read_text()
            rows = [line for line in text.splitlines() if line.startswith(("| FFT", "| BLAS"))]
            self.assertEqual([row.split(" | ")[:4] for row in rows[:2]],
                             [["| FFT", "gfx90a", "arm64", "sid one"], ["| BLAS", "gfx90a", "arm64", "sid two"]])
            self.assertIn("No case failed.", text)  # the only failure was the older journal's
            self.assertIn("| FFT | gfx90a | 1 thread, seed 0 | 1 | 0  |", text)
            report.write(document, pathlib.Path(folder) / "two", suites, causes)
            self.assertEqual(document.read_text(), text)
            Journal(pathlib.Path(folder) / "one/journals/blas.gfx90a.threads2.seed3.jsonl").add("p", "b", PASSED, 1.0)
            report.write(document, pathlib.Path(folder) / "one", suites, causes, "variants")
            self.assertEqual(document.read_text().replace("| BLAS | gfx90a | 2 threads, seed 3 | 1 | 1 (1 explained) `b` |\n", ""), text)
            Journal(pathlib.Path(folder) / "two/journals/blas.gfx90a.threads1.seed1.jsonl").add("p", "a", PASSED, 1.0)
            report.write(document, pathlib.Path(folder) / "two", suites, causes)  # another engine's row stays
            self.assertIn("2 threads, seed 3 | 1 | 1 (1 explained) `b` |", document.read_text())
            self.assertIn("1 thread, seed 1 | 1 | 0  |", document.read_text())
            text = document.read_text()
            self.assertTrue(text.startswith("# Suites\n") and text.endswith(f"{report.END}\nend\n"))


if __name__ == "__main__":
    unittest.main()
