#!/usr/bin/env python3
"""What AMD's compiler library makes of HIP's own kernels is kept for the next program, and is what it would make again.

  kept_compiler.py --bin BUILD/bin --model rx6800xt
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "wavetap/comgr"

        def run(*options, program="memcpy_2d", **variables):
            """What it printed, and how often the library was asked and not."""
            environment = dict(os.environ, XDG_CACHE_HOME=folder, WT_LOG="vgpu:debug", WT_LOG_FILE=f"{folder}/log", **variables)
            done = subprocess.run([arguments.bin / "wavetap", "run", "--gpu", arguments.model, *options, "--", arguments.bin / "hip" / program],
                                  cwd=folder, env=environment, capture_output=True, text=True, timeout=100)
            log = pathlib.Path(folder) / "log"
            lines = log.read_text()
            log.unlink()
            if done.returncode != 0:
                sys.exit(f"{program} {options}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout, len(re.findall("compiler action .*: compiled", lines)), len(re.findall("compiler action .*: kept", lines))

        def expect(what, got, compiled, kept_results):
            if got[1:] != (compiled, kept_results) or got[0] != plain[0]:
                sys.exit(f"{what}: {got}; expected {compiled} compiled, {kept_results} kept, and {plain[0]!r}")

        plain = run("--no-trace", "--gpu-option", "keep-compiled=0")
        if plain[1:] != (0, 0) or kept.exists():
            sys.exit(f"told to keep nothing: {plain}")
        first = run("--no-trace")
        if first[1] == 0:
            sys.exit("this HIP compiles nothing with a library we know: nothing to keep")
        made = {path.name: path.read_bytes() for path in kept.iterdir()}
        expect("first run", first, len(made), 0)
        expect("second run", run("--no-trace"), 0, len(made))
        expect("recorded", run(), 0, len(made))
        expect("recorded and corrected", run("--correct-device"), 0, len(made))
        expect("watched", run("--no-trace", AMD_COMGR_EMIT_VERBOSE_LOGS="0"), 0, 0)
        # What is damaged is compiled again, and right again afterwards; bitcode names a temporary folder.
        for path in kept.iterdir():
            if b"\x7fELF" in made[path.name]:
                path.write_bytes(made[path.name][:-5])
        damaged = run("--no-trace")
        if damaged[0] != plain[0] or damaged[1] == 0:
            sys.exit(f"damaged: {damaged}")
        if {path.name: path.read_bytes() for path in kept.iterdir()} != made:
            sys.exit("what was damaged was not replaced by what it was")
        # A folder that others may write to is not trusted.
        kept.chmod(0o777)
        expect("a folder open to all", run("--no-trace"), len(made), 0)
        kept.chmod(0o700)
        # Programs that compile kernels themselves get theirs.
        for _ in range(2):
            run("--no-trace", program="hiprtc_compile")


if __name__ == "__main__":
    main()
