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

TRAP = 0xBF920002  # s_trap 2
BARRIER = 0xBF8A0000
NOP = 0xBF800000

# model: target, its number in ELF headers
TARGETS = {"mi210": ("gfx90a", 0x3F), "rx6800xt": ("gfx1030", 0x36)}

# Those whose mutants docs/sanitize.md counts: a tool without programs takes them.
PROGRAMS = ("attention bitonic_sort cholesky convolution cooperative_groups crc32 fft histogram lu_decomposition matmul_f16 matmul_f32 "
            "matrix_inverse memory_fences producer_consumer races radix_sort reduction scan smith_waterman softmax transpose").split()
# Of a program whose kernels are in part wrong on purpose: those that are right.
KERNELS = {"races": "<false>"}

# One instruction of the file changed. `context`: the lines around it. `size`: bytes. `barrier`: the address of the barrier that
# it stands before (or, as an invalidation, behind), `is_release`: whether it stands before a flag or an invalidation.
Mutant = collections.namedtuple("Mutant", "what offset old new context size barrier is_release", defaults=(4, "", False))
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
    lines, chosen = [], []
    is_chosen = True
    for line in text.splitlines():
        if line.startswith("kernel "):
            is_chosen = KERNELS.get(pathlib.Path(program).name, "") in line
        if re.match(r"  [0-9a-f]{6} ", line):
            lines.append(line)
            chosen.append(is_chosen)
    for number, line in enumerate(lines):
        if not chosen[number]:
            continue
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


def proof_of(args, program):
    """What wait_proof_scan says of the program: which functions surely have all their waits, and {(address, counter)} of waits that
    have nothing to wait for."""
    text = subprocess.run([f"{args.bin}/wait_proof_scan", program, TARGETS[args.gpu][0]], capture_output=True, text=True, check=True).stdout
    functions = [line for line in text.splitlines() if ": registers " in line]
    idle = {(line.split()[0], counter) for line in text.splitlines() if " idle " in line for counter in line.split()[2:]}
    return functions, idle


def is_executed(args, program, mutant):
    """Whether the program's run comes to the place: a trap there ends it."""
    with open(program, "r+b") as file:
        file.seek(mutant.offset)
        file.write(TRAP.to_bytes(4, "little"))
    return subprocess.run([f"{args.bin}/wavetap", "run", "--gpu", args.gpu, "--", program], capture_output=True, timeout=300).returncode != 0


def hands_over_memory(args, program):
    """Whether waves of a workgroup hand over global memory to each other by barriers: without any barrier, racecheck finds races there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / pathlib.Path(program).name
        shutil.copy(program, copy)
        with open(copy, "r+b") as file:
            for site in sites_of(args, program, "s_barrier", lambda word: word == BARRIER):
                file.seek(site.offset)
                file.write(NOP.to_bytes(4, "little"))
        return any(finding.get("space") == "global" for finding in sanitize(args, "racecheck", str(copy)))


def sanitize(args, tool, program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        kernels = KERNELS.get(pathlib.Path(program).name, "")
        ran = subprocess.run([f"{args.bin}/wavetap", "sanitize", "--tool", tool, "--gpu", args.gpu, "--json", file.name,
                              *(["-k", kernels] if kernels else []), "--", program], capture_output=True, text=True, timeout=300)
        try:
            document = json.loads(pathlib.Path(file.name).read_text())
        except ValueError:
            raise SystemExit(f"{program}: no report: {ran.stderr}")
        if document["dispatches_checked"] == 0:
            raise SystemExit(f"{program}: nothing was checked: {ran.stderr}")
        return document["findings"]


def read_equivalent(path=pathlib.Path(__file__).with_name("equivalent_mutants.txt")):
    """{(program, model, kind, address)} of mutants that change nothing. The file has several addresses in a line, with commas; * is all."""
    lines = [line.split(maxsplit=4) for line in path.read_text().splitlines() if line and not line.startswith("#")]
    if wrong := [line for line in lines if len(line) != 5]:
        raise SystemExit(f"{path}: {' '.join(wrong[0])}: PROGRAM MODEL KIND ADDRESS REASON")
    return {(*line[:3], address) for line in lines for address in line[3].split(",")}


def judge(args, kind, tools, copy, mutant, equivalent, original):
    if sanitize(args, tools, str(copy)):
        return "reported"
    address = mutant.what.split()[0]
    if {(copy.name, args.gpu, kind, place) for place in (address, "*")} & equivalent:
        return "equivalent"
    # There is nothing to wait for, or another wait is on every way to where this one was needed. On gfx9 barriers need none: the waves of a
    # workgroup are on one compute unit, which keeps the order of what they do.
    if kind == "wait":
        functions, idle, _ = original
        if (address, mutant.what.split()[1].partition("(")[0]) in idle:
            return "proved"
        if not mutant.is_release and proof_of(args, str(copy))[0] == functions:
            return "proved"
        if (copy.name, args.gpu, "barrier", mutant.barrier) in equivalent:
            return "equivalent"
    # The caches that it empties have nothing to do with LDS.
    if kind == "invalidate" and mutant.barrier and not original[2]:
        return "proved"
    if not is_executed(args, str(copy), mutant):
        return "not executed"
    return "silent"


def check_program(args, kind, tools, mutants_of, program, counts):
    name = pathlib.Path(program).name
    equivalent = read_equivalent()
    if sanitize(args, tools, program):
        print(f"{name}: the original has findings")
        counts["false"] += 1
        return
    mutants = list(mutants_of(args, program))
    original = (*proof_of(args, program), kind == "invalidate" and hands_over_memory(args, program))
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
            verdict = judge(args, kind, tools, copy, mutant, equivalent, original)
            counts[verdict] += 1
            if verdict == "silent" or args.verbose:
                print(f"{name}: {verdict}: {mutant.what}\n" + "\n".join("    " + line for line in mutant.context), flush=True)


def main(kind, tools, mutants_of, add_arguments=lambda parser: None):
    """Exit status 1 when an original has a finding, or when fewer than --least percent of the mutants that can matter are reported.
    Those that cannot: `proved` (see judge() and wait_proof_scan), `not executed`, `equivalent` (equivalent_mutants.txt says why)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True, choices=sorted(TARGETS))
    parser.add_argument("--most", type=int, default=0, help="mutants of one program")
    parser.add_argument("--least", type=int, default=0, help="percent of the mutants that must be reported")
    parser.add_argument("--verbose", action="store_true", help="list all mutants, not only the silent ones")
    add_arguments(parser)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    args = parser.parse_args()
    counts = {"reported": 0, "equivalent": 0, "proved": 0, "not executed": 0, "silent": 0, "false": 0}
    for program in args.programs:
        check_program(args, kind, tools, mutants_of, program if "/" in program else f"{args.bin}/hip/{program}", counts)
    print(counts)
    judged = counts["reported"] + counts["silent"]
    sys.exit(1 if counts["false"] or judged == 0 or counts["reported"] * 100 < args.least * judged else 0)
