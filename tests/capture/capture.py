#!/usr/bin/env python3
"""Captures dispatches of real HIP programs on a virtual GPU and replays them without ROCm.

  capture.py --bin BUILD/bin --model MODEL [--programs FOLDER] [--root FOLDER] [--folder FOLDER] CASE

The cases are the functions below. --folder: captures made elsewhere, for the case `folder`. --root: another ROCm, in whose root folder the programs and the replays run; what they need of
this machine is mounted there by the caller (tests/stacks/suite.sh).
"""
import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import hostile  # noqa: E402
from other_users import folder_in_the_way  # noqa: E402
from temporary import scratch_folder  # noqa: E402

# Programs whose kernels give the same result in whatever order their waves run: matrices, sorting, scans, LDS, scratch, calls,
# recursion, tables of functions, globals, linked data, atomics that commute, random numbers, managed and pinned memory, graphs.
TABLE = """aes attention bfs bitonic_sort black_scholes bytecode_vm cholesky convolution crc32 cross_lane device_globals
    dot_products dynamic_lds fft floyd_warshall function_pointers game_of_life graphs grids_3d half_math heat_equation histogram
    int64_ops jacobi kmeans large_kernargs layernorm levenshtein lu_decomposition mandelbrot matmul_f16 matmul_f32 matmul_f64
    matrix_inverse nbody nqueens radix_sort recursion reduction rocrand_device rocrand_host scan scratch_arrays sha256 shuffles
    softmax spmv stencil transpose vector_add virtual_functions votes cooperative_groups
    host_malloc host_register malloc_async managed_memory virtual_memory streams ipc_memory""".split()

# The build is one of a sanitizer: its tests have options for that (cmake/sanitize.cmake).
INSTRUMENTED = "LSAN_OPTIONS" in os.environ


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


