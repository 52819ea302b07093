#!/usr/bin/env python3
"""A recorded program, watched and controlled from outside while it runs: status, stop, start, tail, top.

  live.py --bin BUILD/bin

The program is Python with the recorder preloaded; it makes a marker for every line it is sent.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = r"""
import ctypes, os, sys
recorder = ctypes.CDLL(None)
recorder.wavetap_range_push(b"whole program")
print(os.getpid(), flush=True)
for line in sys.stdin:
    recorder.wavetap_mark(line.strip().encode())
    print("done", flush=True)
recorder.wavetap_range_pop()
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"live: {what}")


class Watched:
    def __init__(self, wavetap, scratch):
        self.wavetap = wavetap
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=scratch, NO_COLOR="1")
        self.scratch = scratch
        self.process = subprocess.Popen([wavetap, "run", "-o", "t.rpd", "--", sys.executable, "-c", PROGRAM], cwd=scratch, text=True,
                                        env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.process.stdout.readline().strip()

    def mark(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        expect(self.process.stdout.readline() == "done\n", "the program gave no answer")

    def ask(self, *words, status=0):
        done = subprocess.run([self.wavetap, *words], cwd=self.scratch, env=self.environment, capture_output=True, text=True, timeout=60)
        expect(done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def events(self, target):
        lines = [json.loads(line) for line in self.ask("tail", target, "--no-follow").splitlines()]
        return [line.get("text") for line in lines if line["kind"] == "marker"], lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    wavetap = str((parser.parse_args().bin / "wavetap").resolve())
    with tempfile.TemporaryDirectory() as scratch:
        watched = Watched(wavetap, scratch)
        watched.mark("one")
        status = json.loads(watched.ask("status", watched.pid, "--json"))
        expect(status["state"] == "recording" and status["events"] >= 2 and status["losses"] == 0, f"status: {status}")
        expect(status["in_flight"] == [], f"in flight: {status}")
        folder = status["session"]
        expect(pathlib.Path(folder).parent.samefile(scratch), f"session folder {folder}")
        expect(f"process {watched.pid}: recording" in watched.ask("status"), "status does not list the process")

        texts, lines = watched.events(watched.pid)
        expect(texts == ["whole program", "one"], f"tail: {texts}")
        expect(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", line["time"]) for line in lines), f"times: {lines}")
        expect({line["pid"] for line in lines} == {int(watched.pid)}, f"pids: {lines}")

        expect(watched.ask("stop", watched.pid) == f"process {watched.pid}: stopped\n", "stop")
        watched.mark("while stopped")
        expect(watched.ask("start", watched.pid) == f"process {watched.pid}: recording, 1 start to stop\n", "start")
        expect(watched.ask("flush", watched.pid) == f"process {watched.pid}: flushed\n", "flush")
        watched.mark("two")
        expect(watched.events(folder)[0] == ["whole program", "one", "two"], f"tail of the folder: {watched.events(folder)[0]}")

        view = json.loads(watched.ask("top", watched.pid, "--once", "--json", "--interval", "0.1"))
        expect(view["calls_per_s"] == 0 and view["in_flight"] == 0 and view["kernels"] == [], f"top: {view}")
        expect("calls/s" in watched.ask("top", folder, "--once", "--interval", "0.1"), "top as text")

        # A follower sees what comes and ends with the program.
        follower = subprocess.Popen([wavetap, "tail", watched.pid], env=watched.environment, stdout=subprocess.PIPE, text=True)
        for text in ("whole program", "one", "two"):
            expect(json.loads(follower.stdout.readline()).get("text") == text, f"the follower missed {text}")
        watched.mark("three")
        expect(json.loads(follower.stdout.readline()).get("text") == "three", "the follower missed three")
        os.kill(int(watched.pid), signal.SIGKILL)
        expect(follower.wait(60) == 0, "the follower did not end well")
        errors = watched.process.communicate(timeout=60)[1]
        expect(watched.process.returncode == 137, f"status {watched.process.returncode}")
        expect("t.rpd: " in errors and ", 0 lost" in errors, errors)
        with sqlite3.connect(pathlib.Path(scratch) / "t.rpd") as trace:
            found = [row[0] for row in trace.execute("select args from api order by id")]
        expect(found == ["whole program", "one", "two", "three"], f"the trace: {found}")
        expect(not list(pathlib.Path(scratch).glob("wavetap/*.sock")), "a socket was left behind")
        expect(not list(pathlib.Path(scratch).glob("*.raw-*")), "the raw recording was left behind")
        watched.ask("status", watched.pid, status=1)


if __name__ == "__main__":
    main()
