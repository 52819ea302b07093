#!/usr/bin/env python3
"""What recording costs, side by side in one run; part of `make bench`, or alone:

  measure.py --build BUILD [--quick] [--folder DIR]

Calls: a loop over a stand-in runtime (calls.cc) untraced, with the recorder loaded but stopped, recording,
and recording arguments; beside it LTTng-UST recording the same fields of the same calls. Processor time per
call is the measure, so that 16 threads on 2 cores can be compared with 1; of several rounds the best counts.
Launches: empty kernels on a virtual GPU (launches.hip). Then what is on disk, import, and how long a process
takes to leave.
"""
import argparse
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import run, table  # noqa: E402

THREADS = (1, 2, 4, 16)
AIMS = {"stopped": 3, "traced": 60, "with args": 100}  # ns over untraced


def numbers(text):
    return {name: float(number) for name, number in re.findall(r"([a-z]+) ([\d.]+)", text)}


class Lttng:
    """An LTTng session that records the reference program; use as a context manager."""

    def __init__(self, folder):
        self.folder, self.daemon = folder, None

    def __enter__(self):
        # A daemon that already runs is used and left alone.
        if subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True).returncode != 0:
            self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--quiet"], stderr=subprocess.DEVNULL)
            for _ in range(100):
                if subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
        lttng = ["lttng", "--no-sessiond"]
        run([*lttng, "create", "wavetap-bench", f"--output={self.folder}"])
        run([*lttng, "enable-channel", "--userspace", "--subbuf-size=4M", "--num-subbuf=8", "calls"])
        run([*lttng, "enable-event", "--userspace", "wavetap_bench:*", "--channel=calls"])
        run([*lttng, "start"])
        return self

    def __exit__(self, *_):
        subprocess.run(["lttng", "--no-sessiond", "destroy", "wavetap-bench"], capture_output=True)
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()