class Bench:
    def __init__(self, bin_folder, model, scratch, hipcc="hipcc", programs=None, root=None, folder=None):
        self.bin, self.model, self.scratch, self.hipcc = bin_folder, model, pathlib.Path(scratch), hipcc
        self.programs, self.root, self.folder = programs or bin_folder / "hip", root, folder
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=scratch, COLUMNS="200")

    def inside(self, words):
        """The command, run where the other ROCm is. wavetap itself needs libraries of this machine there."""
        words = [str(self.bin / "wavetap"), *map(str, words)]
        if self.root is None:
            return words
        if words[1] in ("capture", "run") and "--" in words:
            at = words.index("--") + 1
            return words[:at] + ["chroot", str(self.root), "env", "-C", str(self.scratch)] + words[at:]
        if words[1] != "replay":
            return words
        libraries = self.scratch / "libraries"
        if not libraries.exists():
            libraries.mkdir()
            for line in subprocess.run(["ldd", words[0]], capture_output=True, text=True, check=True).stdout.splitlines():
                name, _, path = line.partition(" => ")
                there = [self.root / folder / name.strip() for folder in ("lib", "usr/lib", *(p.relative_to(self.root) for p in self.root.glob("usr/lib/*-linux-gnu")))]
                if path and not any(place.exists() for place in there):
                    shutil.copy(path.split()[0], libraries)
        return ["chroot", str(self.root), "env", "-C", str(self.scratch), f"LD_LIBRARY_PATH={libraries}", *words]

    def wavetap(self, *words, status=0, timeout=300):
        # A group of its own: what a command has started ends with it.
        with subprocess.Popen(self.inside(words), cwd=self.scratch, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as child:
            try:
                output, errors = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                raise
        done = subprocess.CompletedProcess(words, child.returncode, output, errors)
        done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if status is not None:
            expect(done.returncode == status, f"{' '.join(map(str, words))}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def program(self, name):
        return self.programs / name

    def capture(self, program, *options, output="c.wtcap", status=0, model=None, arguments=()):
        (self.scratch / output).unlink(missing_ok=True)
        return self.wavetap("capture", "--gpu", model or self.model, "-o", output, *options, "--", self.program(program), *arguments, status=status)

    def show(self, file="c.wtcap"):
        return json.loads(self.wavetap("capture", "show", file, "--json").stdout)["captures"]

    def replay(self, *options, file="c.wtcap", status=0, timeout=300):
        return self.wavetap("replay", file, *options, status=status, timeout=timeout)


# Those that every test run takes: one of each kind.
FEW = "bitonic_sort cooperative_groups device_globals dynamic_lds function_pointers histogram large_kernargs recursion scratch_arrays".split()


def counters_of(capture):
    """What the original run counted."""
    counted = {key[len("counter."):]: int(value) for key, value in capture["facts"].items() if key.startswith("counter.")}
    expect(counted, "the capture has no counters")
    return counted


def replay_program(bench, name, iterations, with_rocm):
    """What a program does first, done again to the bit, with the same counts. How many kernels; None: the program has nothing to do here."""
    done = bench.capture(name, "--max", "2", status=None)
    if done.returncode == 77:
        return None
    expect(done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    captures = bench.show()
    for capture in captures:
        expect(capture["has_before"] and capture["has_after"] and not capture["unordered"], f"{name}: {capture['kernel']}: not whole")
        words = ["--capture", capture["capture"], "--verify", "-n", iterations]
        done = bench.replay(*words, "--counters", "--json", status=None, timeout=1500)  # ten times a million numbers, on a busy machine
        expect(done.returncode == 0, f"{name}: {capture['kernel']}: {done.returncode}\n{done.stdout}{done.stderr}")
        expect(json.loads(done.stdout)["counters"] == counters_of(capture), f"{name}: {capture['kernel']}: counts differ")
        if with_rocm:
            told = json.loads(bench.replay(*words, "--counters", "--json", "--gpu", bench.model, timeout=1500).stdout)
            expect(told["counters"] == counters_of(capture), f"{name}: {capture['kernel']}: counts differ through ROCm")
    return len(captures)


def table(bench):
    """Whatever a program does first, done again to the bit."""
    expect(sum(replay_program(bench, name, 1, False) or 0 for name in FEW) >= len(FEW), "too few kernels")


def everything(bench):
    """The same for all programs of TABLE, ten times each, on the engine and through ROCm. Minutes; `make test-capture`."""
    kernels, failed = 0, []
    for name in TABLE:
        try:
            count = replay_program(bench, name, 10, True)
            kernels += count or 0
            print(f"{name}: {'nothing to do here' if count is None else f'{count} kernels'}", flush=True)
        except (Failure, subprocess.TimeoutExpired) as problem:
            failed.append(name)
            print(f"{name}: FAILED: {problem}", flush=True)
    print(f"{kernels} kernels of {len(TABLE)} programs, {len(failed)} programs failed: {' '.join(failed)}", flush=True)
    expect(not failed and kernels >= 40, f"{kernels} kernels, failed: {failed}")


def same_output(bench):
    """The program does not notice: its output and exit status are those of a run without capture."""
    for name in ("scan", "streams", "device_printf"):  # no sums whose order is left open
        bare = bench.wavetap("run", "--no-trace", "--gpu", bench.model, "--", bench.program(name))
        captured = bench.capture(name, "--max", "3")
        expect(bare.stdout == captured.stdout, f"{name}: {bare.stdout!r} became {captured.stdout!r}")
    expect(not list(bench.scratch.glob("*.raw-*")), "raw files are left")
    done = bench.capture("capture_cases", arguments=["device_memory", "no_such_case"], status=1)  # its own failure
    expect("FAIL no case" in done.stdout and len(bench.show()) == 1, f"{done.stdout}{done.stderr}")


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


def host_calls(bench):
    """printf, assert and malloc in kernels are answered, on the engine and through ROCm."""
    def lines(text):
        return sorted(line for line in text.splitlines() if line.startswith(("thread", "lane", "[")))
    for where in ([], ["--gpu", bench.model]):
        program = bench.capture("capture_cases", arguments=["prints"])
        done = bench.replay("--verify", "-n", "3", *where)  # the first run's output, once
        expect(lines(program.stdout) == lines(done.stdout) and len(lines(done.stdout)) == 2, f"{program.stdout!r} {done.stdout!r}")
        told = json.loads(bench.replay("--json", *where).stdout)
        expect(sorted(told["printed"].splitlines()) == lines(program.stdout), f"{told}")
    bench.capture("device_printf", "-k", "print_conversions")
    printed = json.loads(bench.replay("--json").stdout)["printed"]
    expect(printed == "[   42|42   |00042|beef|BEEF|10|4000000000|z|%]\n"
           "[3.142|     -2.50|1.234568e+04|0.0001|text|more text|-1234567890123|18446744073709551615]\nno arguments\n", printed)
    bench.capture("capture_cases", arguments=["heap"])
    for where in ([], ["--gpu", bench.model], ["--sanitize=memcheck"]):
        verdict = json.loads(bench.replay("--verify", "-n", "2", "--json", *where).stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] >= 64, f"{verdict}")
    bench.capture("fault_assert", "--launch", "2", status=None)
    for where in ([], ["--gpu", bench.model]):
        done = bench.replay(*where, status=14)
        expect("Device-side assertion `values[threadIdx.x] < limit" in done.stderr, done.stderr)


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


def replay_killed(bench):
    """A replay through ROCm that is killed, or told to end, leaves no process behind."""
    bench.capture("capture_cases", "--launch", "1", "--only-touched", arguments=["device_memory"])
    words = [*map(str, bench.inside(["replay", "c.wtcap", "--gpu", bench.model, "-n", "1000000"]))]
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(words, cwd=bench.scratch, env=bench.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as parent:
            try:
                child = []
                while not child and parent.poll() is None:
                    child = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
                    time.sleep(0.01)
                expect(child, "no process replays")
                os.kill(parent.pid, number)
                output, errors = parent.communicate(timeout=60)  # the child has both pipes, too
                expect(parent.returncode == (-number if number == signal.SIGKILL else 128 + number) and not output and not errors,
                       f"{number}: {parent.returncode} {output} {errors}")
            except subprocess.TimeoutExpired:
                raise Failure(f"{number}: the process that replays is left") from None
            finally:
                try:
                    os.killpg(parent.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def selection(bench):
    """-k, --launch, --every and --max choose."""
    def launches(*options, status=0):
        bench.capture("bitonic_sort", *options, status=status)
        return [c["launch"] for c in bench.show()]
    expect(launches() == [1], "one by default")
    expect(launches("--launch", "2,5") == [2, 5], "--launch")
    expect(launches("--launch", "2,4-5") == [2, 4, 5], "a range of launches")
    expect(launches("--every", "3", "--max", "3") == [1, 4, 7], "--every")
    done = bench.capture("bitonic_sort", "-k", "no_such_kernel", status=2)
    expect("no dispatch was captured" in done.stderr, done.stderr)


def ranges(bench):
    """--range takes what is launched in marked ranges, and a capture says who launched it."""
    def numbers(*options):
        bench.capture("capture_cases", *options, arguments=["ranges"])
        return [int(c["arguments"][1]["value"]) for c in bench.show()]
    expect(numbers("--range", "step 3") == [3, 4, 5], "by name")
    expect(numbers("--range", "inner") == [4], "inside another")
    expect(numbers("--range", "phase") == [7], "started, launched by another thread")
    expect(numbers("--range", "*", "-k", "marked", "--max", "3") == [2, 3, 4], "any")
    expect(numbers("--range", "step [34]", "--launch", "2,3") == [4, 5], "a pattern; launches are those of the range")
    stack = bench.show()[0]["host_stack"]
    names = [frame["name"] for frame in stack]
    at = next((i for i, name in enumerate(names) if "launch_marked" in name), -1)
    expect(at >= 0 and any("ranges" in n for n in names[at + 1:]) and any(n.startswith("main") for n in names), f"{stack}")
    expect(all(frame["place"].startswith("/") and "+0x" in frame["place"] for frame in stack), f"{stack}")
    text = bench.wavetap("capture", "show", "c.wtcap").stdout
    expect("launched by" in text and "launch_marked" in text, text)
    done = bench.capture("capture_cases", "--range", "step 7", arguments=["ranges"], status=2)
    expect("no dispatch was captured" in done.stderr and "'step 7'" in done.stderr, done.stderr)


def same_names(bench):
    """Two kernels of one name in two modules are told apart."""
    bench.capture("two_modules", "-k", "^work", "--max", "2")
    first, second = bench.show()
    expect(first["kernel"] == second["kernel"], "not the same name")
    for capture in (first, second):  # compiled with -g
        expect(capture["arguments"][0]["name"] == "data" and capture["source"].endswith(":1"), f"{capture['arguments'][0]} {capture['source']}")
    for number in (1, 2):
        bench.replay("--capture", number, "--verify")
    after = [c["arguments"][0]["after"][:3] for c in (first, second)]
    expect(after[0] != after[1], f"{after}")
    # A descriptor that says 0 bytes of arguments; both modules are gone when the program ends.
    bench.capture("two_modules", "-k", "^work", "--launch", "2", arguments=["zero"])
    for where in ([], ["--gpu", bench.model]):
        verdict = json.loads(bench.replay("--verify", "--json", *where).stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] >= 64, f"{verdict}")


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
    expect("argument 50 is no pointer" in bench.replay("--verify=arg50:abs=1", status=1).stderr, "a limit for nothing is taken")


def dump(bench):
    """--dump writes what the kernel made."""
    bench.capture("vector_add")
    bench.replay("--dump", "out")
    whole = {file.name: file.read_bytes() for file in (bench.scratch / "out").glob("arg*.bin")}
    expect(whole and all(whole.values()), "nothing was written")
    # Where only touched pages are kept: as far as they reach.
    bench.capture("vector_add", "--only-touched")
    bench.replay("--dump", "touched")
    for name, content in whole.items():
        kept = (bench.scratch / "touched" / name).read_bytes()
        expect(1000 <= len(kept) <= len(content) and content.startswith(kept), f"{name}: {len(kept)} of {len(content)} bytes")


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
    newer = bytearray(whole)
    newer[8] += 1
    bad.write_bytes(newer)
    expect("use a newer wavetap" in bench.replay(file="bad.wtcap", status=10).stderr, "why is not said")


def hostile_files(bench):
    """Files with good checksums that mean harm: shown, replayed and exported within limits, or refused; never a signal, never raw controls."""
    # A sanitizer's shadow is address space without end.
    limits = f"ulimit {'' if INSTRUMENTED else '-v 8000000'} -t {600 if INSTRUMENTED else 60}; exec \"$@\""
    fine = {0, 1, 2, *range(10, 18)}
    for name, content in hostile.files():
        file = bench.scratch / "mean.wtcap"
        file.write_bytes(content)
        for words in (["capture", "show", file], ["capture", "show", file, "--json"], ["replay", file, "--verify", "--watchdog", "10000"],
                      ["capture", "export", file, bench.scratch / "mean"]):
            if words[0] == "replay" and name in ("grid",):
                continue  # 2^64 work-items that do nothing wrong are no harm but time
            done = subprocess.run(["bash", "-c", limits, "-", str(bench.bin / "wavetap"), *map(str, words)], cwd=bench.scratch, env=bench.environment,
                                  capture_output=True, timeout=120)
            output = done.stdout + done.stderr
            expect(done.returncode in fine, f"{name}: {words[:2]}: exit status {done.returncode}: {output[-500:]}")
            expect(b"\x1b" not in output and b"\x07" not in output and b"\r" not in output, f"{name}: {words[:2]}: control characters: {output[:500]}")
            if "--json" in words and done.returncode == 0:
                found = json.loads(done.stdout)["captures"]
                expect(name not in ("plain", "group") or found[0]["regions"][0]["pages"] == 2, f"{name}: {found}")
        subprocess.run(["rm", "-rf", str(bench.scratch / "mean")], check=True)


def disk_full(bench):
    """A full disk: the program runs on with its own status, the message says so, and what there was before stays."""
    disk = bench.scratch / "disk"
    disk.mkdir()
    mount = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
    if subprocess.run([*mount, f"mount -t tmpfs -o size=64k none {disk}"], capture_output=True).returncode != 0:
        print("SKIP disk_full: no mount namespace of one's own here")
        sys.exit(77)
    def with_disk(size, command):
        script = f"mount -t tmpfs -o size={size} none {disk} || exit 99; {command}"
        return subprocess.run([*mount, script], cwd=bench.scratch, env=bench.environment, capture_output=True, text=True, timeout=300)
    capture = f"{bench.bin}/wavetap capture --gpu {bench.model} -o {disk}/c.wtcap -- {bench.program('vector_add')}"
    done = with_disk("64k", capture)  # not even the program's own file
    expect(done.returncode == 2 and "PASS" in done.stdout and "cannot be written: No space left" in done.stderr, f"{done.returncode}\n{done.stdout}{done.stderr}")
    expect("nothing more is captured" in done.stderr, done.stderr)
    # There is room for that one and not for another: it stays, and the message says where.
    done = with_disk("250k", f"{capture}; code=$?; cp -r {disk} {bench.scratch}/left; exit $code")
    raw = list((bench.scratch / "left").glob("c.wtcap.raw-*/*.wtcap"))
    if done.returncode == 2:
        expect("the captures are in" in done.stderr and len(raw) == 1, f"{done.stdout}{done.stderr}")
        expect(not list((bench.scratch / "left").glob("*.part*")), "a half-written file is left")
        bench.replay("--verify", file=raw[0])
    else:
        expect(done.returncode == 0 and (bench.scratch / "left/c.wtcap").exists(), f"{done.returncode}\n{done.stdout}{done.stderr}")


def unprivileged(bench):
    """A user without rights captures, looks, and replays on the engine and through ROCm."""
    if os.geteuid() != 0:
        print("SKIP unprivileged: this user has no rights, so all other tests are this one")
        sys.exit(77)
    if closed := folder_in_the_way(bench.bin):
        print(f"SKIP unprivileged: no other user can reach what is below {closed}")
        sys.exit(77)
    nobody = bench.scratch / "nobody"
    nobody.mkdir()
    os.chmod(bench.scratch, 0o755)
    os.chown(nobody, 65534, 65534)
    def run(*words, status=0):
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(bench.bin / "wavetap"), *map(str, words)], cwd=nobody,
                              env=dict(bench.environment, HOME=str(nobody), TMPDIR=str(nobody)), capture_output=True, text=True, timeout=300)
        expect(done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done
    for real in ([], ["--real"]):
        run("capture", "--gpu", bench.model, *real, "--force", "-o", "n.wtcap", "--", bench.program("vector_add"))
        run("capture", "show", "n.wtcap")
        run("replay", "n.wtcap", "--engine", "--verify")
        run("replay", "n.wtcap", "--gpu", bench.model, "--verify", "-n", "2")
        run("replay", "n.wtcap", "--gpu", bench.model, "--reserve-check")
    expect("Permission denied" in run("capture", "--gpu", bench.model, "-o", "/c.wtcap", "--", bench.program("vector_add"), status=1).stderr, "why is not said")
    os.chmod(nobody / "n.wtcap", 0)
    os.chown(nobody / "n.wtcap", 0, 0)
    expect("Permission denied" in run("replay", "n.wtcap", status=1).stderr, "why is not said")


# What capture_cases does, how often each case launches a kernel, and which of those launches is captured.
KINDS = {"linked": (2, 2), "globals": (3, 2), "device_memory": (3, 2), "graph": (3, 2), "managed": (3, 2), "pinned": (3, 2),
         "registered": (3, 2), "fine_grained": (3, 2), "pool": (3, 2), "nothing": (1, 1), "sparse": (1, 1), "alias": (2, 1)}


def kinds(bench):
    """Every kind of memory, pointers in it, globals, graphs, another stream: replayed to the bit from the true input."""
    launches, before = [], 0
    for count, launch in KINDS.values():
        launches.append(before + launch)
        before += count
    bench.capture("capture_cases", "--launch", ",".join(map(str, launches)), arguments=list(KINDS))
    captures = bench.show()
    expect([c["launch"] for c in captures] == launches, f"{[c['launch'] for c in captures]}")
    for case, capture in zip(KINDS, captures):
        expect(capture["has_after"] and not capture["unordered"], f"{case}: not whole")
        verdict = json.loads(bench.replay("--capture", capture["capture"], "--verify", "--json").stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] > 0, f"{case}: {verdict}")
    for case, word in {"device_memory": "VRAM", "managed": "managed", "pinned": "pinned", "registered": "registered", "pool": "pool",
                       "fine_grained": "fine-grained"}.items():
        capture = captures[list(KINDS).index(case)]
        told = [capture["regions"][a["region"]]["kind"] for a in capture["arguments"] if "region" in a]
        expect(any(word in kind for kind in told), f"{case}: {told}")
    size = (bench.scratch / "c.wtcap").stat().st_size
    expect(size < 2 << 20, f"with 5 GiB of which little is used {size} bytes")
    # One piece of memory at two addresses: what a kernel needs of both is kept, and ROCm cannot place it.
    bench.capture("capture_cases", "--only-touched", arguments=["alias"])
    bench.replay("--verify", "-n", "2")
    expect("at two addresses" in bench.replay("--gpu", bench.model, status=17).stderr, "why is not said")
    bench.capture("capture_cases", "-k", "accumulate", arguments=["second_stream"])
    bench.replay("--verify")


def real(bench):
    """What a real GPU's captures go through, the recorder's queue and HSA's own copies: the same bits, before and after."""
    cases = [case for case in KINDS if case not in ("sparse", "alias")]  # 5 GiB are copied there; one memory at two addresses is not known
    launches, before = [], 0
    for case in cases:
        launches.append(before + KINDS[case][1])
        before += KINDS[case][0]
    bench.capture("capture_cases", "--real", "--launch", ",".join(map(str, launches)), arguments=cases)
    captures = bench.show()
    expect([c["launch"] for c in captures] == launches, f"{[c['launch'] for c in captures]}")
    for case, capture in zip(cases, captures):
        expect(capture["has_after"] and not capture["unordered"] and capture["facts"]["device.target"].startswith(capture["target"]), f"{case}: not whole")
        verdict = json.loads(bench.replay("--capture", capture["capture"], "--verify", "--json").stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] > 0, f"{case}: {verdict}")
        told = [capture["regions"][a["region"]]["kind"] for a in capture["arguments"] if "region" in a]
        expect(case not in ("managed", "pinned", "registered", "pool") or any(case in kind for kind in told), f"{case}: {told}")
    bench.replay("--capture", 2, "--verify", "--gpu", bench.model, "-n", "2")
    # Pieces that HIP cut from one allocation lie side by side, with nothing between them.
    bench.capture("vector_add", "--real")
    bench.replay("--verify", "--gpu", bench.model)
    # The selection is the same, and so is who launched it.
    bench.capture("capture_cases", "--real", "--range", "step 3", "--redact", arguments=["ranges"])
    captures = bench.show()
    expect([int(c["arguments"][1]["value"]) for c in captures] == [3, 4, 5], f"{[c['arguments'] for c in captures]}")
    expect(any("launch_marked" in frame["name"] for frame in captures[0]["host_stack"]), f"{captures[0]['host_stack']}")
    for capture in captures:
        bench.replay("--capture", capture["capture"], "--verify")
    for name in ("cooperative_groups", "dynamic_lds", "function_pointers", "large_kernargs", "recursion"):
        done = bench.capture(name, "--real", "--max", "2")
        bare = bench.wavetap("run", "--no-trace", "--gpu", bench.model, "--", bench.program(name))
        expect(done.stdout == bare.stdout, f"{name}: {bare.stdout!r} became {done.stdout!r}")
        for capture in bench.show():
            bench.replay("--capture", capture["capture"], "--verify")
    # A grid whose waves wait for each other, on a queue that the runtime has only one of; memory of another process; malloc; two GPUs.
    for name, options, arguments in (("cooperative_groups", ["-k", "grid_reduce"], []), ("capture_cases", ["-k", "accumulate", "--launch", "2"], ["ipc"]),
                                     ("capture_cases", [], ["heap"])):
        bench.capture(name, "--real", *options, arguments=arguments)
        [capture] = bench.show()
        for where in ([], ["--gpu", bench.model]):
            verdict = json.loads(bench.replay("--verify", "--json", "-n", "2", *where).stdout)["verify"]
            expect(verdict["equal"] and verdict["written_bytes"] > 0, f"{name} {arguments} {where}: {verdict}")
    done = bench.capture("capture_cases", "--real", "--launch", "1,4", model="rx6800xt,mi210", arguments=["every_gpu"])
    captures = bench.show()
    expect("0 wrong" in done.stdout and [c["target"] for c in captures] == ["gfx1030", "gfx90a"], f"{done.stdout} {[c['target'] for c in captures]}")
    for number in (1, 2):
        bench.replay("--capture", number, "--verify")
    # A neighbour that does not end; a kernel that faults.
    bench.capture("capture_cases", "--real", "-k", "accumulate", "--drain", "1", arguments=["endless_neighbour"])
    [capture] = bench.show()
    expect(capture["unordered"] and capture["has_before"], f"{capture['unordered']}")
    bench.capture("fault_read", "--real", status=None)
    expect(bench.show()[0]["has_before"], "nothing before the fault")
    expect("page fault reading 0x123456789" in bench.replay(status=14).stderr, "the fault is not told")
    bench.capture("two_modules", "--real", "-k", "^work", "--max", "2")
    after = [c["arguments"][0]["after"][:3] for c in bench.show()]
    expect(after[0] != after[1], f"{after}")
    bench.replay("--capture", 2, "--verify")
    bench.capture("two_modules", "--real", "-k", "^work", "--launch", "2", arguments=["zero"])
    bench.replay("--verify")
    bench.capture("capture_cases", "--real", "-k", "accumulate", arguments=["second_stream"])
    bench.replay("--verify")
    bench.capture("capture_cases", "--real", arguments=["prints"])
    expect("thread" in bench.replay("--verify").stdout, "nothing is printed")
    bench.capture("fault_assert", "--real", "--launch", "2", status=None)
    expect("Device-side assertion `values[threadIdx.x] < limit" in bench.replay(status=14).stderr, "the assertion is not told")


