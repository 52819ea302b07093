#!/usr/bin/env python3
"""Runs the random kernels of a code object by `wavetap gpu exec`, without ROCm, and compares with the host.

    exec.py --wavetap build/bin/wavetap --program build/bin/hip/random_0 --kernels 30 \\
        --code-object build/co/random_gfx942.hsaco

The program holds the same kernels as host functions; `--expect` makes it write what they are given and leave.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile


def run_kernel(arguments, folder, seed, blocks, block):
    """The names of the buffers that differ from the host's, or the reason there are none."""
    path = folder / seed
    buffers = ["states", "slots", "counters"]
    command = [arguments.wavetap, "gpu", "exec", arguments.code_object, f"k{seed}::kernel", "--grid", blocks, "--block", block,
               "--arg", f"buf:{path.with_suffix('.in').stat().st_size}:file={path}.in"]
    for number, name in enumerate(buffers, start=1):
        command += ["--arg", f"buf:{path.with_suffix('.' + name).stat().st_size}:zero", "--save-arg", f"{number}={path}.{name}.got"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        return f"exit status {done.returncode}: {done.stdout.strip()}"
    return ", ".join(name for name in buffers
                     if pathlib.Path(f"{path}.{name}").read_bytes() != pathlib.Path(f"{path}.{name}.got").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wavetap", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--code-object", required=True)
    parser.add_argument("--sram-ecc", action="store_true", help="the target clears the other half of a register on 16-bit loads")
    parser.add_argument("--kernels", type=int, required=True, help="how many of the program's kernels the code object has")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        command = [arguments.program, "--expect", name] + (["sramecc"] if arguments.sram_ecc else [])
        expected = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        kernels = [line.split() for line in expected.splitlines()][:arguments.kernels]
        for seed, blocks, block in kernels:
            wrong = run_kernel(arguments, pathlib.Path(name), seed, blocks, block)
            if wrong:
                failed += 1
                print(f"FAIL kernel with seed {seed} ({blocks} blocks of {block}): {wrong}")
    print(f"{'PASS' if kernels and not failed else 'FAIL'}: {len(kernels)} kernels, {failed} failed")
    return 0 if kernels and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