class Recorder:
    def __init__(self, build, quick=False, folder=None):
        self.build, self.quick = build, quick
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wt-bench-", dir=folder))
        self.programs = build / "bin/recorder"
        self.results = {}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def session(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def environment(self, session, options=""):
        return dict(os.environ, LD_PRELOAD=str(self.build / "lib/libwavetap.so"), WAVETAP_SESSION=str(session),
                    WAVETAP_OPTIONS=options, XDG_RUNTIME_DIR=str(self.folder))

    def calls(self, threads, total, function, options=None, program="calls"):
        """One run of the loop; `options` None: without the recorder."""
        session = None if options is None else self.session()
        environment = None if options is None else self.environment(session, options)
        measured = numbers(run([self.programs / program, threads, total // threads, function], env=environment))
        if session:
            shutil.rmtree(session)
        return measured["cpu"]

    def cost_per_call(self):
        total = 400_000 if self.quick else 2_000_000
        rounds = 2 if self.quick else 5
        has_lttng = (self.programs / "calls_lttng").exists() and shutil.which("lttng-sessiond") is not None
        # column: function of the loop, the recorder's options (None: not loaded), program
        columns = {"untraced": ("plain", None, "calls"), "stopped": ("plain", "paused", "calls"),
                   "traced": ("plain", "", "calls"), "untraced args": ("args", None, "calls"),
                   "with args": ("args", "args", "calls")}
        if has_lttng:
            columns.update({"LTTng": ("plain", None, "calls_lttng"), "LTTng args": ("args", None, "calls_lttng")})
        best = {threads: dict.fromkeys(columns, float("inf")) for threads in THREADS}

        def measure(names):
            for threads in THREADS:
                for name in names:
                    function, options, program = columns[name]
                    best[threads][name] = min(best[threads][name], self.calls(threads, total, function, options, program))

        reference = [name for name in columns if name.startswith("LTTng")]
        for _ in range(rounds):
            measure([name for name in columns if name not in reference])
            if reference:
                with Lttng(self.session() / "lttng"):
                    measure(reference)

        print("\nRecording a HIP call: nanoseconds of processor time over the untraced call\n")
        shown = {"stopped": "untraced", "traced": "untraced", "with args": "untraced args", "LTTng": "untraced",
                 "LTTng args": "untraced args"}
        shown = {name: base for name, base in shown.items() if name in columns}
        rows = []
        for threads in THREADS:
            ns = best[threads]
            over = {name: ns[name] - ns[base] for name, base in shown.items()}
            ratios = []
            if has_lttng:
                ratios = [f"{over['LTTng'] / over['traced']:.1f}x", f"{over['LTTng args'] / over['with args']:.1f}x"]
            rows.append([f"{threads} threads" if threads > 1 else "1 thread", f"{ns['untraced']:.1f}",
                         *(f"{over[name]:+.1f}" for name in shown), *ratios])
            self.results[f"call.{threads}"] = ns
        rows.append(["aim", "", *(f"<= {AIMS[name]}" if name in AIMS else "" for name in shown),
                     *([">= 1x"] * 2 if has_lttng else [])])
        table(["", "call", *shown, *(["LTTng : traced", "with args"] if has_lttng else [])], rows)
        if not has_lttng:
            print("  LTTng-UST is not installed (packages lttng-tools, liblttng-ust-dev): no reference")

    def cost_per_thread(self):
        """Programs that make threads by the thousand: what recording adds to each."""
        total = 2_000 if self.quick else 20_000
        best = {"untraced": float("inf"), "traced": float("inf")}
        for _ in range(2 if self.quick else 4):
            for name, options in (("untraced", None), ("traced", "")):
                best[name] = min(best[name], self.calls(4, total * 4, "short", options) / 1000)
        print("\nA short thread with two calls: processor time\n")
        table(["", "untraced", "traced", "difference", "aim"],
              [[f"{total} threads, 4 at a time", f"{best['untraced']:.1f} us", f"{best['traced']:.1f} us",
                f"{best['traced'] - best['untraced']:+.1f} us", "<= 10 us"]])
        self.results["thread_us"] = best

    def beside_rpd(self):
        """The same calls, written the way RPD writes them (rpd_style.h): one thread, until they are in a .rpd file."""
        if not (self.programs / "calls_rpd").exists():
            return
        total = 200_000 if self.quick else 1_000_000
        best = {name: {"call": float("inf"), "whole": float("inf"), "events": 0.0} for name in ("wavetap", "RPD's way")}
        bare = float("inf")
        for _ in range(2 if self.quick else 5):
            bare = min(bare, self.calls(1, total, "plain"))
            file = self.folder / "beside.rpd"
            said = numbers(run([self.programs / "calls_rpd", 1, total, "plain"], env=dict(os.environ, RPDT_FILENAME=str(file))))
            file.unlink()
            session = self.session()
            before = time.monotonic()
            ours = numbers(run([self.programs / "calls", 1, total, "plain"], env=self.environment(session)))
            run([self.build / "bin/wavetap", "import", session, "-o", file])
            ours["whole"] = (time.monotonic() - before) * 1e9 / total
            file.unlink()
            shutil.rmtree(session)
            for name, measured in (("wavetap", ours), ("RPD's way", said)):
                best[name]["call"] = min(best[name]["call"], measured["cpu"])
                best[name]["whole"] = min(best[name]["whole"], measured["whole"])
                best[name]["events"] = max(best[name]["events"], measured["events"])
        for one in best.values():
            one["call"] -= bare
        ours, theirs = best["wavetap"], best["RPD's way"]
        ratios = {"call": theirs["call"] / ours["call"], "events": ours["events"] / theirs["events"],
                  "whole": theirs["whole"] / ours["whole"]}
        print("\nBeside RPD's way of writing a call (its method, written again: recorder/rpd_style.h); one thread\n")
        table(["", "added to a call", "calls a second", "per call, until the .rpd file is whole"],
              [*([name, f"+{one['call']:.0f} ns", f"{one['events'] / 1e6:.2f} M", f"{one['whole']:.0f} ns"]
                 for name, one in best.items()),
               ["wavetap is better by", *(f"{ratios[key]:.1f}x" for key in ("call", "events", "whole"))]])
        self.results["beside_rpd"] = {**best, "ratios": ratios}

    def cost_per_dispatch(self, model="rx6800xt"):
        program = self.build / "bin/hip/bench_launches"
        if not program.exists():
            return
        best = {"bare": float("inf"), "traced": float("inf")}
        for _ in range(2 if self.quick else 4):
            for name, options in (("bare", ["--no-trace"]), ("traced", ["-o", self.folder / "launches.rpd"])):
                measured = numbers(run([self.build / "bin/wavetap", "run", "--gpu", model, *options, "--", program]))
                best[name] = min(best[name], measured["launch"])
        print("\nLaunching an empty kernel on a virtual GPU: processor time of the launching thread\n")
        table(["", "bare", "traced", "difference", "aim"],
             [["one launch", f"{best['bare']:.0f} ns", f"{best['traced']:.0f} ns",
               f"{best['traced'] - best['bare']:+.0f} ns", "<= 1000 ns"]])
        self.results["dispatch"] = best

    def sustained(self):
        """As many events as the cores can make, all of them kept; what they weigh; how fast they are read."""
        cores = os.cpu_count()
        total = (1_000_000 if self.quick else 5_000_000) * cores
        rows = []
        for label, function, options in (("calls", "plain", ""), ("calls with 4 arguments", "args", "args")):
            session = self.session()
            measured = numbers(run([self.programs / "calls", cores, total // cores, function],
                                   env=self.environment(session, options)))
            raw = sum(path.stat().st_size for path in session.iterdir())
            trace = self.folder / "sustained.rpd"
            before = time.monotonic()
            run([self.build / "bin/wavetap", "import", session, "-o", trace])
            seconds = time.monotonic() - before
            with sqlite3.connect(trace) as connection:
                recorded = connection.execute("select count(*) from rocpd_api").fetchone()[0]
                rows_made = recorded + connection.execute("select count(*) from rocpd_ustring").fetchone()[0]
                lost = connection.execute("select coalesce(sum(count), 0) from wavetap_loss").fetchone()[0]
            result = {"events_per_s": measured["events"], "made": total, "recorded": recorded, "lost": lost,
                      "raw_bytes": raw / total, "rpd_bytes": trace.stat().st_size / total, "import_rows_per_s": rows_made / seconds}
            self.results[f"sustained.{function}"] = result
            rows.append([label, f"{measured['events'] / 1e6:.1f} M/s", f"{total - recorded}", f"{result['raw_bytes']:.1f}",
                         f"{result['rpd_bytes']:.1f}", f"{rows_made / seconds / 1e6:.2f} M/s"])
            shutil.rmtree(session)
            trace.unlink()
        rows.append(["aim", ">= 5 M/s", "0", "<= 48", "", ">= 1.5 M/s"])
        print(f"\nSustained: {total / 1e6:.0f} million calls on {cores} threads, then import\n")
        table(["", "events", "lost", "raw bytes/event", ".rpd bytes/event", "import rows"], rows)

    def exit_stall(self):
        """From the last statement of main to the end of the process, as its parent sees it."""
        total = 1_000_000 if self.quick else 4_000_000
        best = {}
        for name in ("untraced", "traced"):
            stalls = []
            for _ in range(3):
                session = self.session()
                environment = self.environment(session) if name == "traced" else None
                output = run([self.programs / "calls", 2, total // 2, "plain"], env=environment)
                stalls.append(time.monotonic_ns() - int(numbers(output)["end"]))
                shutil.rmtree(session)
            best[name] = min(stalls) / 1e6
        print("\nLeaving: from the end of main to the end of the process\n")
        table(["", "untraced", "traced", "difference"],
             [[f"after {total / 1e6:.0f} million calls", *(f"{best[name]:.1f} ms" for name in best),
               f"{best['traced'] - best['untraced']:+.1f} ms"]])
        self.results["exit_stall_ms"] = best

    def all(self):
        for step in (self.cost_per_call, self.beside_rpd, self.cost_per_thread, self.cost_per_dispatch, self.sustained,
                     self.exit_stall):
            step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--quick", action="store_true", help="fewer calls and rounds")
    parser.add_argument("--folder", type=pathlib.Path, help="where raw traces go; default: the temporary folder")
    arguments = parser.parse_args()
    recorder = Recorder(arguments.build.resolve(), arguments.quick, arguments.folder)
    try:
        recorder.all()
    finally:
        recorder.close()


if __name__ == "__main__":
    sys.exit(main())
