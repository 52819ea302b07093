#!/usr/bin/env python3
"""wavetap.open: rows, columns, analyses and data frames of a trace made by hand."""
import importlib.util
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import wavetap

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ["WAVETAP_BIN"])
HAS_PANDAS = importlib.util.find_spec("pandas") is not None


class OpenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "small.rpd"
        subprocess.run([BIN / "trace_from_text", SOURCE / "tests/traces/small.txt", cls.path], check=True)
        cls.trace = wavetap.open(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.trace.close()
        cls.folder.cleanup()

    def test_rows_are_named_tuples(self):
        calls = list(self.trace.calls.rows())
        self.assertEqual(len(calls), len(self.trace.calls))
        first = calls[0]
        self.assertEqual((first.name, first.pid, first.tid, first.start, first.end), ("hipMalloc", 100, 100, 1000, 5000))
        self.assertEqual(first.args, "ptr = 0x7000000 | size = 1048576")
        self.assertEqual(first.domain, "hip")

    def test_columns_of_structs_and_of_plain_vectors(self):
        self.assertEqual(self.trace.launches.columns[:2], ["call", "stream"])
        self.assertEqual(self.trace.launches["grid_x"][0], 64)
        self.assertEqual(self.trace.launches["kernel"][1], "void relu(float*)")
        self.assertEqual(self.trace.copies["size_bytes"], [1048576])
        self.assertEqual(self.trace.copies["sync"], [False])
        self.assertEqual(self.trace.ops["gpu"][-1], 1)

    def test_links_give_row_numbers(self):
        calls, ops = list(self.trace.calls.rows()), list(self.trace.ops.rows())
        for link in self.trace.links.rows():
            self.assertLessEqual(calls[link.call].start, ops[link.op].start)

    def test_tables_that_come_on_demand(self):
        self.assertEqual(len(self.trace.stack_frames), 0)
        with wavetap.open(self.path, args=False, stack_frames=True) as trace:
            self.assertEqual(trace.stack_frames["name"], ["hipLaunchKernel", "at::native::mm"])
            self.assertEqual(set(trace.calls["args"]), {""})
        self.assertEqual(self.trace.libraries["soname"][-1], "libcuda.so.1")

    def test_counters_belong_to_dispatches(self):
        path = pathlib.Path(self.folder.name) / "counted.rpd"
        subprocess.run([BIN / "trace_from_text", SOURCE / "tests/traces/died.txt", path], check=True)
        with wavetap.open(path) as trace:
            ops, counted = list(trace.ops.rows()), {}
            for row in trace.counters.rows():
                counted.setdefault(ops[row.op].description, {})[row.name] = row.value
            self.assertEqual(set(counted), {"void scale<float, 4>(float*)", "void scale<float, 1>(float*)"})
            self.assertEqual(counted["void scale<float, 4>(float*)"]["instructions"], 20480)
            self.assertEqual(counted["void scale<float, 4>(float*)"]["cache_lines_ideal"], 2048)
            self.assertEqual(counted["void scale<float, 1>(float*)"]["instructions"], 10240)
            self.assertEqual(sum(trace.counters["value"][i] for i, name in enumerate(trace.counters["name"]) if name == "waves"), 1024)

    def test_metadata(self):
        self.assertEqual(self.trace.metadata["hostname"], "node1")

    def test_analyses_are_those_of_the_program(self):
        def program(*words):
            return json.loads(subprocess.run([BIN / "wavetap", *words, "--json"], check=True, capture_output=True).stdout)

        self.assertEqual(self.trace.report(), program("report", self.path))
        self.assertEqual(self.trace.analyze("gaps", min_us=5), program("analyze", "gaps", self.path, "--set", "min-us=5"))
        self.assertEqual(self.trace.analyze("variability", gaps=[10, 100], sequence=1),
                         program("analyze", "variability", self.path, "--top", "0", "--set", "gaps=10,100", "--set", "sequence=1"))
        with self.assertRaisesRegex(ValueError, "gap: no such analysis; did you mean gaps?"):
            self.trace.analyze("gap")

    def test_settings_are_checked(self):
        for name, settings, error in (
                ("gaps", {"e": 5}, "e=5: gaps has no setting e; it has min-us"),
                ("gaps", {"min_us": "few"}, "min-us=few: not a number"),
                ("variability", {"sequence": 99}, "sequence=99: not a whole number from 1 to 16"),
                ("variability", {"sequences": 2}, "did you mean sequence"),
                ("variability", {"gaps": "100,10"}, "gaps=100,10: not a list of ascending whole numbers"),
                ("report", {"top_rows": 5}, "report has no settings")):
            with self.assertRaisesRegex(ValueError, error):
                self.trace.analyze(name, **settings)

    def test_the_report_of_a_program_that_died(self):
        path = pathlib.Path(self.folder.name) / "died.rpd"
        subprocess.run([BIN / "trace_from_text", SOURCE / "tests/traces/died.txt", path], check=True)
        with wavetap.open(path) as trace:
            report = trace.report()
            self.assertEqual([(fault.gpu, fault.address, fault.what) for fault in trace.faults.rows()], [(0, 0x7f555000, "page not present")])
        self.assertEqual(report, json.loads(subprocess.run([BIN / "wavetap", "report", path, "--json"], check=True, capture_output=True).stdout))
        self.assertLess({"device_figures", "faults", "in_flight", "open_calls"}, set(report["tables"]))
        self.assertTrue(any("misreports" in warning for warning in report["warnings"]))

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(OSError, "does not exist"):
            wavetap.open("no-such-file.rpd")
        with self.assertRaisesRegex(OSError, "not a trace"):
            wavetap.open(__file__)
        trace = wavetap.open(self.path)
        trace.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            len(trace.calls)

    def test_a_closed_trace_can_be_shown_and_closed_again(self):
        trace = wavetap.open(self.path)
        self.assertIn("calls", repr(trace))
        trace.close()
        trace.close()
        self.assertIn("closed", repr(trace))

    def test_an_unknown_name_is_no_attribute(self):
        with self.assertRaises(AttributeError):
            wavetap.nonsense  # pylint: disable=pointless-statement

    @unittest.skipIf(HAS_PANDAS, "pandas is installed")
    def test_without_pandas_frames_say_so(self):
        with self.assertRaisesRegex(ImportError, "pandas is not installed"):
            self.trace.ops.frame()

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_frames(self):
        ops = self.trace.ops.frame()
        self.assertEqual(len(ops), len(self.trace.ops))
        self.assertEqual(list(ops["description"].astype(str)), self.trace.ops["description"])
        self.assertEqual(int((ops["end"] - ops["start"]).sum()), sum(row.end - row.start for row in self.trace.ops.rows()))
        self.assertEqual(str(ops["start"].dtype), "int64")
        self.assertEqual(str(ops["description"].dtype), "category")
        self.assertEqual(ops.groupby("type", observed=True)["id"].count()["KernelExecution"], 4)

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_frames_hold_what_rows_hold(self):
        import pandas

        with wavetap.open(self.path, stack_frames=True) as trace:
            tables = {name: getattr(trace, name) for name in
                      ("calls", "ops", "links", "launches", "copies", "monitors", "stack_frames", "libraries")}
            frames = {name: table.frame() for name, table in tables.items()}
            rows = {name: [tuple(row) for row in table.rows()] for name, table in tables.items()}
        # The frames live on when the trace is closed.
        for name, frame in frames.items():
            self.assertGreater(len(frame), 0, name)
            self.assertEqual([tuple(None if value is pandas.NA else value for value in row)
                              for row in frame.itertuples(index=False, name=None)], rows[name], name)

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_frames_of_empty_tables_and_rows_of_nothing(self):
        import pandas

        folder = pathlib.Path(self.folder.name)
        for name in ("empty", "odd"):
            subprocess.run([BIN / "trace_from_text", SOURCE / f"tests/traces/{name}.txt", folder / f"{name}.rpd"], check=True)
        with wavetap.open(folder / "empty.rpd") as trace:
            for table in (trace.calls, trace.ops, trace.launches, trace.libraries):
                frame = table.frame()
                self.assertEqual((len(frame), list(frame.columns)), (0, table.columns))
        with sqlite3.connect(folder / "odd.rpd") as db:
            db.execute("update rocpd_api_ops set api_id = 99999 where id = 1")
        with wavetap.open(folder / "odd.rpd") as trace:
            calls = trace.links.frame()["call"]
            self.assertIs(calls[0], pandas.NA)
            self.assertEqual(list(calls.isna()), [call is None for call in trace.links["call"]])


if __name__ == "__main__":
    unittest.main()
