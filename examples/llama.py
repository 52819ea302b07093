#!/usr/bin/env python3
"""A language model on a GPU that is not there: llama.cpp's HIP back end on a virtual GPU, against the CPU.

    examples/llama.py --root ROOT              # llama.cpp from a Debian root; tests/roots/make_root.sh sid ROOT \\
                                               #     llama.cpp-examples libggml0-backend-hip       makes one
    examples/llama.py --llama llama-simple     # one that is installed
    examples/llama.py --model-only tiny.gguf   # only the model

The model is made here: the architecture of Llama, two layers, its weights random numbers with a fixed seed, its words those
below. It says nothing sensible, but always the same. It runs greedily twice: on the CPU, and with every layer on the GPU,
recorded. The texts must be equal, token by token; then comes the report of the kernels that ran.

Exit status: 0 the same text, 1 not, 77 no llama.cpp with a HIP back end here.
"""
import argparse
import array
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

EMBEDDING, HEADS, LAYERS, FEED_FORWARD, CONTEXT = 128, 2, 2, 352, 256
WORDS = """a about above after again air all along also and another any are around as at away back be because been before began
below between big both boy but by call came can car change children city close come could country cut day did different do does
down each earth eat end even every example eye face far father feet few find first follow food for form found four from
get give go good great grow had hand hard has have he head hear help her here high him his home house how idea if important in
into is it just keep kind know land large last later learn leave left let letter life light like line list little live
long look made make man many may me mean men might mile more most mother mountain move much must my name near need never new
next night no not now number of off often old on once one only open or other our out over own page paper part people""".split()


# --- The model, as a GGUF file (version 3).

U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    """One key with its value; a list is an array of `kind`."""
    packed = {U32: lambda v: struct.pack("<I", v), I32: lambda v: struct.pack("<i", v),
              F32: lambda v: struct.pack("<f", v), STRING: text}[kind]
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(packed(v) for v in value)
    return text(key) + struct.pack("<I", kind) + packed(value)


def vocabulary():
    """Pieces, scores and types: specials, every byte, then words. The mark for a space is part of a word."""
    unknown, control, normal, byte = 2, 3, 1, 6
    tokens = [("<unk>", 0.0, unknown), ("<s>", 0.0, control), ("</s>", 0.0, control)]
    tokens += [(f"<0x{i:02X}>", 0.0, byte) for i in range(256)]
    tokens += [("\u2581" + word, -float(i), normal) for i, word in enumerate(WORDS)]
    return tokens


def write_model(path, seed=20):
    tokens = vocabulary()
    metadata = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "random weights"),
        entry("llama.context_length", U32, CONTEXT),
        entry("llama.embedding_length", U32, EMBEDDING),
        entry("llama.block_count", U32, LAYERS),
        entry("llama.feed_forward_length", U32, FEED_FORWARD),
        entry("llama.rope.dimension_count", U32, EMBEDDING // HEADS),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.head_count_kv", U32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.tokens", STRING, [t[0] for t in tokens]),
        entry("tokenizer.ggml.scores", F32, [t[1] for t in tokens]),
        entry("tokenizer.ggml.token_type", I32, [t[2] for t in tokens]),
        entry("tokenizer.ggml.bos_token_id", U32, 1),
        entry("tokenizer.ggml.eos_token_id", U32, 2),
        entry("tokenizer.ggml.unknown_token_id", U32, 0),
    ]
    shapes = [("token_embd.weight", EMBEDDING, len(tokens)), ("output_norm.weight", EMBEDDING),
              ("output.weight", EMBEDDING, len(tokens))]
    for layer in range(LAYERS):
        of_layer = [("attn_norm.weight", EMBEDDING), ("ffn_norm.weight", EMBEDDING)]
        of_layer += [(f"attn_{name}.weight", EMBEDDING, EMBEDDING) for name in ("q", "k", "v", "output")]
        of_layer += [("ffn_gate.weight", EMBEDDING, FEED_FORWARD), ("ffn_up.weight", EMBEDDING, FEED_FORWARD),
                     ("ffn_down.weight", FEED_FORWARD, EMBEDDING)]
        shapes += [(f"blk.{layer}.{name}", *shape) for name, *shape in of_layer]

    generator = random.Random(seed)
    infos, data = [], []
    offset = 0
    for name, *shape in shapes:
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        if len(shape) == 1:
            values = array.array("f", [1.0] * count)
        else:
            scale = (3.0 / shape[0]) ** 0.5 * (6.0 if name == "output.weight" else 1.0)
            values = array.array("f", [generator.uniform(-scale, scale) for _ in range(count)])
        if name == "output.weight":  # only words are ever said
            values[:(3 + 256) * EMBEDDING] = array.array("f", [0.0] * ((3 + 256) * EMBEDDING))
        if sys.byteorder == "big":
            values.byteswap()
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset))
        data.append(values.tobytes())  # every size is a multiple of 32, the alignment
        offset += len(data[-1])
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(metadata)) + b"".join(metadata) + b"".join(infos)
    path.write_bytes(head + bytes(-len(head) % 32) + b"".join(data))


