#!/usr/bin/env python3
"""Captures dispatches of real HIP programs on a virtual GPU and replays them without ROCm.

  capture.py --bin BUILD/bin --model MODEL CASE

The cases are the functions below.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

# Programs whose kernels give the same result in whatever order their waves run: matrices, sorting, scans, LDS, scratch, calls,
# recursion, tables of functions, globals, linked data, atomics that commute, random numbers, managed and pinned memory, graphs.
TABLE = """aes attention bfs bitonic_sort black_scholes bytecode_vm cholesky convolution crc32 cross_lane device_globals
    dot_products dynamic_lds fft floyd_warshall function_pointers game_of_life graphs grids_3d half_math heat_equation histogram
    int64_ops jacobi kmeans large_kernargs layernorm levenshtein lu_decomposition mandelbrot matmul_f16 matmul_f32 matmul_f64
    matrix_inverse nbody nqueens radix_sort recursion reduction rocrand_device rocrand_host scan scratch_arrays sha256 shuffles
    softmax spmv stencil transpose vector_add virtual_functions votes cooperative_groups
    host_malloc host_register malloc_async managed_memory virtual_memory streams ipc_memory""".split()


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


class Bench:
    def __init__(self, bin_folder, model, scratch):
        self.bin, self.model, self.scratch = bin_folder, model, pathlib.Path(scratch)
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=scratch, COLUMNS="200")

    def wavetap(self, *words, status=0, timeout=300):
        done = subprocess.run([str(self.bin / "wavetap"), *map(str, words)], cwd=self.scratch, env=self.environment,
                              capture_output=True, timeout=timeout)
        done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def program(self, name):
        return self.bin / "hip" / name

    def capture(self, program, *options, output="c.wtcap", status=0, model=None, arguments=()):
        (self.scratch / output).unlink(missing_ok=True)
        return self.wavetap("capture", "--gpu", model or self.model, "-o", output, *options, "--", self.program(program), *arguments, status=status)

    def show(self, file="c.wtcap"):
        return json.loads(self.wavetap("capture", "show", file, "--json").stdout)["captures"]

    def replay(self, *options, file="c.wtcap", status=0):
        return self.wavetap("replay", file, *options, status=status)


def table(bench, part, parts):
    """Whatever a program does first, done again to the bit."""
    replayed = 0
    for name in TABLE[part::parts]:
        done = bench.capture(name, "--max", "2", status=None)
        if done.returncode == 77:
            continue
        expect(done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        for capture in bench.show():
            expect(capture["has_before"] and capture["has_after"] and not capture["unordered"], f"{name}: {capture['kernel']}: not whole")
            done = bench.replay("--capture", capture["capture"], "--verify", "--json", status=None)
            expect(done.returncode == 0, f"{name}: {capture['kernel']}: {done.returncode}\n{done.stdout}{done.stderr}")
            replayed += 1
    expect(replayed >= len(TABLE) // parts, f"only {replayed} kernels replayed")


def same_output(bench):
    """The program does not notice: its output and exit status are those of a run without capture."""
    for name in ("scan", "streams", "device_printf"):  # no sums whose order is left open
        bare = bench.wavetap("run", "--no-trace", "--gpu", bench.model, "--", bench.program(name))
        captured = bench.capture(name, "--max", "3")
        expect(bare.stdout == captured.stdout, f"{name}: {bare.stdout!r} became {captured.stdout!r}")
    expect(not list(bench.scratch.glob("*.raw-*")), "raw files are left")


def in_place(bench):
    """A kernel that works in place gets its true input, every time."""
    bench.capture("bitonic_sort", "--launch", "3")
    [capture] = bench.show()
    expect(capture["launch"] == 3, f"launch {capture['launch']}")
    changed = [a for a in capture["arguments"] if "region" in a and capture["regions"][a["region"]]["changed_pages"] > 0]
    expect(changed, "the kernel changed none of its buffers")
    verdict = json.loads(bench.replay("--verify", "--json").stdout)["verify"]
    expect(verdict["equal"] and verdict["written_bytes"] > 100, f"{verdict}")
    bench.replay("--verify", "-n", "10")
    bench.replay("--verify", "-n", "3", "--threads", "1", "--seed", "7")


def counters(bench):
    """A replay counts what the original run counted."""
    bench.capture("reduction", "--max", "1", "-k", "reduce")
    [capture] = bench.show()
    bench.wavetap("run", "--no-trace", "--gpu", bench.model, "--counters", "counters.json", "--", bench.program("reduction"))
    recorded = json.loads((bench.scratch / "counters.json").read_text())["dispatches"]
    original = next(d for d in recorded if d["kernel"] == capture["kernel"])
    replayed = json.loads(bench.replay("--counters", "--json").stdout)
    expect(original["counters"] == replayed["counters"], f"{original['counters']}\n{replayed['counters']}")
    expect(original["amd"] == replayed["amd"], "AMD's counters differ")


def crash(bench):
    """A kernel that faults is captured whole, and faults again."""
    done = bench.capture("fault_read", status=None)
    expect(done.returncode != 0 and "Memory access fault" in done.stderr, f"{done.returncode} {done.stderr}")
    [capture] = bench.show()
    expect(capture["has_before"] and capture["fault"] == "page fault", capture["fault"])
    again = bench.replay(status=14)
    expect("page fault reading 0x123456789" in again.stderr, again.stderr)


def host_call(bench):
    """A kernel that needs the host is refused, and does not hang."""
    bench.capture("device_printf")
    expect("calls the host" in bench.replay(status=16).stderr, "why is not said")


def killed(bench):
    """Killed while the kernel runs: the state before is whole. This GPU never finishes one, not even the runtime's first."""
    words = [bench.bin / "wavetap", "capture", "-k", ".", "--gpu", "hang", "-o", "c.wtcap", "--", bench.program("vector_add")]
    child = subprocess.Popen([*map(str, words)], cwd=bench.scratch, env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             start_new_session=True)
    try:
        raw = None
        for _ in range(600):
            raw = next(bench.scratch.glob("c.wtcap.raw-*/*.wtcap"), None)
            if raw and bench.wavetap("replay", raw, "--verify", status=None).returncode == 1:  # no state after it; all else is there
                break
            time.sleep(0.1)
        expect(raw is not None, "nothing was written")
        os.kill(int(raw.stem), signal.SIGKILL)
        _, errors = child.communicate(timeout=60)
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    expect(child.returncode == 128 + signal.SIGKILL, f"{child.returncode} {errors}")
    [capture] = bench.show()
    expect(capture["has_before"] and not capture["has_after"], "not as it was when killed")
    bench.replay()  # what the GPU never did
    expect("no state after" in bench.replay("--verify", status=1).stderr, "why is not said")


