#!/usr/bin/env python3
"""Writes the seeds of the fuzzers that read machine code: real code, in the shape each fuzzer takes.

  make_seeds.py        rewrites seed-* in the folders beside this file; needs clang-19 and llvm-objcopy-19

Every other file of these folders is an input that once broke something; they are kept as they were found.
"""
import pathlib
import struct
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent / "hsa" / "kernels.cl"
# The order of kTargets in decode_fuzz.cc and engine_fuzz.cc.
TARGETS = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
DESCRIPTOR_BYTES = 64
# The order of kShapes in block_fuzz.cc, which has both wave sizes of the last two.
SHAPES = {"gfx906": 0, "gfx908": 1, "gfx90a": 2, "gfx942": 3, "gfx1030": 4, "gfx1100": 6}
BLOCK_UNITS = 48


def compile_for(target, folder):
    path = pathlib.Path(folder) / target
    subprocess.run(["clang-19", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "cl", "-cl-std=CL2.0", "-nogpulib",
                    "-O2", "-mcode-object-version=4", SOURCE, "-o", path], check=True)
    return path


def section(path, name):
    out = path.with_suffix(name)
    subprocess.run(["llvm-objcopy-19", "-O", "binary", f"--only-section={name}", path, out], check=True)
    return out.read_bytes()


def write(fuzzer, target, data):
    (HERE / fuzzer).mkdir(exist_ok=True)
    (HERE / fuzzer / f"seed-{target}").write_bytes(data)


def block_input(target, code):
    """Code as it is, eight bytes a unit; all lanes on, v2 and s[8:9] good for addresses."""
    header = struct.pack("<BBBBBBH", SHAPES[target], 16 | 8, 0, 0, 2 | 2 << 2, 99, 2)
    units = [code[at:at + 8].ljust(8, b"\0") for at in range(0, len(code), 8)][:BLOCK_UNITS]
    return header + b"".join(struct.pack("<HBB", 0, 0, 15) + unit for unit in units)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for index, target in enumerate(TARGETS):
            path = compile_for(target, folder)
            code = section(path, ".text")
            wave64 = target.startswith("gfx9")
            write("isa_decode_fuzz", target, bytes([index << 1 | wave64]) + code)
            # A descriptor holds rsrc1, rsrc2, properties and the preload word at bytes 48 to 60.
            descriptor = section(path, ".rodata")[:DESCRIPTOR_BYTES]
            sizes = struct.pack("<I", 0x0400003f | 0x3f00)
            write("jit_block_fuzz", target, block_input(target, code))
            write("emu_engine_fuzz", target, bytes([index, 2]) + descriptor[48:60] + sizes + code)
        write("codeobj_code_object_fuzz", "gfx90a", b"\0\0" + (pathlib.Path(folder) / "gfx90a").read_bytes())


if __name__ == "__main__":
    main()
