#!/usr/bin/env python3
"""The memory in front of AMD's compiler library (comgr_cache.cc): what it answers is what was compiled.

  comgr_cache_test.py --bin BUILD/bin --library libamd_comgr.so.2
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = shutil.copy(arguments.library, folder)
        answers = pathlib.Path(folder) / "answers"
        answers.mkdir()

        def run(path, name="memcpy_2d"):
            environment = dict(os.environ, LD_LIBRARY_PATH=path, LD_DEBUG="libs", LD_DEBUG_OUTPUT=f"{folder}/loaded")
            done = subprocess.run([arguments.bin / "wavetap", "run", "--gpu", "rx6800xt", "--no-trace", "--", arguments.bin / "hip" / name],
                                  env=environment, capture_output=True, text=True, timeout=100)
            loaded = "".join(path.read_text() for path in pathlib.Path(folder).glob("loaded*"))
            for path in pathlib.Path(folder).glob("loaded*"):
                path.unlink()
            if done.returncode != 0:
                sys.exit(f"{name} with LD_LIBRARY_PATH={path}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout, f"calling init: {library}" in loaded

        def kept():
            return {path.name: path.read_bytes() for path in answers.iterdir()}

        plain = run("")
        first = run(folder)
        if not first[1] or plain[1]:
            sys.exit("the library is not the one that was loaded")
        made = kept()
        if not made:
            sys.exit("nothing was kept")
        second = run(folder)
        if kept() != made:
            sys.exit("the second run compiled again")
        # What is damaged is compiled again, and right again afterwards. Machine code only: bitcode names a temporary folder.
        for path in answers.iterdir():
            if b"\x7fELF" in path.read_bytes():
                path.write_bytes(path.read_bytes()[:-5])
        if kept() == made:
            sys.exit("no machine code was kept")
        third = run(folder)
        if kept() != made:
            sys.exit("damaged answers were not replaced by what they were")
        if not plain[0] == first[0] == second[0] == third[0]:
            sys.exit(f"not the same:\n{plain}\n{first}\n{second}\n{third}")


if __name__ == "__main__":
    main()