def real_sparse(bench):
    """5 GiB, hardly used, the same way: all of it is copied to be looked at. `make test-capture`."""
    bench.capture("capture_cases", "--real", arguments=["sparse"])
    verdict = json.loads(bench.replay("--verify", "--json").stdout)["verify"]
    expect(verdict["equal"] and verdict["written_bytes"] >= 128, f"{verdict}")
    size = (bench.scratch / "c.wtcap").stat().st_size
    expect(size < 1 << 20, f"with 5 GiB of which little is used {size} bytes")


def imported(bench):
    """Memory of another process, in the process that imported it."""
    bench.capture("capture_cases", "-k", "accumulate", "--launch", "2", arguments=["ipc"])
    [capture] = bench.show()
    expect(capture["program"].endswith(" imported") and any("imported" in r["kind"] for r in capture["regions"]), f"{capture['program']}")
    for where in ([], ["--gpu", bench.model]):
        verdict = json.loads(bench.replay("--verify", "--json", *where).stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] > 0, f"{verdict}")


def vmm(bench):
    """Several pieces of memory in a reserved range, one of them at two addresses."""
    done = bench.capture("capture_cases", "-k", "through_both", arguments=["vmm"], status=None)
    if done.returncode == 77:
        print(done.stdout.strip())
        sys.exit(77)
    [capture] = bench.show()
    expect(any("mapped by the program" in r["kind"] for r in capture["regions"]), f"{[r['kind'] for r in capture['regions']]}")
    bench.replay("--verify", "-n", "2")
    for real in ([], ["--real"]):  # without the second address, which is not known there
        bench.capture("capture_cases", "-k", "add_one", *real, arguments=["vmm_pieces"], status=None)  # ROCr 6.4 crashes when it ends, also bare
        expect(len(bench.show()) == 1, "nothing was captured")
        for where in ([], ["--gpu", bench.model]):
            verdict = json.loads(bench.replay("--verify", "--json", *where).stdout)["verify"]
            expect(verdict["equal"] and verdict["written_bytes"] > 0, f"{real} {where}: {verdict}")


