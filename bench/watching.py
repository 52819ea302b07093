"""What watching kernels costs: sanitize.hip plain and under each tool, in turn, in one run; run.py prints it.

The best of all rounds is taken, so that other load on the machine hardly matters."""
import argparse
import json
import pathlib
import subprocess
import tempfile

from support import table

# name, words between `wavetap` and `--gpu`, goal (times the plain engine).
WAYS = [
    ("memcheck", ["sanitize", "--tool", "memcheck"], 1.3),
    ("racecheck", ["sanitize", "--tool", "racecheck"], 3),
    ("all default tools", ["sanitize"], 5),
    ("probe blocks", ["probe", "blocks"], 1.5),
    ("probe memory", ["probe", "memory"], 3),
    ("counters, caches", ["run", "--no-trace", "--counters", "counters.json", "--caches"], 4),
]
PLAIN = ["run", "--no-trace"]


def times(build, model, words, folder, *arguments):
    """Seconds by kernel. What the tools print comes after, or elsewhere."""
    command = [build / "bin/wavetap", *words, "--gpu", model, "--", build / "bin/hip/bench_sanitize", *arguments]
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isidentifier() and words[1].replace(".", "", 1).isdigit():
            found[words[0]] = float(words[1])
    return found


def measure(build, model, rounds):
    """The table, and {way: {kernel: times the plain engine}}."""
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, words, _ in [("plain", PLAIN, 1), *WAYS]:
                for kernel, seconds in times(build, model, words, folder).items():
                    kernels = best.setdefault(name, {})
                    kernels[kernel] = min(kernels.get(kernel, seconds), seconds)
    plain = best["plain"]
    ratios = {name: {kernel: best[name][kernel] / plain[kernel] for kernel in plain} for name, _, _ in WAYS}
    rows = [["plain"] + [f"{plain[kernel] * 1e3:.1f} ms" for kernel in plain] + ["", ""]]
    for name, _, goal in WAYS:
        worst = max(ratios[name].values())
        rows.append([name] + [f"{ratios[name][kernel]:.2f}x" for kernel in plain] + [f"{goal}x", "yes" if worst <= goal else "no"])
    table(["watched by", *plain, "goal", "reached"], rows)
    ratios["flood"] = measure_flood(build, model)
    ratios["copy"] = measure_copy(build, model)
    ratios["shadow"] = measure_shadow(build, model)
    return ratios


# Bytes of global memory that each kernel of sanitize.hip touches, in whole pages of 4 KiB: what memory is mapped in.
TOUCHED = {"saxpy": 2 << 20, "matmul": 3 << 16, "reduction": (1 << 20) + (1 << 10), "radix_sort": 1 << 17, "histogram": (1 << 20) + (1 << 10)}


# A few words of each page; every word of each page by another workgroup, the worst there is.
SCATTERED = {"strided": 1 << 20, "transposed": 1 << 20}


def measure_shadow(build, model):
    """Racecheck's memory for each byte that a kernel touches."""
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        document = pathlib.Path(folder) / "findings.json"
        for kernel, touched in (TOUCHED | SCATTERED).items():
            arguments = ["shadow"] if kernel in SCATTERED else []
            times(build, model, ["sanitize", "--tool", "racecheck", "-k", f"^{kernel}", "--json", document], folder, *arguments)
            ratios[kernel] = json.loads(document.read_text())["shadow_bytes"] / touched
    text = ", ".join(f"{kernel} {ratio:.2f}" for kernel, ratio in ratios.items())
    print(f"  bytes that racecheck takes for each byte touched: {text}; goal 2, {'yes' if max(ratios.values()) <= 2 else 'no'}")
    return ratios


def measure_flood(build, model):
    """10^8 uninitialised reads from one line, times as many of what was written."""
    with tempfile.TemporaryDirectory() as folder:
        found = times(build, model, ["sanitize", "--tool", "initcheck", "--error-exitcode", "0"], folder, "flood")
    ratio = found["flood"] / found["flood_written"]
    print(f"  10^8 uninitialised reads under initcheck: {ratio:.2f} times as many right ones; goal 2, {'yes' if ratio <= 2 else 'no'}")
    return {"initcheck": ratio}


def measure_copy(build, model):
    """A copy on the device of 32 MiB that nobody has written, under initcheck, times the plain engine."""
    with tempfile.TemporaryDirectory() as folder:
        plain = times(build, model, PLAIN, folder, "copy")
        found = times(build, model, ["sanitize", "--tool", "initcheck"], folder, "copy")
    ratios = {kernel: found[kernel] / plain[kernel] for kernel in plain}
    print(f"  32 MiB copied on the device under initcheck: {ratios['copy']:.1f} times the plain engine, {ratios['copy_written']:.1f} when written")
    return ratios


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measure(arguments.build.resolve(), arguments.gpu, arguments.rounds)
