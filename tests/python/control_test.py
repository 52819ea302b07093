#!/usr/bin/env python3
"""The recorder controlled from Python: loaded by hand, under `wavetap run`, and through RPD's own module."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROGRAM = str(pathlib.Path(os.environ["WAVETAP_BIN"]) / "wavetap")


def run(code, scratch, prefix=(), environment=None):
    """Runs a Python program in `scratch`; its standard output."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("RPDT")}
    env.update(XDG_RUNTIME_DIR=scratch, **(environment or {}))
    done = subprocess.run([*prefix, sys.executable, "-c", textwrap.dedent(code)], cwd=scratch, env=env, text=True,
                          capture_output=True, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_on_gpu(code, scratch):
    """The same on a virtual GPU and without `wavetap run`'s recorder; standard output and standard error."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("RPDT")}
    env.update(XDG_RUNTIME_DIR=scratch)
    done = subprocess.run([PROGRAM, "run", "--gpu", "rx6800xt", "--no-trace", "--", sys.executable, "-c", textwrap.dedent(code)],
                          cwd=scratch, env=env, text=True, capture_output=True, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def rows(scratch, sql, name="trace.rpd"):
    path = pathlib.Path(scratch) / name
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return connection.execute(sql).fetchall()


MARKERS = "select domain, category, apiName, args, start <= end from api order by id"


class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name

    def left(self):
        return sorted(path.name for path in pathlib.Path(self.scratch).iterdir() if path.name != "wavetap")

    def check(self, name="trace.rpd"):
        subprocess.run([PROGRAM, "check", name], cwd=self.scratch, check=True, stdout=subprocess.DEVNULL)

    def test_records_what_is_inside(self):
        out = run("""
            from wavetap import Tracer
            tracer = Tracer("step.rpd")
            tracer.mark("before")
            with tracer:
                assert tracer.is_recording
                with tracer.range("a range with ünïcode", domain="io", category="disk"):
                    tracer.mark("inside")
            tracer.mark("after")
            print(tracer.is_recording, tracer.output.name)
            """, self.scratch)
        self.assertEqual(out, "False step.rpd\n")
        self.assertEqual(rows(self.scratch, MARKERS, "step.rpd"),
                         [("UserMarker", "io/disk", "UserMarker", "a range with ünïcode", 1), ("UserMarker", "", "UserMarker", "inside", 1)])
        self.check("step.rpd")
        self.assertEqual(self.left(), ["step.rpd"])

    def test_times_are_the_programs(self):
        out = run("""
            import time
            from wavetap import Tracer
            with Tracer("t.rpd") as tracer:
                before = time.monotonic_ns()
                with tracer.range("asleep"):
                    time.sleep(0.05)
                print(before, time.monotonic_ns())
            """, self.scratch)
        before, after = map(int, out.split())
        ((start, end),) = rows(self.scratch, "select start, end from api", "t.rpd")
        allowed = 20_000  # ns; the counter's rate is measured
        self.assertLessEqual(before - allowed, start)
        self.assertLessEqual(end, after + allowed)

    def test_calls_through_ctypes_are_recorded(self):
        out, err = run_on_gpu("""
            import ctypes
            from wavetap import Tracer
            tracer = Tracer()
            hip = ctypes.CDLL("libamdhip64.so.5")
            with tracer:
                memory = ctypes.c_void_p()
                print(hip.hipMalloc(ctypes.byref(memory), 4096), hip.hipMemset(memory, 7, 4096), hip.hipDeviceSynchronize())
            """, self.scratch)
        self.assertEqual(out, "0 0 0\n")
        calls = dict(rows(self.scratch, "select apiName, count(*) from api group by 1"))
        self.assertEqual(calls, {"hipMalloc": 1, "hipMemset": 1, "hipDeviceSynchronize": 1})
        self.assertEqual(rows(self.scratch, "select count(*) from rocpd_op o where id not in (select op_id from rocpd_api_ops)"), [(0,)])
        self.assertNotIn("recorded into", err)
        self.check()

    def test_says_which_calls_passed_by(self):
        out, err = run_on_gpu("""
            import ctypes
            hip = ctypes.CDLL("libamdhip64.so.5")
            fill, wait = hip.hipMemset, hip.hipDeviceSynchronize       # looked up before the recorder is there
            import os, pathlib, wavetap.control
            path = next(str(p) for p in wavetap.control.candidates("libwavetap.so") if p.exists())
            os.environ["HSA_TOOLS_LIB"] = path                         # the runtime calls it nevertheless
            from wavetap import Tracer
            tracer = Tracer()
            with tracer:
                memory = ctypes.c_void_p()
                print(hip.hipMalloc(ctypes.byref(memory), 4096), fill(memory, 7, 4096), wait())
            """, self.scratch)
        self.assertEqual(out, "0 0 0\n")
        lost = rows(self.scratch, "select reason, count, what from wavetap_loss")
        self.assertEqual([row[:2] for row in lost], [("bypassed", 1)], lost)
        self.assertIn("calls behind 1 kernels and copies", lost[0][2])

    def test_starts_and_stops_are_counted(self):
        out = run("""
            from wavetap import Tracer
            tracer = Tracer()
            print(tracer.start(), tracer.start(), tracer.stop(), tracer.is_recording, tracer.stop(), tracer.stop(), tracer.is_recording)
            """, self.scratch)
        self.assertEqual(out, "1 2 1 True 0 0 False\n")

    def test_can_be_written_before_the_end(self):
        out = run("""
            import sqlite3
            from wavetap import Tracer
            tracer = Tracer()
            with tracer:
                tracer.mark("one")
                tracer.close()
                print(sqlite3.connect("trace.rpd").execute("select count(*) from rocpd_api").fetchone()[0])
                tracer.mark("two")
            """, self.scratch)
        self.assertEqual(out, "1\n")
        self.assertEqual([row[3] for row in rows(self.scratch, MARKERS)], ["one", "two"])

    def test_uses_the_recorder_that_is_there(self):
        out = run("""
            from wavetap import Tracer
            tracer = Tracer("ignored.rpd")
            print(tracer.is_recording, tracer.output)
            with tracer.range("under run"):
                pass
            tracer.stop()
            tracer.mark("stopped")
            """, self.scratch, prefix=[PROGRAM, "run", "-o", "outer.rpd", "--"])
        self.assertEqual(out, "True None\n")
        self.assertEqual([row[3] for row in rows(self.scratch, MARKERS, "outer.rpd")], ["under run"])
        self.check("outer.rpd")
        self.assertEqual(self.left(), ["outer.rpd"])

    def test_rpd_programs_run_unchanged(self):
        run("""
            from rpdTracerControl import rpdTracerControl
            rpdTracerControl.setFilename(name="rpd.rpd", append=False)
            profile = rpdTracerControl()

            def work():
                return 1

            with profile as same:
                assert same is profile
                profile.rangePush("python", "load", "file.py:3")
                profile.rangePop()
                profile.setPythonTrace(True)
                work()
                profile.setPythonTrace(False)
                profile.flush()
            """, self.scratch)
        found = rows(self.scratch, MARKERS, "rpd.rpd")
        self.assertEqual(found[0], ("python", "", "load", "file.py:3", 1))
        self.assertIn("work", [row[2] for row in found])
        self.check("rpd.rpd")

    def test_rpd_programs_append(self):
        for text in ("one", "two"):
            run(f"""
                from rpdTracerControl import rpdTracerControl
                rpdTracerControl.setFilename(name="rpd.rpd", append=True)
                with rpdTracerControl() as profile:
                    profile.rangePush("python", "load", "{text}")
                    profile.rangePop()
                    profile.flush()
                """, self.scratch)
        self.assertEqual([row[3] for row in rows(self.scratch, MARKERS, "rpd.rpd")], ["one", "two"])
        self.check("rpd.rpd")
        self.assertEqual(self.left(), ["rpd.rpd"])

    def test_the_environment_names_the_file(self):
        run("""
            from rpdTracerControl import rpdTracerControl
            with rpdTracerControl():
                pass
            """, self.scratch, environment={"RPDT_FILENAME": "mine.rpd"})
        self.assertEqual(self.left(), ["mine.rpd"])


if __name__ == "__main__":
    unittest.main()