def unordered(bench):
    """A neighbour that does not end is said to be there."""
    bench.capture("capture_cases", "-k", "accumulate", "--drain", "1", arguments=["endless_neighbour"])
    [capture] = bench.show()
    expect(capture["unordered"], "not said")
    expect("captured while other queues ran" in bench.replay("--verify").stderr, "no warning")
    # The kernel itself waits: for the host, which waits for another queue.
    for name, case, kernel, real in (("capture_cases", ["endless_neighbour"], "until_told", []),
                                     ("capture_cases", ["endless_neighbour"], "until_told", ["--real"]),
                                     ("stream_overlap", [], "ping_pong", []), ("stream_overlap", [], "ping_pong", ["--real"])):
        done = bench.capture(name, "-k", kernel, "--drain", "1", "--only-touched", *real, arguments=case)
        expect(case or "PASS" in done.stdout, f"{done.stdout}{done.stderr}")
        expect("what it touches is not known: it does not end" in done.stderr, done.stderr)
        [capture] = bench.show()
        expect(capture["unordered"] and capture["has_before"] and capture["has_after"] == (not real), f"{name} {real}: {capture['unordered']} {capture['has_after']}")


def two_gpus(bench):
    """Each GPU's dispatch, with its own code."""
    bench.capture("capture_cases", "--launch", "1,4", model="rx6800xt,mi210", arguments=["every_gpu"])
    captures = bench.show()
    expect([c["target"] for c in captures] == ["gfx1030", "gfx90a"], f"{[c['target'] for c in captures]}")
    for number in (1, 2):
        bench.replay("--capture", number, "--verify")
    # Grids that wait for each other: one of them alone would wait for ever.
    bench.capture("capture_cases", "--drain", "1", model=f"{bench.model},{bench.model}", arguments=["every_gpu_together"])
    for where in ([], ["--gpu", bench.model]):
        expect("waits for its kernels on 1 other GPU (a multi-device launch)" in bench.replay(*where, status=16).stderr, "why is not said")


