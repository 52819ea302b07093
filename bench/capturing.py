"""What capturing and replaying cost (capturing.hip, recorder/launches.hip); run.py prints it.

Processor time of the processes, so that other load on the machine hardly matters; the best of all rounds. Ratios are of one run. What does not
depend on the amount (starting, loading ROCm) is taken out by a second run with little to do."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

from support import table

MIB = 1 << 20


def spent(command, folder):
    """Processor seconds of a command and its children, and what it printed."""
    before = os.times()
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=900)
    after = os.times()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return after.children_user + after.children_system - before.children_user - before.children_system, done.stdout


def on_one_core(command):
    """Threads that wake each other do so at one price there; across cores it is another, and which it is changes from run to run."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]


def memcpy_rate(size):
    """Bytes per processor second."""
    source, best = bytearray(os.urandom(MIB) * (size // MIB)), 0
    for _ in range(3):
        before = time.process_time()
        bytes(source)
        best = max(best, size / max(time.process_time() - before, 1e-9))
    return best


def launch_ns(build, words, folder):
    printed = spent([build / "bin/wavetap", *words, "--", build / "bin/hip/bench_launches"], folder)[1]
    return float(printed.split()[printed.split().index("launch") + 1])


def measure(build, model, rounds, mib=256, loops=4000):
    """The table, and the figures behind it."""
    wavetap, program = build / "bin/wavetap", build / "bin/hip/bench_capturing"
    best = {}

    def keep(name, value):
        best[name] = min(best.get(name, value), value)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        capture = [wavetap, "capture", "--force", "--gpu", model, "-k", "sum"]
        for _ in range(rounds):
            for size in (1, mib):
                keep(f"plain {size}", spent([wavetap, "run", "--no-trace", "--gpu", model, "--", program, "sum", size], folder)[0])
                keep(f"captured {size}", spent([*capture, "-o", "all.wtcap", "--", program, "sum", size], folder)[0])
            for numbers in ("sum", "count"):
                spent([*capture, "--only-touched", "-o", f"{numbers}.wtcap", "--", program, numbers, 16], folder)
            spent([*capture, "-o", "loop.wtcap", "--", program, "loop", 1], folder)
            spent([*capture, "--only-touched", "-o", "small.wtcap", "--", program, "loop", 1], folder)
            for name, file, words in (("engine", "loop.wtcap", []), ("onwards", "loop.wtcap", ["--no-recopy"]), ("touched", "small.wtcap", []),
                                      ("rocm", "loop.wtcap", ["--gpu", model])):
                for count in (1, loops + 1):
                    keep(f"{name} {count}", spent(on_one_core([wavetap, "replay", file, *words, "-n", count]), folder)[0])
            for count in (1, loops + 1):
                keep(f"hip {count}", spent(on_one_core([wavetap, "run", "--no-trace", "--gpu", model, "--", program, "loop", count]), folder)[0])
            keep("launch bare", launch_ns(build, ["run", "--no-trace", "--gpu", model], folder))
            keep("launch recorded", launch_ns(build, ["run", "--gpu", model, "-o", "trace.rpd"], folder))
            keep("launch beside a capture", launch_ns(build, ["capture", "--force", "--launch", "1", "--gpu", model, "-o", "first.wtcap"], folder))
        sizes = {}
        for numbers in ("sum", "count"):
            shown = json.loads(spent([wavetap, "capture", "show", f"{numbers}.wtcap", "--json"], folder)[1])
            sizes[numbers] = shown["file_bytes"], shown["captures"][0]["packed_read_bytes"]

    def each(name):
        return (best[f"{name} {loops + 1}"] - best[f"{name} 1"]) / loops * 1e6

    cost = best[f"captured {mib}"] - best[f"plain {mib}"] - (best["captured 1"] - best["plain 1"])
    rate = (mib - 1) * MIB / max(cost, 1e-9)
    copy = memcpy_rate(mib * MIB)
    setup = {name: best[f"{name} 1"] - each(name) / 1e6 for name in ("engine", "rocm", "hip")}
    extra = best["launch beside a capture"] - best["launch recorded"]
    rows = [
        ["capture, of numbers that do not compress", f"{rate / 1e9:.2f} GB/s", f"memcpy {copy / 1e9:.2f} GB/s", f"{rate / copy:.2f}x", "", ""],
        *[[f"file with --only-touched, of numbers that {what}", f"{size / 1e6:.2f} MB", f"read, compressed {read / 1e6:.2f} MB", f"{size / read:.2f}x", "1.2x",
           "yes" if size <= 1.2 * read else "no"] for what, (size, read) in zip(("do not compress", "do"), sizes.values())],
        ["set-up of a replay on the engine", f"{setup['engine'] * 1e3:.0f} ms", f"HIP program {setup['hip'] * 1e3:.0f} ms",
         f"{setup['engine'] / setup['hip']:.2f}x", "", ""],
        ["set-up of a replay through ROCm", f"{setup['rocm'] * 1e3:.0f} ms", f"HIP program {setup['hip'] * 1e3:.0f} ms", f"{setup['rocm'] / setup['hip']:.2f}x",
         "", ""],
        ["one more replay on the engine", f"{each('engine'):.0f} us", f"HIP loop {each('hip'):.0f} us", f"{each('engine') / each('hip'):.2f}x", "", ""],
        ["the same with --no-recopy", f"{each('onwards'):.0f} us", f"HIP loop {each('hip'):.0f} us", f"{each('onwards') / each('hip'):.2f}x", "", ""],
        ["the same with --only-touched", f"{each('touched'):.0f} us", f"HIP loop {each('hip'):.0f} us", f"{each('touched') / each('hip'):.2f}x", "", ""],
        ["one more replay through ROCm", f"{each('rocm'):.0f} us", f"HIP loop {each('hip'):.0f} us", f"{each('rocm') / each('hip'):.2f}x", "", ""],
        ["a launch that is not captured", f"{best['launch beside a capture']:.0f} ns", f"recorded {best['launch recorded']:.0f} ns",
         f"{extra:+.0f} ns", "+1000 ns", "yes" if extra < 1000 else "no"],
    ]
    table(["capturing", "takes", "against", "ratio", "goal", "reached"], rows)
    return {"capture_bytes_per_s": rate, "memcpy_bytes_per_s": copy, "file_per_packed_read_byte": {name: size / read for name, (size, read) in sizes.items()}, "setup_s": setup["engine"], "setup_rocm_s": setup["rocm"],
            "replay_engine_us": each("engine"), "replay_touched_us": each("touched"), "replay_rocm_us": each("rocm"), "hip_loop_us": each("hip"), "uncaptured_launch_extra_ns": extra}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measure(arguments.build.resolve(), arguments.gpu, arguments.rounds)
