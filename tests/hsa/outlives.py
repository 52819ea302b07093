#!/usr/bin/env python3
"""A process that outlives the program and hides its environment keeps the virtual GPU.

  outlives.py --bin build/bin        the test
  outlives.py --program FILE         what it runs: leaves a child behind that writes FILE when all went well
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROPERTIES = "/sys/class/kfd/kfd/topology/nodes/1/properties"


def hide_environment():
    """As setproctitle does: what /proc/PID/environ shows is written over."""
    fields = pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    begin, end = int(fields[47]), int(fields[48])  # env_start, env_end
    ctypes.memset(begin, 0, end - begin)
    assert b"WAVETAP_GPU_DIR" not in pathlib.Path("/proc/self/environ").read_bytes()


def program(result):
    parent = os.getpid()
    ready, tell = os.pipe()
    if os.fork() != 0:
        os.read(ready, 1)
        os._exit(0)
    os.setsid()
    runtime = ctypes.CDLL("libhsa-runtime64.so.1")
    assert runtime.hsa_init() == 0
    hide_environment()
    os.write(tell, b"x")
    while os.getppid() == parent:
        time.sleep(0.01)
    time.sleep(1.5)  # wavetap run has ended, and has looked at what it leaves behind
    text = pathlib.Path(PROPERTIES).read_text()
    assert runtime.hsa_shut_down() == 0 and runtime.hsa_init() == 0
    pathlib.Path(result + ".new").write_text(text)
    os.rename(result + ".new", result)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--program")
    arguments = parser.parse_args()
    if arguments.program:
        program(arguments.program)
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result"
        command = [arguments.bin.resolve() / "wavetap", "run", "--gpu", "rx6800xt", "--no-trace", "--",
                   sys.executable, pathlib.Path(__file__).resolve(), "--program", result]
        temporary = pathlib.Path(folder) / "tmp"
        temporary.mkdir()
        done = subprocess.run(list(map(str, command)), timeout=100, env={**os.environ, "TMPDIR": str(temporary)})
        if done.returncode != 0:
            sys.exit(f"exit status {done.returncode}")
        for _ in range(600):
            if result.exists():
                break
            time.sleep(0.1)
        else:
            sys.exit("the child lost its GPU")
        if "gfx_target_version 100300" not in result.read_text():
            sys.exit(result.read_text())
        # Once the child has gone, the next run clears up behind it.
        kept = list(temporary.glob("wavetap-*"))
        if len(kept) != 1:
            sys.exit(f"run directories: {kept}")
        old = time.time() - 100
        os.utime(kept[0], (old, old))
        for _ in range(100):
            subprocess.run(list(map(str, command[:6])) + ["true"], timeout=100, check=True, env={**os.environ, "TMPDIR": str(temporary)})
            if not list(temporary.glob("wavetap-*")):
                break
            time.sleep(0.1)
        else:
            sys.exit(f"left behind: {list(temporary.iterdir())}")
    print("PASS a process that outlives the program keeps the virtual GPU")


if __name__ == "__main__":
    main()
