#!/usr/bin/env python3
"""Runs every command of docs/coming-from.md, and its Python programs.

  coming_from.py --bin BUILD/bin [--clang clang++-19] [WORD…]      only rows that contain all of the words

A row's command must end with status 0, or 2 when it is the doctor's or `device`'s answer. Each word in code quotes of the
last column must be a file afterwards, stand in the output, or be the path of a value in its JSON (`kernel.name`). There is no GPU here, so programs run on a virtual one.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/swap")]
from swap import code_objects  # noqa: E402
from temporary import scratch_folder  # noqa: E402
LIVE = r"""
import ctypes, os, sys
ctypes.CDLL(None).wavetap_range_push(b"whole program")
print(os.getpid(), flush=True)
sys.stdin.read()
"""

SPEC = """
[build]
command = "./build.sh kernel.hip {out} -DUNUSED={UNUSED}"
[parameters]
UNUSED = [1, 2]
[measure]
capture = "kernel.wtcap"
[search]
strategy = "exhaustive"
"""


def has_value(output, path):
    """Whether the JSON in an output has something at a path."""
    try:
        value = json.JSONDecoder().raw_decode(output[output.index("{"):])[0]
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return True
    except (ValueError, KeyError, IndexError, TypeError):
        return False


def rows(text):
    """(their words, our command or None, what it gives) of every row of every table."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not line.startswith("|") or len(cells) < 2 or set(cells[1]) <= set("- ") or cells[1] == "wavetap":
            continue
        command = re.match(r"`([^`]+)`$", cells[1])
        yield cells[0], command[1].replace("\\|", "|") if command else None, re.findall(r"`([^`]+)`", cells[2]) if len(cells) > 2 else [], line


def with_gpu(command):
    """The command for a machine without a GPU: on a virtual one."""
    if "HSA_TOOLS_LIB=" in command:
        return "wavetap run --gpu rx6800xt --no-trace -- env " + command
    if re.search(r"\bwavetap run\b", command):
        return command.replace("wavetap run", "wavetap run --gpu rx6800xt")
    if re.search(r"\bwavetap (doctor|device)\b", command):
        return "wavetap run --gpu rx6800xt --no-trace -- env " + command
    return command