# --- Running it.


class Place:
    """Where llama.cpp is: on this machine, or in a root of which it sees the folder of this run as well."""

    def __init__(self, root, folder):
        self.root = pathlib.Path(root).resolve() if root else None
        self.folder = folder

    def has(self, program):
        if self.root is None:
            return shutil.which(program) is not None
        return any((self.root / folder / program).exists() for folder in ("usr/bin", "bin"))

    def run(self, command, before=()):
        """Runs `command` in the root, with `before` (wavetap run …) outside of it; gives what it printed."""
        if self.root is not None:
            inside = ["chroot", str(self.root), *command]
            shared = [*(("/" + name, "--rbind") for name in ("proc", "sys", "dev")),
                      *((str(path), "--bind") for path in (self.folder, *self.of_wavetap(before)))]
            script = "".join(f'mkdir -p "{self.root}{path}"; mount {kind} "{path}" "{self.root}{path}"; '
                             for path, kind in shared)
            command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script + 'exec "$@"', "sh",
                       *before, *inside]
        else:
            command = [*before, *command]
        # What wavetap keeps while the program runs has to be seen in the root as well.
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=dict(os.environ, TMPDIR=self.folder))

    @staticmethod
    def of_wavetap(before):
        """The folder with bin and lib of the wavetap that is used: its libraries go into the program."""
        return [str(pathlib.Path(before[0]).resolve().parent.parent)] if before else []


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", help="a root folder that has llama.cpp; needs root's rights")
    parser.add_argument("--llama", default="llama-simple", help="the program (default: %(default)s)")
    parser.add_argument("--wavetap", default=shutil.which("wavetap") or "build/bin/wavetap")
    parser.add_argument("--gpu", default="rx6800xt", help="the virtual GPU (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=32, help="how many to make (default: %(default)s)")
    parser.add_argument("--prompt", default="every good number", help="(default: %(default)s)")
    parser.add_argument("--trace", help="keep the recording in this file")
    parser.add_argument("--model-only", metavar="FILE", help="write the model and end")
    args = parser.parse_args()
    if args.model_only:
        write_model(pathlib.Path(args.model_only))
        return 0
    if args.root and os.geteuid() != 0:
        skip("--root needs root's rights for chroot")
    if not shutil.which(args.wavetap):
        skip(f"{args.wavetap}: not found; build it with make, or give --wavetap")
    with tempfile.TemporaryDirectory(prefix="wavetap-llama-") as scratch:
        return compare(args, Place(args.root, scratch), pathlib.Path(scratch))


def said(done):
    """The words, the prompt's included; each has its own token."""
    return " ".join(done.stdout.decode(errors="replace").replace("<s>", " ").replace("\u2581", " ").split())


def compare(args, place, folder):
    if not place.has(args.llama):
        skip(f"no {args.llama} here; see --help for a root that has it")
    model = folder / "tiny.gguf"
    write_model(model)
    trace = folder / "llama.rpd"
    command = [args.llama, "-m", str(model), "-n", str(args.tokens)]
    on_cpu = place.run([*command, "-ngl", "0", args.prompt])
    if on_cpu.returncode != 0:
        sys.exit(f"{args.llama} failed on the CPU:\n{on_cpu.stderr.decode(errors='replace')}")
    wavetap = str(pathlib.Path(shutil.which(args.wavetap)).resolve())
    on_gpu = place.run([*command, "-ngl", "99", args.prompt],
                       before=(wavetap, "run", "--no-checks", "--gpu", args.gpu, "-o", str(trace), "--"))
    log = on_gpu.stderr.decode(errors="replace")
    if on_gpu.returncode != 0:
        sys.exit(f"{args.llama} failed on the GPU:\n{log}")
    if "offloaded" not in log or "offloaded 0/" in log:
        skip(f"this {args.llama} puts no layer on a GPU; it needs llama.cpp's HIP back end (Debian: libggml0-backend-hip, amd64)")

    cpu, gpu = (said(done) for done in (on_cpu, on_gpu))
    print(f"CPU: {cpu}\nGPU: {gpu}\n")
    cpu_words, gpu_words = cpu.split(), gpu.split()
    equal = sum(a == b for a, b in zip(cpu_words, gpu_words))
    layers = next(line for line in log.splitlines() if "offloaded" in line).split(": ", 1)[-1]
    print(f"{equal} of {max(len(cpu_words), len(gpu_words))} words equal; {layers}\n")
    sys.stdout.flush()
    subprocess.run([wavetap, "report", str(trace), "--top", "8"], check=False)
    if args.trace:
        shutil.copy(trace, args.trace)
    return 0 if cpu == gpu and cpu_words else 1


if __name__ == "__main__":
    sys.exit(main())
