"""What the mutate_*.py have in common: finding instructions of a program's kernels in its file, changing one of them, running the
result under wavetap sanitize, and counting.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# model: target, its number in ELF headers
TARGETS = {"mi210": ("gfx90a", 0x3F), "rx6800xt": ("gfx1030", 0x36)}

# Those whose mutants docs/sanitize.md counts: a tool without programs takes them.
PROGRAMS = ("attention bitonic_sort cholesky convolution cooperative_groups crc32 fft histogram lu_decomposition matmul_f16 matmul_f32 "
            "matrix_inverse memory_fences producer_consumer radix_sort reduction scan smith_waterman softmax transpose").split()

# One instruction of the file changed. `context`: the lines around it. `is_fence`: it orders memory and no register. `size`: bytes.
Mutant = collections.namedtuple("Mutant", "what offset old new context is_fence size", defaults=(4,))
# One instruction as it is: its line of the disassembly, all lines, its number among them, where it is in the file, its first word.
Site = collections.namedtuple("Site", "address line lines number offset word")


def code_objects(data, mach):
    """File offset by address, as functions, of each code object for this target in the program."""
    at = data.find(b"\x7fELF")
    while at >= 0:
        header = data[at:at + 64]
        machine, flags = struct.unpack_from("<H", header, 18)[0], struct.unpack_from("<I", header, 48)[0]
        if machine == 224 and flags & 0xFF == mach:
            table, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
            loads = [struct.unpack_from("<IIQQQQ", data, at + table + i * size) for i in range(count)]

            def offset_of(address, base=at, segments=tuple(loads)):
                for kind, _, offset, begin, _, length in segments:
                    if kind == 1 and begin <= address < begin + length:
                        return base + offset + address - begin
                return None
            yield offset_of
        at = data.find(b"\x7fELF", at + 1)


def sites_of(args, program, mnemonic, is_word):
    """The instructions of that name. `is_word(word)`: whether the first word in the file is such an instruction's."""
    target, mach = TARGETS[args.gpu]
    data = pathlib.Path(program).read_bytes()
    objects = list(code_objects(data, mach))
    text = subprocess.run([f"{args.bin}/wavetap", "gpu", "disasm", program, "--target", target], capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if re.match(r"  [0-9a-f]{6} ", line)]
    for number, line in enumerate(lines):
        address, name = int(line[2:8], 16), line[10:].split()[0]
        if name != mnemonic:
            continue
        for offset_of in objects:
            offset = offset_of(address)
            word = int.from_bytes(data[offset:offset + 4], "little") if offset else 0
            if is_word(word):
                yield Site(address, line, lines, number, offset, word)
                break
        else:
            raise SystemExit(f"{program}: no {mnemonic} at {address:#x}")


def sanitize(args, tool, program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", tool, "--gpu", args.gpu, "--json", file.name, "--", program],
                             capture_output=True, text=True, timeout=300)
        try:
            return json.loads(pathlib.Path(file.name).read_text())["findings"]
        except (ValueError, KeyError):
            raise SystemExit(f"{program}: no report: {ran.stderr}")


def read_equivalent(path=pathlib.Path(__file__).with_name("equivalent_mutants.txt")):
    """{(program, model, kind, address)} of mutants that change nothing."""
    lines = [line.split(maxsplit=4) for line in path.read_text().splitlines() if line and not line.startswith("#")]
    if wrong := [line for line in lines if len(line) != 5]:
        raise SystemExit(f"{path}: {' '.join(wrong[0])}: PROGRAM MODEL KIND ADDRESS REASON")
    return {tuple(line[:4]) for line in lines}


def check_program(args, kind, tools, mutants_of, program, counts):
    name = pathlib.Path(program).name
    equivalent = read_equivalent()
    if sanitize(args, tools, program):
        print(f"{name}: the original has findings")
        counts["false"] += 1
        return
    mutants = list(mutants_of(args, program))
    if args.most and len(mutants) > args.most:
        mutants = mutants[:: -(-len(mutants) // args.most)]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / name
        for mutant in mutants:
            copy.unlink(missing_ok=True)  # the one before may still be on its way out
            shutil.copy(program, copy)
            with open(copy, "r+b") as file:
                file.seek(mutant.offset)
                assert file.read(4) == (mutant.old & 0xFFFFFFFF).to_bytes(4, "little")
                file.seek(mutant.offset)
                file.write(mutant.new.to_bytes(mutant.size, "little"))
            if sanitize(args, tools, str(copy)):
                verdict = "reported"
            elif (name, args.gpu, kind, mutant.what.split()[0]) in equivalent:
                verdict = "equivalent"
            else:
                verdict = "fence" if mutant.is_fence else "silent"
            counts[verdict] += 1
            if verdict == "silent" or args.verbose:
                print(f"{name}: {verdict}: {mutant.what}\n" + "\n".join("    " + line for line in mutant.context), flush=True)


def main(kind, tools, mutants_of, add_arguments=lambda parser: None):
    """Exit status 1 when an original has a finding, or when fewer than --least percent of the mutants that can matter (no fences, not
    in equivalent_mutants.txt) are reported."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True, choices=sorted(TARGETS))
    parser.add_argument("--most", type=int, default=0, help="mutants of one program")
    parser.add_argument("--least", type=int, default=0, help="percent of the mutants that must be reported")
    parser.add_argument("--verbose", action="store_true", help="list all mutants, not only the silent ones")
    add_arguments(parser)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    args = parser.parse_args()
    counts = {"reported": 0, "equivalent": 0, "fence": 0, "silent": 0, "false": 0}
    for program in args.programs:
        check_program(args, kind, tools, mutants_of, program if "/" in program else f"{args.bin}/hip/{program}", counts)
    print(counts)
    judged = counts["reported"] + counts["silent"]
    sys.exit(1 if counts["false"] or judged == 0 or counts["reported"] * 100 < args.least * judged else 0)