class Runner:
    def __init__(self, bin_folder, clang, scratch, memory):
        self.scratch = pathlib.Path(scratch) / "work"
        self.scratch.mkdir()
        self.files = pathlib.Path(scratch) / "files"
        self.bin, self.clang, self.disk = bin_folder, clang, scratch
        self.last = ("", None)  # the command before and how it ended: rows often share one
        self.environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8", TMPDIR=memory,
                                XDG_RUNTIME_DIR=scratch, XDG_CACHE_HOME=scratch, WAVETAP_LIB=str(bin_folder.parent / "lib"),
                                PYTHONPATH=str(SOURCE / "python"), PYTHONDONTWRITEBYTECODE="1")
        (self.scratch / "app").symlink_to(bin_folder / "hip/example_saxpy")
        plugin = bin_folder.parent / "probe_plugins/bytes_by_line.so"
        if plugin.exists():
            (self.scratch / "libmine.so").symlink_to(plugin)
        cache = self.scratch / "cache/3f1a"
        cache.mkdir(parents=True)
        for target, code in code_objects(bin_folder / "hip/example_saxpy"):
            (cache / f"saxpy.{target}.hsaco").write_bytes(code)
        (self.scratch / "filter.json").write_text('{"include": ["/opt/**/*.so"], "exclude": ["/usr/lib/**/librocblas.so*"]}')
        (self.scratch / "categories.json").write_text('{"Matrices": ["gemm"]}')
        self.live = subprocess.Popen(["wavetap", "run", "-o", "live.rpd", "--", sys.executable, "-c", LIVE], cwd=self.scratch, env=self.environment,
                                     text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pid = self.live.stdout.readline().strip()

    def close(self):
        self.live.stdin.close()
        self.live.wait()

    def shell(self, command):
        # A sandbox has a /dev of its own.
        sandboxed = {"TMPDIR": self.disk} if re.search(r"\bwavetap (optimize|tune)\b", command) else {}
        return subprocess.run(["sh", "-c", command], cwd=self.scratch, env={**self.environment, **sandboxed}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)

    def lay_out(self):
        """A capture, its kernel's source, how it is built, a spec."""
        if not self.files.exists():
            self.files.mkdir()
            kernels = SOURCE / "tests/lab/kernels"
            shutil.copy(kernels / "transpose.inc", self.files / "kernel.hip")
            (self.files / "build.sh").write_text(
                f"#!/bin/sh\nin=$1 out=$2; shift 2\nexec {self.clang} -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch=gfx1030 -nogpuinc "
                f"-nogpulib -fms-extensions -mcode-object-version=4 -O2 -include {kernels}/plain.h \"$@\" $in -o $out\n")
            (self.files / "build.sh").chmod(0o755)
            (self.files / "space.toml").write_text(SPEC)
            self.shell(f"wavetap capture --gpu rx6800xt -k transpose -o {self.files}/kernel.wtcap -- {self.bin}/hip/lab transpose")
        for path in self.files.iterdir():
            shutil.copy(path, self.scratch / path.name)
        for path in self.scratch.iterdir():
            if path.suffix in (".ledger", ".tune") or path.name in ("out", "buffers"):
                shutil.rmtree(path)
        if not (self.scratch / "lab").exists():
            (self.scratch / "lab").symlink_to(self.bin / "hip/lab")

    def run(self, command, promised):
        """What is wrong with a row, as text; empty when it holds."""
        if command != self.last[0]:
            problem = self.prepare(command)
            if problem:
                return problem
            self.last = (command, self.shell(with_gpu(command).replace("PID", self.pid)))
        done = self.last[1]
        output = done.stdout + done.stderr
        if "neither bubblewrap nor namespaces work here" in output:
            return ""
        answers = re.search(r"\bwavetap (doctor|device)\b", command)
        if done.returncode != 0 and not (answers and done.returncode == 2):
            return f"exit status {done.returncode}\n{output}"
        missing = [word for word in promised if not (self.scratch / word).exists() and word not in output and not has_value(done.stdout, word)]
        return f"promised and not there: {', '.join(missing)}\n{output}" if missing else ""

    def prepare(self, command):
        """The files that a row begins with; what went wrong."""
        for path in self.scratch.glob("*"):
            if path.is_file() and not path.is_symlink() and path.name not in ("categories.json", "filter.json") and not path.name.startswith("live"):
                path.unlink()
        made = self.shell(f"trace_from_text {shlex.quote(str(SOURCE / 'tests/traces/small.txt'))} trace.rpd")
        if made.returncode != 0:
            return f"no trace to work on: {made.stderr}"
        if "kernel.wtcap" in command or "space.toml" in command or "./lab" in command or " out" in command:
            self.lay_out()
        if "WAVETAP_SWAP=table.swap" in command:
            self.shell("wavetap swap list ./app --table table.swap")  # the row before
        return ""

    def python(self, program):
        done = subprocess.run([sys.executable, "-c", program], cwd=self.scratch, env=self.environment, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            return done.stderr
        said = self.shell("wavetap query --format csv python.rpd \"select count(*) from rocpd_api\"")
        (self.scratch / "python.rpd").unlink(missing_ok=True)
        return "" if re.search(r"^[1-9]", said.stdout, re.MULTILINE) else f"nothing was recorded: {said.stdout}{said.stderr}{done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    text = (SOURCE / "docs/coming-from.md").read_text()
    failures = ran = 0
    with tempfile.TemporaryDirectory() as scratch, scratch_folder() as memory:
        runner = Runner(arguments.bin.resolve(), arguments.clang, scratch, memory)
        try:
            for theirs, command, promised, line in rows(text):
                if command is None and not line.split("|")[2].strip().startswith("nothing"):
                    print(f"{theirs}: says neither a command nor that nothing is needed")
                    failures += 1
                if command is None or not all(word in line for word in arguments.words):
                    continue
                ran += 1
                problem = runner.run(command, promised)
                if problem:
                    failures += 1
                    print(f"{theirs}\n  $ {with_gpu(command)}\n  {problem}")
            for program in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
                if arguments.words:
                    continue
                ran += 1
                problem = runner.python(program)
                if problem:
                    failures += 1
                    print(f"{program}\n  {problem}")
        finally:
            runner.close()
    print(f"{ran} commands and programs, {failures} failures")
    sys.exit(1 if failures or not ran else 0)


if __name__ == "__main__":
    main()