def only_touched(bench):
    """What the kernel touches is enough; what it does not touch is not there, and is not taken for zeros."""
    sizes = {}
    for options in ([], ["--only-touched"], ["--redact"]):
        bench.capture("capture_cases", "--launch", "2", *options, arguments=["linked"])
        [capture] = bench.show()
        verdict = json.loads(bench.replay("--verify", "--json", "-n", "3").stdout)["verify"]
        expect(verdict["equal"] and verdict["written_bytes"] > 300, f"{options}: {verdict}")
        sizes[tuple(options)] = sum(r["pages"] for r in capture["regions"])
        expect(capture["only_touched"] == bool(options) and capture["redacted"] == (options == ["--redact"]), f"{options}")
        if options:
            # 40 lists of 9 nodes: 8 bytes of each are read as a pointer, 4 as a value, 8 are written; totals and heads on top.
            expect(40 * 9 * 12 <= capture["read_bytes"] < 40 * 9 * 12 + 4096, f"{capture['read_bytes']} bytes read")
            expect(0 < capture["packed_read_bytes"] < capture["read_bytes"], f"{capture['packed_read_bytes']} of {capture['read_bytes']} bytes")
            expect(capture["written_bytes"] == 40 * 9 * 8 + 40 * 4, f"{capture['written_bytes']} bytes written")
    expect(sizes[("--only-touched",)] < sizes[()] // 2, f"{sizes}")
    # What other data lies in the pages that it uses is kept, or not.
    for options, is_kept in (([], True), (["--only-touched"], True), (["--redact"], False)):
        bench.capture("capture_cases", *options, arguments=["secret"])
        shutil.rmtree(bench.scratch / "dump", ignore_errors=True)
        bench.replay("--dump", "dump", "--verify")
        for name in ("arg0.bin", "arg1.bin"):
            content = (bench.scratch / "dump" / name).read_bytes()
            expect((b"\x5e\xe7\xc2\x5e" in content) == is_kept, f"{options}: {name}: a secret {'is lost' if is_kept else 'is still there'}")
            expect(is_kept or content[256:4096] == bytes(3840), f"{options}: {name}: not zeros")
    bench.capture("example_saxpy", "--only-touched")
    bench.replay("--verify")
    more = bench.replay("--grid", "100000", status=None)  # bounds are checked by the kernel: nothing more is touched
    expect(more.returncode == 0, f"{more.stderr}")
    bench.capture("bitonic_sort", "--redact", "--max", "3", "--every", "1")
    for number in (1, 2, 3):
        bench.replay("--capture", number, "--verify")


def append(bench):
    """A file is neither replaced nor mixed unless it is asked for; captures in one file share their pages."""
    bench.capture("vector_add")
    first = (bench.scratch / "c.wtcap").read_bytes()
    words = ["capture", "--gpu", bench.model, "-o", "c.wtcap"]
    program = ["--", bench.program("vector_add")]
    expect("--append" in bench.wavetap(*words, *program, status=1).stderr, "why is not said")
    expect((bench.scratch / "c.wtcap").read_bytes() == first, "the file was changed")
    bench.wavetap(*words, "--append", *program)
    captures = bench.show()
    expect([c["capture"] for c in captures] == [1, 2], f"{len(captures)} captures")
    expect(len({c["pid"] for c in captures}) == 2, "not of two processes")
    for number in (0, 3, 4294967295):
        for reader in (["capture", "show", "c.wtcap"], ["replay", "c.wtcap"], ["capture", "export", "c.wtcap", "out"]):
            expect(f"no capture {number} in it; choose from 1 to 2" in bench.wavetap(*reader, "--capture", number, status=1).stderr, f"{reader}: {number}")
    for number in (1, 2):
        bench.replay("--capture", number, "--verify")
    grown = (bench.scratch / "c.wtcap").stat().st_size
    expect(grown < 1.7 * len(first), f"{len(first)} bytes became {grown}")
    bench.wavetap(*words, "--force", *program)
    expect(len(bench.show()) == 1, "not replaced")
    bench.wavetap(*words, "--force", "--append", *program, status=1)
    # Two at once to a new file: both are in it.
    (bench.scratch / "c.wtcap").unlink()
    both = [subprocess.Popen([str(bench.bin / "wavetap"), *map(str, words + program)], cwd=bench.scratch, env=bench.environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    for child in both:
        _, errors = child.communicate(timeout=120)
        expect(child.returncode == 0, errors.decode())
    expect(len(bench.show()) == 2, f"{len(bench.show())} of two")
    # What can be no file is said before the program runs.
    (bench.scratch / "folder").mkdir()
    for name, why in (("", "names no file"), ("folder", "is a folder"), ("folder/", "is a folder"), ("none/c.wtcap", "No such file")):
        for option in ("--force", "--append"):
            done = bench.wavetap("capture", "--gpu", bench.model, option, "-o", name, *program, status=1)
            expect(why in done.stderr and not done.stdout, f"{name!r}: {done.stdout}{done.stderr}")
    expect(not list((bench.scratch / "folder").iterdir()) and not list(bench.scratch.glob("*.raw-*")), "something is left")
    (bench.scratch / "c.wtcap").write_bytes(b"not a capture")
    bench.wavetap(*words, "--append", *program, status=1)


def run_export(bench, compile_it, environment=None):
    """The exported program, built and run."""
    bench.wavetap("capture", "export", "c.wtcap", "out")
    folder = bench.scratch / "out"
    for words in compile_it(folder):
        done = subprocess.run([*map(str, words)], cwd=folder, env=bench.environment, capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
    bench.environment.update(environment or {})
    program = next(p for p in (folder / "build" / "reproducer", folder / "reproducer") if p.exists())
    bench.environment["TMPDIR"] = str(bench.scratch)
    done = subprocess.run([str(bench.bin / "wavetap"), "run", "--no-trace", "--gpu", bench.model, "--", str(program), "2"], cwd=folder,
                          env=bench.environment, capture_output=True, text=True, timeout=300)
    return done


def export(bench):
    """A program without us gives the captured result; built as its README says."""
    bench.capture("capture_cases", "--launch", "2", arguments=["globals"])
    done = run_export(bench, lambda folder: [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]])
    expect(done.returncode == 0, f"{done.stdout}{done.stderr}")
    for word in ("argument 0 (int*), i32 [0]: 0 2 8 18 32 50 72 98", "variable calls", "variable target_of_pointer", "as captured"):
        expect(word in done.stdout, f"{word}: {done.stdout}")
    # It does not say so whatever happens.
    data = next(p for p in (bench.scratch / "out/data").glob("expected*.bin") if p.stat().st_size >= 256)
    data.write_bytes(data.read_bytes()[:4] + b"\x55" + data.read_bytes()[5:])
    done = subprocess.run([str(bench.bin / "wavetap"), "run", "--no-trace", "--gpu", bench.model, "--", "out/build/reproducer"],
                          cwd=bench.scratch, env=bench.environment, capture_output=True, text=True, timeout=300)
    expect(done.returncode == 1 and "DIFFERS in 1 bytes, the first in element 1" in done.stdout, f"{done.returncode} {done.stdout}")
    bench.wavetap("capture", "export", "c.wtcap", "c.wtcap", status=1)


def export_relocated(bench):
    """Lists of pointers, in buffers and in a struct passed by value, at other addresses."""
    bench.capture("capture_cases", "--launch", "2", arguments=["linked"])
    arch = bench.show()[0]["target"]
    program = bench.scratch / "out" / "reproducer.cpp"
    def compile_it(folder):
        # An allocation of our own first: nothing comes to lie where it was.
        text = program.read_text().replace("  place_all(module);", "  void* first;\n  for (int i = 0; i < 16; ++i) (void)hipMalloc(&first, 4096);\n  place_all(module);")
        program.write_text(text)
        return [[bench.hipcc, f"--offload-arch={arch}", "-std=c++17", "-Wall", "-Werror", "reproducer.cpp", "-o", "reproducer"]]
    done = run_export(bench, compile_it, {"REPRODUCER_RELOCATE": "1"})
    expect(done.returncode == 0 and "as captured" in done.stdout, f"{done.stdout}{done.stderr}")
    expect("memory elsewhere than captured" in done.stderr, done.stderr)


ROCM = ("attention", "bitonic_sort", "device_globals", "dynamic_lds", "function_pointers", "large_kernargs", "managed_memory",
        "host_register", "recursion", "scratch_arrays", "virtual_functions")


def rocm(bench):
    """Through AMD's runtime, at the captured addresses, in a process of its own: the same bits."""
    for name in ROCM:
        bench.capture(name)
        told = json.loads(bench.replay("--gpu", bench.model, "--verify", "--counters", "--json").stdout)
        expect(told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{name}: {told}")
        expect(told["counters"] == counters_of(bench.show()[0]), f"{name}: counts differ: {told['counters']}")
    for case in ("linked", "sparse", "managed"):
        bench.capture("capture_cases", "--launch", "1", "--only-touched", arguments=[case])
        bench.replay("--gpu", bench.model, "--verify", "-n", "3", "--warmup", "1")
    # What it accumulates is seen without the captured state in between.
    bench.capture("capture_cases", "--launch", "1", arguments=["device_memory"])
    for where in ([], ["--gpu", bench.model]):
        for options, factor in (([], 1), (["--no-recopy"], 3)):
            bench.replay(*where, "-n", "3", *options, "--dump", "out")
            sums = int.from_bytes((bench.scratch / "out/arg0.bin").read_bytes()[4:8], "little")
            expect(sums == factor * sum(i * 7 % 101 for i in range(1000) if i * 7 % 101 % 16 == 1), f"{where} {options}: {sums}")
        bench.replay(*where, "-n", "2", "--no-recopy", "--verify", status=1)
    # Waves of the whole grid that wait for each other: HIP has set up on what.
    bench.capture("cooperative_groups", "-k", "grid_reduce")
    bench.replay("--gpu", bench.model, "--verify", "-n", "3")
    bench.capture("capture_cases", "--launch", "1", arguments=["device_memory"])
    # What the comparison found is said there, too.
    expect("verified: all" in bench.replay("--gpu", bench.model, "--verify").stdout, "what was compared is not said")
    bench.capture("clocks")
    expect("differ, the first at [" in bench.replay("--gpu", bench.model, "--verify", status=15).stdout, "what differs is not said")
    bench.capture("capture_cases", "--launch", "1", arguments=["device_memory"])
    expect("can be had at the captured addresses" in bench.replay("--gpu", bench.model, "--reserve-check").stdout, "not said")
    # What a GPU of the machine goes through.
    words = ["run", "--no-trace", "--gpu", bench.model, "--", bench.bin / "wavetap", "replay", "c.wtcap", "--hsa", "--json"]
    told = json.loads(bench.wavetap(*words, "--verify", "-n", "10", "--warmup", "2").stdout)
    expect(told["exact"] and told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{told}")
    expect(len(told["seconds"]) == 10 and min(told["seconds"]) <= told["median_seconds"] <= max(told["seconds"]) and "outliers" in told, f"{told}")
    bench.wavetap(*words, "--reserve-check")
    other = "mi210" if bench.model == "rx6800xt" else "rx6800xt"
    expect("ROCm shows" in bench.replay("--gpu", other, status=11).stderr, "why is not said")
    for options in (["--sanitize"], ["--grid", "0"], ["--swap", ""], ["--hsa"], ["--reserve-check", "--grid", "1"]):
        bench.replay("--gpu", bench.model, *options, status=1)
    bench.replay("--reserve-check", status=1)
    expect("with --gpu MODEL, or on the engine" in bench.replay("--hsa", "--counters", status=1).stderr, "where to count is not said")
    bench.capture("fault_read", status=None)
    expect("page fault at 0x123456789000" in bench.replay("--gpu", bench.model, status=14).stderr, "the fault is not told")


def changed(bench):
    """--grid, --swap and --counters do through ROCm what they do on the engine."""
    def dumps(*options, file="c.wtcap"):
        """What the engine makes of it, and ROCm the same."""
        results = []
        for where in ([], ["--gpu", bench.model]):
            folder = bench.scratch / f"dump{len(results)}"
            shutil.rmtree(folder, ignore_errors=True)
            told = json.loads(bench.replay(*where, *options, "--dump", folder, "--counters", "--json", file=file).stdout)
            results.append(({f.name: f.read_bytes() for f in folder.iterdir()}, told["counters"], told["workgroups"]))
        expect(results[0] == results[1], f"{options}: {[r[1:] for r in results]}")
        return results[0]
    # Fewer workgroups; more axes than the launch had; those of a kernel that asks how many there are.
    bench.capture("capture_cases", "--launch", "1", arguments=["device_memory"])
    whole, counted, _ = dumps()
    expect(counted["workgroups"] == 4, f"{counted}")
    part, counted, workgroups = dumps("--grid", "2")
    expect(counted["workgroups"] == 2 and workgroups == [2, 1, 1] and part != whole, f"{counted}")
    expect(bench.replay("--gpu", bench.model, "--grid", "2", "--verify", status=15).stdout.count("differ, the first at") == 1, "not compared")
    expect(dumps("--grid", "2,2")[1]["workgroups"] == 4, "two axes")
    bench.capture("grids_3d")
    expect(dumps("--grid", "2,3,2")[0] != dumps("--grid", "2,2,2")[0], "the kernel does not see the grid")
    # A grid whose waves wait for each other: as many as there are.
    bench.capture("cooperative_groups", "-k", "grid_reduce")
    for count in (1, 5, 24):
        expect(dumps("--grid", count)[1]["workgroups"] == count, f"{count}")
    # Another build: to the bit, and one that does something else.
    own = "gfx1030" if bench.model == "rx6800xt" else "gfx90a"
    bench.capture("two_modules", "-k", "^work")
    before = dumps()[0]
    build_kernel(bench, "int* data", own, "data[threadIdx.x] = 7 + threadIdx.x * gridDim.x;")
    expect(dumps("--swap", "work.co")[0] != before, "the old code ran")
    dumps("--swap", "work.co", "--grid", "3")
    bench.replay("--gpu", bench.model, "--swap", "work.co", "--verify", status=15)
    bench.capture("bitonic_sort")
    bench.replay("--gpu", bench.model, "--swap", bench.program("bitonic_sort"), "--verify", "-n", "3")
    # What was not kept is no memory of zeros there either.
    bench.capture("two_modules", "-k", "^work", "--only-touched")
    dumps("--swap", "work.co")
    build_kernel(bench, "int* data", own, "data[threadIdx.x + (1 << 16)] = 1;")
    done = bench.replay("--gpu", bench.model, "--swap", "work.co", status=14)
    expect("capture without --only-touched" in done.stderr, done.stderr)


def raw_hsa(bench):
    """Programs on HSA alone: their queues, memory and code objects; pinned memory, fine-grained memory, several queues."""
    for program, kernel, real in (("pools", "square_add", []), ("pools", "square_add", ["--real"]), ("timing", "fill", []), ("timing", "fill", ["--real"]),
                                  ("queues", "add_one", ["--launch", "5"]), ("ipc", "fill", [])):
        bare = bench.wavetap("run", "--no-trace", "--gpu", bench.model, "--", bench.bin / "hsa" / program)
        done = bench.wavetap("capture", "--force", "--gpu", bench.model, *real, "-k", f"^{kernel}$", "-o", "c.wtcap", "--", bench.bin / "hsa" / program)
        expect(done.stdout == bare.stdout and "0 failed" in done.stdout, f"{program}: {bare.stdout!r} became {done.stdout!r}")
        [capture] = bench.show()
        expect(capture["has_after"] and [a["type"] for a in capture["arguments"]][-1:] in (["uint"], ["uint*"], ["atomic_uint*"]), f"{program}: {capture['arguments']}")
        for where in ([], ["--gpu", bench.model]):
            told = json.loads(bench.replay("--verify", "--json", "-n", "2", *where).stdout)
            expect(told["exact"] and told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{program} {real} {where}: {told}")
    # A store to nowhere: captured whole before it, and again.
    bench.wavetap("capture", "--force", "--gpu", bench.model, "-k", "^poke$", "-o", "c.wtcap", "--", bench.bin / "hsa" / "faults")
    for where in ([], ["--gpu", bench.model]):
        bench.replay(*where, status=14)


def waits(bench):
    """A program that waits for the GPU leaves it the core; signals.cc counts the time of the processor. It dispatches nothing."""
    done = bench.wavetap("capture", "--gpu", bench.model, "-o", "c.wtcap", "--", bench.bin / "hsa" / "signals", status=2)
    expect(" 0 failed" in done.stdout, done.stdout)
    expect("no dispatch was captured" in done.stderr, done.stderr)


def many_processes(bench):
    """Fresh processes, each with another layout of addresses: all reserve what they need."""
    bench.capture("capture_cases", "--launch", "1", "--only-touched", arguments=["linked"])
    expect(pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "2", "addresses are not random here")
    attempts = [json.loads(bench.replay("--gpu", bench.model, "--verify", "--json").stdout)["attempts"]
                for _ in range(int(os.environ.get("WT_PROCESSES", "10")))]
    print(f"{len(attempts)} processes, {sum(a > 1 for a in attempts)} needed more than one attempt, {max(attempts)} at most")


def generations(bench):
    """Captures of other ROCm generations, kept in $WT_CAPTURES, replay here; those made here are added for the next."""
    folder = pathlib.Path(os.environ["WT_CAPTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    others = sorted(folder.glob(f"*.{bench.model}.*.wtcap"))
    for case, (_, launch) in {case: KINDS[case] for case in ("linked", "globals", "managed", "pinned", "graph")}.items():
        bench.capture("capture_cases", "--launch", launch, arguments=[case])
        [capture] = bench.show()
        runtime = pathlib.Path(capture["facts"]["library.libhsa-runtime64"]).name.rpartition("so.")[2]
        shutil.copy(bench.scratch / "c.wtcap", folder / f"{runtime}.{bench.model}.{case}.wtcap")
    for file in [*others, *sorted(folder.glob(f"*.{bench.model}.*.wtcap"))]:
        shutil.copy(file, bench.scratch / "other.wtcap")
        for where in ([], ["--gpu", bench.model]):
            told = json.loads(bench.replay("--verify", "--json", "-n", "2", *where, file="other.wtcap").stdout)
            expect(told["exact"] and told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{file.name}: {where}: {told}")
    print(f"{len(others)} captures of before")


def other_host(bench):
    """Addresses of an x86-64 host, which arm64's runtime does not give by itself; on x86-64 they are any others."""
    for name in ("vector_add", "function_pointers", "large_kernargs"):
        bench.capture(name, "--gpu-option", "low-va", "--only-touched")
        [capture] = bench.show()
        expect(any(r["address"] >= 1 << 40 for r in capture["regions"]), f"{capture['regions']}")
        told = json.loads(bench.replay("--gpu", bench.model, "--verify", "-n", "2", "--json").stdout)
        expect(told["exact"] and told["attempts"] == 1 and told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{name}: {told}")
    # Every kind of memory.
    for case in ("linked", "globals", "managed", "pinned", "registered", "fine_grained"):
        bench.capture("capture_cases", "--launch", KINDS[case][1], "--gpu-option", "low-va", arguments=[case])
        told = json.loads(bench.replay("--gpu", bench.model, "--verify", "--json").stdout)
        expect(told["exact"] and told["verify"]["equal"], f"{case}: {told}")


def kept(bench):
    """Captures that were made on other hosts, by other ROCm generations and earlier versions of the format: kept/README.md."""
    for file in sorted((pathlib.Path(__file__).resolve().parent / "kept").glob(f"*.{bench.model}.wtcap")):
        shutil.copy(file, bench.scratch / "kept.wtcap")
        captures = bench.show("kept.wtcap")
        expect(len(captures) >= 5, f"{file.name}: {len(captures)} captures")
        for capture in captures:
            for where in ([], ["--gpu", bench.model]):
                # A sanitizer's shadow may lie where another host had its memory: nothing but the engine replays that.
                fine = {0, 17} if INSTRUMENTED and where else {0}
                ran = bench.replay("--capture", capture["capture"], "--verify", "--json", *where, file="kept.wtcap", status=None)
                expect(ran.returncode in fine, f"{file.name}: {capture['kernel']}: {where}: exit status {ran.returncode}: {ran.stderr}")
                if ran.returncode != 0:
                    continue
                told = json.loads(ran.stdout)
                expect(told["exact"] and told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{file.name}: {capture['kernel']}: {where}: {told}")
        print(f"{file.name}: {len(captures)} captures")


def results_of(bench, file, number, count):
    """How many different results that many replays have, each with another order of waves."""
    results = set()
    for seed in range(1, count + 1):
        out = bench.scratch / "results"
        shutil.rmtree(out, ignore_errors=True)
        bench.wavetap("replay", file, "--capture", number, "--seed", seed, "--dump", out)
        results.add(hashlib.sha256(b"".join(f.read_bytes() for f in sorted(out.iterdir()))).hexdigest())
    return len(results)


def folder(bench):
    """Every dispatch of every capture for this GPU in --folder, on the engine and through ROCm: as captured, or shown to have no single result."""
    expect(bench.folder is not None and bench.folder.is_dir(), "say where the captures are with --folder")
    counts, varying, failed = {"as captured": 0, "with no single result": 0, "without a state after": 0}, [], []
    files = 0
    for source in sorted(bench.folder.rglob("*.wtcap")):
        if source.stat().st_size == 0:
            print(f"{source.name}: empty, its capture was killed", flush=True)
            continue
        file = bench.scratch / "other.wtcap"
        shutil.copy(source, file)
        shown = bench.wavetap("capture", "show", file, "--json", status=None)
        if shown.returncode != 0:
            failed.append(source.name)
            print(f"{source.name}: FAILED: {shown.stderr}", flush=True)
            continue
        captures = [c for c in json.loads(shown.stdout)["captures"] if c["model"] == bench.model]
        files += bool(captures)
        for capture in captures:
            number, name = capture["capture"], f"{source.name}: {capture['capture']}: {capture['kernel'].partition('(')[0]}"
            if not capture["has_after"]:
                counts["without a state after"] += 1
                print(f"{name}: nothing to compare with, not replayed", flush=True)
                continue
            for where in (["--engine"], ["--gpu", bench.model]):
                try:
                    done = bench.wavetap("replay", file, "--capture", number, "--verify", "--json", *where, status=None, timeout=100)
                except subprocess.TimeoutExpired:
                    failed.append(f"{name}, {where[0]}")
                    print(f"{failed[-1]}: FAILED: does not end", flush=True)
                    continue
                if done.returncode == 0 and json.loads(done.stdout).get("exact", True):
                    counts["as captured"] += 1
                elif done.returncode == 15 and results_of(bench, file, number, 6) > 1:
                    counts["with no single result"] += 1
                    varying.append(f"{name}, {where[0]}")
                else:
                    failed.append(f"{name}, {where[0]}")
                    print(f"{failed[-1]}: FAILED: exit status {done.returncode}\n{done.stderr or done.stdout}", flush=True)
    for each in varying:
        print(f"{each}: depends on the order of waves or the clock: replays differ from each other")
    print(f"{files} files, replays: " + ", ".join(f"{count} {what}" for what, count in counts.items()) + f", {len(failed)} failed", flush=True)
    expect(not failed and counts["as captured"] > 0, f"failed: {failed}")


def take(bench, address, size=4096, when="1"):
    """Every program of the bench has a mapping there before its main()."""
    source, library = bench.scratch / "taken.c", bench.scratch / "taken.so"
    source.write_text(f"""#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/personality.h>
__attribute__((constructor)) static void take(void) {{
  if ({when}) mmap((void*){address & ~0xfff}UL, {size}, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}}
""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    bench.environment["LD_PRELOAD"] = str(library)
    if INSTRUMENTED:  # its runtime wants to be the first library, for functions that this one does not have
        bench.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"


def fixed_layout(bench):
    """Libraries that lie where they always lie, on captured memory, when addresses are not random: the replay has others."""
    bench.capture("vector_add")
    take(bench, next(int(a["value"], 16) for a in bench.show()[0]["arguments"] if "region" in a), when="personality(0xffffffff) & ADDR_NO_RANDOMIZE")
    personality = ctypes.CDLL(None).personality
    before = personality(0xffffffff)
    personality(before | 0x0040000)
    bench.replay("--gpu", bench.model, "--verify")
    personality(before)


def taken(bench):
    """Memory where nothing can be placed: who has it is said, with an exit status of its own. It may lie elsewhere when that is asked for."""
    bench.capture("vector_add")
    # Few replays below: with a page taken, AMD's library looks for its range two megabytes further 130 000 times, seconds each.
    take(bench, next(int(a["value"], 16) for a in bench.show()[0]["arguments"] if "region" in a))
    done = bench.replay("--gpu", bench.model, "--reserve-check", status=17)
    expect("cannot be had: taken by" in done.stdout + done.stderr, f"{done.stdout}{done.stderr}")
    told = json.loads(bench.replay("--gpu", bench.model, "--relocate", "--verify", "-n", "2", "--json").stdout)
    expect(not told["exact"] and told["relocated"]["ranges"] >= 2 and told["relocated"]["changed_words"] >= 3, f"{told}")
    expect(told["verify"]["equal"] and told["verify"]["written_bytes"] > 0, f"{told}")
    expect(json.loads(bench.replay("--relocate", "--json").stdout)["exact"], "on the engine nothing is in the way")
    # Lists, and a struct by value that holds the pointer to them.
    del bench.environment["LD_PRELOAD"]
    bench.capture("capture_cases", "--launch", "1", arguments=["linked"])
    [capture] = bench.show()
    heads = next(a for a in capture["arguments"] if a["bytes"] == 24)
    address = int(heads["value"], 16) >> 64 & (1 << 64) - 1
    take(bench, address)
    told = bench.replay("--gpu", bench.model, "--relocate", "--verify").stdout
    changed = re.search(r"^inexact: .*; (\d+) words that look like pointers into it were changed$", told, re.M)
    expect(changed and int(changed[1]) >= 40 and re.search(r"^verified: all \d+ bytes", told, re.M), told)
    # The code itself.
    del bench.environment["LD_PRELOAD"]
    bench.capture("capture_cases", "--launch", "2", arguments=["globals"])
    [capture] = bench.show()
    # All of its region: which pages of it the kernel uses, and what lies beside it, is different on each host.
    [base] = [o["load_delta"] for o in capture["code_objects"] if o["uri"].startswith("file:")]
    code = next(r for r in capture["regions"] if r["address"] <= base < r["address"] + r["bytes"])
    take(bench, code["address"], code["bytes"])
    done = bench.replay("--gpu", bench.model, status=17)
    expect("cannot be had: taken by" in done.stderr, done.stderr)
    expect("--relocate" in done.stderr, "what to do is not said")
    told = json.loads(bench.replay("--gpu", bench.model, "--relocate", "--verify", "--json").stdout)
    expect(not told["exact"] and told["verify"]["equal"] and told["relocated"]["changed_words"] >= 1, f"{told}")


def from_code(bench):
    """The same from C and from Python."""
    bench.capture("example_saxpy", "--only-touched")
    done = subprocess.run([bench.bin / "print_capture", "c.wtcap"], cwd=bench.scratch, env=bench.environment, capture_output=True, text=True)
    expect(done.returncode == 0 and done.stdout.splitlines()[1:6] == ["int i32 4", "float f32 4", "float const* f32 8", "float* f32 8",
           "3 runs, as captured"], f"{done.returncode} {done.stdout}{done.stderr}")
    (bench.scratch / "bad.wtcap").write_bytes(b"no capture")
    done = subprocess.run([bench.bin / "print_capture", "bad.wtcap"], cwd=bench.scratch, env=bench.environment, capture_output=True, text=True)
    expect(done.returncode == 10 and "not a captured dispatch" in done.stdout, done.stdout)
    if INSTRUMENTED:  # a sanitizer must be loaded before the program; Python is not built with one
        return
    root = pathlib.Path(__file__).resolve().parents[2]
    environment = dict(bench.environment, PYTHONPATH=str(root / "python"), WAVETAP_LIB=str(bench.bin.resolve().parent / "lib"), PYTHONDONTWRITEBYTECODE="1")
    # Debian's NumPy belongs to Debian's Python.
    python = next((p for p in (sys.executable, "/usr/bin/python3") if subprocess.run([p, "-c", "import numpy"], capture_output=True).returncode == 0), None)
    if python is None:
        print("SKIP from_code: C is checked, Python is not: no NumPy (package python3-numpy)")
        sys.exit(77)
    done = subprocess.run([python, root / "tests/capture/from_code.py", "c.wtcap", "bad.wtcap"], cwd=bench.scratch, env=environment,
                          capture_output=True, text=True)
    expect(done.returncode == 0, done.stdout + done.stderr)


def wave_order(bench):
    """Results that depend on the order of waves are those of the capture when both run on one thread."""
    for name in ("hash_table", "atomics_system"):
        bench.capture(name, "--gpu-threads", "1", "--every", "1", "--max", "6")
        for capture in bench.show():
            bench.replay("--capture", capture["capture"], "--threads", "1", "--verify")


def build_kernel(bench, parameters, arch, body="data[threadIdx.x] = 1;"):
    """Another work(), as work.co."""
    source = bench.scratch / "work.hip"
    source.write_text(f'#include <hip/hip_runtime.h>\nextern "C" __global__ void work({parameters}) {{ {body} }}\n')
    subprocess.run([bench.hipcc, "--genco", f"--offload-arch={arch}", str(source), "-o", str(bench.scratch / "work.co")], check=True,
                   env=bench.environment, capture_output=True)


def exit_codes(bench):
    """Each way to fail has a code of its own and a sentence that says what to do; the help and docs/capture.md list them."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "capture.md").read_text()
    documented = {int(line.split("|")[1]): line.split("|")[2].strip().replace("`", "") for line in text.splitlines() if line.startswith("| 1") and line[3:5].strip().isdigit()}
    help_text = bench.wavetap("replay", "--help").stdout.split("Exit status of a replay:")[1]
    listed = {int(line.split()[0]): line.split(None, 1)[1] for line in help_text.splitlines() if line.strip()}
    expect(listed == {code: what for code, what in documented.items() if code != 1} and sorted(listed) == list(range(10, 18)), f"{listed}\n{documented}")
    own, other = ("gfx1030", "gfx90a") if bench.model == "rx6800xt" else ("gfx90a", "gfx1030")
    def fails(status, why, *options, file="c.wtcap"):
        done = bench.replay(*options, file=file, status=status)
        lines = (done.stderr or done.stdout).strip().splitlines()
        expect(any(why in line for line in lines) if status == 15 else why in lines[-1], f"{status}: {done.stdout}{done.stderr}")
        expect(status == 15 or (lines[-1].startswith("wavetap: error: ") and "; " in lines[-1]), f"{status}: what to do is not said: {lines}")
    bench.capture("two_modules", "-k", "^work")
    (bench.scratch / "bad.wtcap").write_bytes((bench.scratch / "c.wtcap").read_bytes()[:200])
    fails(10, "bad.wtcap", file="bad.wtcap")
    fails(11, "ROCm shows", "--gpu", "mi210" if bench.model == "rx6800xt" else "rx6800xt")
    build_kernel(bench, "int* data", other)
    for where in ([], ["--gpu", bench.model]):
        fails(11, "for other GPUs", "--swap", "work.co", *where)
        fails(12, "no kernel", "--swap", bench.program("scan"), *where)
    build_kernel(bench, "char first, int* data", own)
    for where in ([], ["--gpu", bench.model]):
        fails(13, "argument 0 of the kernel is", "--swap", "work.co", *where)
    bench.capture("example_saxpy", output="s.wtcap")
    for where in ([], ["--gpu", bench.model]):
        fails(15, "differ, the first at", "--grid", "1", "--verify", *where, file="s.wtcap")
    bench.capture("capture_cases", output="h.wtcap", arguments=["host_function"])
    for where in ([], ["--gpu", bench.model]):
        fails(16, "calls a function of the program", *where, file="h.wtcap")
    bench.capture("fault_read", output="f.wtcap", status=None)
    for where in ([], ["--gpu", bench.model]):
        fails(14, "page fault", *where, file="f.wtcap")
    take(bench, next(int(a["value"], 16) for a in bench.show("s.wtcap")[0]["arguments"] if "region" in a))
    fails(17, "cannot be had: taken by", "--gpu", bench.model, file="s.wtcap")


def page(bench):
    """The commands of the pages do what stands there, and the tests that are named exist."""
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
    (bench.scratch / "build").mkdir()
    (bench.scratch / "build" / "bin").symlink_to(bench.bin)
    def run_page(name, first, last):
        """Commands in the blocks [first, last) of a page. How many."""
        commands = 0
        for block in (docs / name).read_text().split("```")[1::2][first:last]:
            lines = block.strip().splitlines()
            for number, line in enumerate(lines):
                if not line.startswith("$"):
                    continue
                expect(line.startswith("$ wavetap "), f"{name}: {line}: not run by this test")
                done = bench.wavetap(*line.split()[2:])
                wanted = [l for l in lines[number + 1:number + 2] if not l.startswith("$")]
                expect(all(l in done.stdout.splitlines() for l in wanted), f"{line}: {done.stdout}")
                commands += 1
        return commands
    expect(run_page("howto/slow-kernel-to-reproducer.md", 0, None) == 11, "not all commands of the page are run")
    for left in (bench.scratch / "saxpy_reproducer").iterdir():  # the next page makes it as well
        subprocess.run(["rm", "-rf", str(left)], check=True)
    (bench.scratch / "saxpy_reproducer").rmdir()
    (bench.scratch / "saxpy.wtcap").unlink()
    expect(run_page("capture.md", 0, 1) == 7, "not all commands of the page are run")
    for row in (docs / "capture-cases.md").read_text().splitlines():
        if not row.startswith("| ") or row.startswith("| launch "):
            continue
        for word in row.split("|")[2].replace("(", ",(").split(","):
            name = word.strip(" ()`")
            known = name in CASES or name in KINDS or name in FEW or name in ("second_stream", "refused", "secret", "make test-capture", "make test-stacks") or name.startswith("skipped")
            expect(known, f"docs/capture-cases.md names {name!r}, which is no test")


CASES = {f.__name__: f for f in (table, everything, same_output, in_place, counters, crash, host_calls, killed, replay_killed, selection, ranges, same_names, swap, grid, dump, damaged, hostile_files, disk_full, unprivileged, kinds, real, real_sparse, imported, vmm, only_touched, append, export,
                                 export_relocated, two_gpus, unordered, rocm, changed, raw_hsa, waits, other_host, kept, many_processes, generations, folder, taken, fixed_layout, from_code,
                                 wave_order, exit_codes, page)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="rx6800xt")
    parser.add_argument("--hipcc", default="hipcc")
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("case", choices=sorted(CASES))
    arguments = parser.parse_args()
    # Another ROCm's root has the folder for temporary files mounted, and no other.
    with tempfile.TemporaryDirectory() if arguments.root else scratch_folder() as scratch:
        try:
            CASES[arguments.case](Bench(arguments.bin.resolve(), arguments.model, scratch, arguments.hipcc, arguments.programs, arguments.root, arguments.folder))
        except Failure as failure:
            sys.exit(f"FAIL {arguments.case}: {failure}")
    print(f"ok {arguments.case}")


if __name__ == "__main__":
    main()