def selection(bench):
    """-k, --launch, --every and --max choose."""
    def launches(*options, status=0):
        bench.capture("bitonic_sort", *options, status=status)
        return [c["launch"] for c in bench.show()]
    expect(launches() == [1], "one by default")
    expect(launches("--launch", "2,5") == [2, 5], "--launch")
    expect(launches("--every", "3", "--max", "3") == [1, 4, 7], "--every")
    done = bench.capture("bitonic_sort", "-k", "no_such_kernel", status=2)
    expect("no dispatch was captured" in done.stderr, done.stderr)


def same_names(bench):
    """Two kernels of one name in two modules are told apart."""
    bench.capture("two_modules", "-k", "^work", "--max", "2")
    first, second = bench.show()
    expect(first["kernel"] == second["kernel"], "not the same name")
    for number in (1, 2):
        bench.replay("--capture", number, "--verify")
    after = [c["arguments"][0]["after"][:3] for c in (first, second)]
    expect(after[0] != after[1], f"{after}")


def swap(bench):
    """Another build of the kernel, and builds that do not fit."""
    bench.capture("vector_add")
    bench.replay("--verify", "--swap", bench.program("vector_add"))
    expect("no kernel" in bench.replay("--swap", bench.program("scan"), status=12).stderr, "why is not said")
    code = bench.wavetap("capture", "show", "c.wtcap", "--json")
    expect(json.loads(code.stdout)["captures"][0]["code_objects"], "no code object")


def grid(bench):
    """Fewer workgroups do less, and verify says so."""
    bench.capture("example_saxpy")
    done = bench.replay("--grid", "1", "--verify", "--json", status=15)
    verdict = json.loads(done.stdout)["verify"]
    expect(verdict["buffers"] and verdict["buffers"][0]["first_index"] > 0, done.stdout)
    bench.replay("--grid", "0", status=1)


def dump(bench):
    """--dump writes what the kernel made."""
    bench.capture("vector_add")
    bench.replay("--dump", "out")
    expect(list((bench.scratch / "out").glob("arg*.bin")), "nothing was written")


def damaged(bench):
    """Cut or changed anywhere, a file is an error or is used as far as it reaches; nothing crashes."""
    bench.capture("vector_add")
    whole = (bench.scratch / "c.wtcap").read_bytes()
    chance = random.Random(5)
    bad = bench.scratch / "bad.wtcap"
    seen = set()
    for i in range(60):
        at = chance.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        bad.write_bytes(whole[:at] if i % 2 else bytes(flipped))
        for words in (("replay", bad), ("capture", "show", bad)):
            code = bench.wavetap(*words, status=None).returncode
            expect(code in (0, 10), f"{words}: exit status {code} with byte {at}")
            seen.add(code)
    expect(10 in seen, "no damage was found")
    bad.write_bytes(b"no capture")
    bench.replay(file="bad.wtcap", status=10)


CASES = {f.__name__: f for f in (same_output, in_place, counters, crash, host_call, killed, selection, same_names, swap, grid, dump, damaged)}
CASES.update({f"table_{part}": (lambda bench, part=part: table(bench, part, 4)) for part in range(4)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="rx6800xt")
    parser.add_argument("case", choices=sorted(CASES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            CASES[arguments.case](Bench(arguments.bin.resolve(), arguments.model, scratch))
        except Failure as failure:
            sys.exit(f"FAIL {arguments.case}: {failure}")
    print(f"ok {arguments.case}")


if __name__ == "__main__":
    main()
