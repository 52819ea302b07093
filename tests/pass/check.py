#!/usr/bin/env python3
"""The compiler pass: programs compiled by wavetap-hipcc, probed by what they tell, compared with what the virtual GPU sees.

  check.py --build BUILD agree [--all]   counts by source line, results, original code; --all: every compiler, -O0 to -O3,
                                         wave32 and wave64 (make test-pass)
  check.py --build BUILD messages|faults|full_ring|stopped_host|damaged|choices|prepared|record_sizes|large_grid|names|hipcc|latency|promises|hidden|parallel|
                         no_parameters|plain_ir|triton|generic_targets|no_memory|dispatches|versions
  check.py --build BUILD --kernels=CLANG,LEVEL,ARCH[,FLAG…] compile   the kernels with their twins, for all cases: BUILD/pass_kernels/*.co
  check.py --build BUILD --program=NAME compile   a program of tests/hip with its twins, for the case hidden: BUILD/pass_kernels/NAME
  check.py --build BUILD --root ROOT agree   with every compiler of a root made by tests/roots/make_root.sh that has llvm-NN-dev: the
                                         pass is compiled there, and what they compile runs here (make test-stacks, mode pass)
"""
import argparse
import array
import collections
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KERNELS = ["copy", "strided", "reverse", "gather", "tile", "reduce", "histogram", "divergent", "called", "pairs", "tile_rows",
           "both_spaces"]
WAVES = {"rx6800xt": 128, "mi210": 64}  # of the 4096 work-items of a launch
# hipcc has every function inlined; its runtime cannot do with the stack that calls of -O0 ask for.
AS_HIPCC = ["-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false"]
failures = []


def waves_of(gpu, flags):
    return 64 if "-mwavefrontsize64" in flags else WAVES[gpu]


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, expected {wanted}")


def run(command, status=0, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", **more)
    if status is not None and result.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class Lab:
    """A folder with code objects, and wavetap run and probe on them. With options.root it is a folder there, with the sources of
    the pass, and the compilers are those of the root."""

    def __init__(self, options, folder):
        self.build, self.folder = options.build, pathlib.Path(folder)
        self.wavetap = f"{options.build}/bin/wavetap"
        self.launcher = f"{options.build}/bin/pass_launcher"
        self.root, self.sources, self.prefix = options.root, ROOT, options.build
        if self.root:
            self.folder = self.root / "tmp" / "wavetap-pass"
            shutil.rmtree(self.folder, ignore_errors=True)
            self.sources = self.prefix = self.folder
            for name in ("src/pass", "src/format", "src/base", "include", "tests/pass"):
                shutil.copytree(ROOT / name, self.folder / name)
            (self.folder / "bin").mkdir()
            (self.folder / "lib").mkdir()
            shutil.copy(ROOT / "src/pass/wavetap-hipcc", self.folder / "bin")

    def inside(self, word):
        """A path, or what it is in the root."""
        text = str(word)
        return text.replace(f"{self.root}/", "/") if self.root else text

    def compiler(self, command, **variables):
        """Runs a command where the compilers are."""
        env = {**os.environ, **variables, **({"PATH": "/usr/bin:/bin"} if self.root else {})}
        run([*([shutil.which("chroot"), self.root] if self.root else []), *map(self.inside, command)], env=env)

    def make_pass(self, version):
        # One unit: LLVM's headers are most of the work.
        whole = self.folder / "pass.cc"
        whole.write_text("".join(f'#include "{path.relative_to(self.sources / "src")}"\n' for path in (
            *sorted((self.sources / "src/pass").glob("*.cc")), self.sources / "src/format/site_table.cc")))
        self.compiler(["g++", "-std=c++20", "-O1", "-fno-rtti", "-fno-exceptions", "-fPIC", "-shared", '-DWAVETAP_VERSION="root"',
                       "-D_GNU_SOURCE", "-D__STDC_CONSTANT_MACROS", "-D__STDC_FORMAT_MACROS", "-D__STDC_LIMIT_MACROS",
                       f"-I{self.sources}/src", "-isystem", f"/usr/lib/llvm-{version}/include", whole, "-o",
                       self.folder / f"lib/libwavetap_pass-{version}.so"])

    def kept(self, name, clang, sources):
        """What the build has compiled, when nothing that it is made of is newer."""
        path = self.build / "pass_kernels" / name
        parts = [*sources, self.build / "bin/wavetap-hipcc", self.build / f"lib/libwavetap_pass-{clang}.so"]
        return path if path.exists() and all(part.stat().st_mtime <= path.stat().st_mtime for part in parts) else None

    def compile(self, clang, level, arch, more=(), with_pass=True, source=None, twins=""):
        name = f"{clang}{level}-{arch}{''.join(more)}{'' if with_pass else '-plain'}.co"
        sources = [HERE / "kernels.hip", ROOT / "include/wavetap/device.h"]
        if not self.root and source is None and (kept := self.kept(name, clang, sources)):
            return kept
        out = self.folder / name
        compiler = [self.prefix / "bin/wavetap-hipcc"] if with_pass else [f"clang++-{clang}", "-gline-tables-only"]
        command = [*compiler, "-x", "hip", "--cuda-device-only", f"--offload-arch={arch}", "-nogpuinc", "-nogpulib",
                   "-mcode-object-version=4", *AS_HIPCC, level, *more, f"-I{self.sources}/include",
                   source or self.sources / "tests/pass/kernels.hip"]
        wrapped = {"WAVETAP_HIPCC": f"clang++-{clang}", **({"WAVETAP_PASS_KERNELS": twins} if twins else {})}
        if level != "-O0" or clang == "15":
            self.compiler([*command, "--no-gpu-bundle-output", "-o", out], **wrapped)
            return out
        # Without optimisation newer compilers say that a kernel wants queues to launch others on, where ROCm 5.2 crashes.
        text = out.with_suffix(".ll")
        self.compiler([*command, "-S", "-emit-llvm", "-o", text], **wrapped)
        text.write_text(text.read_text().replace(
            '"target-cpu"=', '"amdgpu-no-default-queue" "amdgpu-no-completion-action" "target-cpu"='))
        self.compiler([f"clang++-{clang}", "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-mcode-object-version=4",
                       level, *more, "-x", "ir", text, "-o", out])
        return out

    def hip_program(self, source):
        """A whole program with its twins, by hipcc, which leaves folders where temporary files go."""
        out = self.folder / source.stem
        run([self.build / "bin/wavetap-hipcc", "--offload-arch=gfx1030", "-O2", "-std=c++17", f"-I{ROOT}/tests/hip", source, "-o", out],
            env={**os.environ, "TMPDIR": str(self.folder)})
        return out

    def plain_run(self, gpu, program):
        return run([self.wavetap, "run", "--gpu", gpu, "--no-trace", "--", self.launcher, *program]).stdout

    def can_run(self, gpu, program):
        return run([self.wavetap, "run", "--gpu", gpu, "--no-trace", "--", self.launcher, *program], None).returncode == 0

    def kernels_that_run(self, what, gpu, bare):
        """All of them; with the compilers of a root those that run as that compiler made them, without the pass."""
        if self.can_run(gpu, [bare, *KERNELS]):
            return KERNELS
        kernels = [name for name in KERNELS if self.can_run(gpu, [bare, name])]
        wrong = [name for name in KERNELS if name not in kernels]
        print(f"{what}: wrong without the pass, and left out: {', '.join(wrong)}", flush=True)
        if not self.root or len(wrong) > 2:
            sys.exit(f"{what}: kernels do not run")
        return kernels

    def probe(self, handlers, gpu, program, more=("--pass",), status=0):
        out = self.folder / "probe.json"
        out.unlink(missing_ok=True)
        result = run([self.wavetap, "probe", handlers, "--gpu", gpu, *more, "--json", out, "--", self.launcher, *program],
                     status)
        return result, json.loads(out.read_text()) if out.exists() else None


def counts_by_line(results):
    """{kernel: {(line, space, access): executions by waves}}, and the sites that they are summed from."""
    by_kernel, sites = {}, {}
    for kernel in results["kernels"]:
        name = re.sub(r"\(.*", "", kernel["kernel"])
        counts = by_kernel.setdefault(name, collections.Counter())
        found = sites.setdefault(name, collections.defaultdict(list))
        for site in kernel["handlers"]["memory"]["sites"]:
            if site["space"] == "scratch":
                continue  # registers that were put aside: the compiler's own business
            key = (site.get("source", "?").split(":")[-1], site["space"], site["access"])
            counts[key] += site["count"]
            found[key].append(site)
    return by_kernel, sites


def only(kernels):
    """objdump's option for some kernels: their twins are ten times as long."""
    return f"--disassemble-symbols={','.join(kernels)}"


class MachineCode:
    """A code object as llvm-objdump and its own headers show it: what the compiler made of the source, without wavetap's reading
    of it."""

    def __init__(self, path, kernels):
        self.path, self.image = path, pathlib.Path(path).read_bytes()
        self.instructions = {}  # address: (function, text)
        self.by_line = collections.defaultdict(collections.Counter)  # (function, line): {load, store, atomic: instructions}
        function = line = None
        for text in run(["llvm-objdump-19", "-l", "--no-leading-addr", only(kernels), path]).stdout.splitlines():
            if match := re.match(r"<(.*)>:$", text):
                function, line = match[1], None
            elif match := re.match(r"; .*:(\d+)$", text):
                line = match[1]
            elif match := re.match(r"\t(\S.*?)\s*// ([0-9A-F]+):", text):
                self.instructions[int(match[2], 16)] = function, match[1]
                if (does := self.access_of(match[1])) is not None:
                    self.by_line[function, line][does] += 1

    @staticmethod
    def access_of(text):
        """What an instruction does to memory that is not scratch."""
        name = text.split()[0]
        if not re.match(r"(s_load|global_|flat_|ds_)", name) or re.search(r"permute|swizzle|nop|bpermute", name):
            return None
        return "load" if re.search("load|read", name) else "store" if re.search("store|write", name) else "atomic"

    def argument_register(self, kernel):
        """The first of the two SGPRs that point to the kernel's arguments when it begins: from its descriptor."""
        symbols = run(["llvm-readelf-19", "-s", "-W", self.path]).stdout
        value = int(re.search(rf"^ *\d+: ([0-9a-f]+) .* {re.escape(kernel)}\.kd$", symbols, re.M)[1], 16)
        table, = struct.unpack_from("<Q", self.image, 40)
        entry, count = struct.unpack_from("<HH", self.image, 58)
        for i in range(count):
            address, offset, size = struct.unpack_from("<QQQ", self.image, table + i * entry + 16)
            if address <= value < address + size and address != 0:
                properties, = struct.unpack_from("<H", self.image, offset + value - address + 56)
                return 4 * (properties & 1) + 2 * (properties >> 1 & 1) + 2 * (properties >> 2 & 1)
        sys.exit(f"{kernel}: no descriptor")

    def argument_loads(self, kernel):
        """Addresses of scalar loads by registers that point to the kernel's arguments: those that did at its begin, or were copied
        from them, and which nothing has overwritten by then."""
        pointers, found = {self.argument_register(kernel)}, set()
        for address, (function, text) in self.instructions.items():
            if function != kernel:
                continue
            match = re.match(r"s_load_dword(?:x\d+)? \S+ s\[(\d+):\d+\],", text)
            if match and int(match[1]) in pointers:
                found.add(address)
            match = re.match(r"s_mov_b64 s\[(\d+):\d+\], s\[(\d+):\d+\]$", text)
            copied = match and int(match[2]) in pointers
            first, last = self.written(text)
            pointers = {pointer for pointer in pointers if last < pointer or pointer + 1 < first}
            if copied:
                pointers.add(int(match[1]))
        return found

    @staticmethod
    def written(text):
        """The first and last SGPR that an instruction writes; more than it does where it is not clear."""
        name, *operands = re.split(r",? +", text)
        if re.match(r"s_(cmp|bitcmp|cbranch|branch|waitcnt|store|barrier|setprio|sleep|nop|endpgm)", name):
            return -1, -1
        registers = []
        # Carries are a second result.
        for operand in operands[:2 if re.search("_co_|div_scale|mad_u64", name) else 1]:
            if match := re.fullmatch(r"s\[?(\d+)(?::(\d+)\])?", operand):
                registers += [int(match[1]), int(match[2] or match[1])]
        return (min(registers), max(registers)) if registers else (-1, -1)


# Instructions for several elements at once.
JOINED = re.compile(r"(read|write|load|store)2(st64)?_b|_dwordx[234]|_b(64|96|128)\b")


def moved(sites):
    """Bytes of lanes, and executions times bytes, of sites."""
    return (sum(site["lanes"] * site["element_bytes"] for site in sites), sum(site["count"] * site["element_bytes"] for site in sites))


def compare(what, code, kernels, waves, told, seen):
    """What the kernels told and what the virtual GPU saw, line by line. They may differ by arguments of the kernel, which are no
    accesses of the program, and only by those; and where the compiler has joined or split accesses, which the report says and the
    machine code shows, as many bytes must be there in all."""
    machine = MachineCode(code, kernels)
    (told_counts, told_sites), (seen_counts, seen_sites) = counts_by_line(told), counts_by_line(seen)
    merged = collections.defaultdict(set)
    for kernel in told["kernels"]:
        name = re.sub(r"\(.*", "", kernel["kernel"])
        for place in kernel.get("merged", []):
            line = place["source"].split(":")[-1]
            merged[name].add(line)
            if place["instructions"] not in [machine.by_line[name, line][does] for does in ("load", "store", "atomic")]:
                failures.append(f"{what}: {name}: line {line}: {place['instructions']} instructions reported, {machine.by_line[name, line]}")
    expect(f"{what}: kernels", sorted(told_counts), sorted(kernels))
    for name in told_counts:
        ours, theirs = told_counts[name], seen_counts.get(name, collections.Counter())
        joined, loads = set(merged[name]), machine.argument_loads(name)
        for key in sorted(set(ours) | set(theirs)):
            arguments = [site for site in seen_sites[name][key] if int(site["address"], 16) in loads and site["count"] <= waves]
            seen_sites[name][key] = [site for site in seen_sites[name][key] if site not in arguments]
            count = theirs[key] - sum(site["count"] for site in arguments)
            if key[0] in joined or ours[key] == count:
                continue
            # A joined instruction may have the line of the block around what it was made of.
            if merged[name] and ours[key] == 0 and all(JOINED.search(site["instruction"]) for site in seen_sites[name][key]):
                joined.add(key[0])
                continue
            expect(f"{what}: {name}: line {key[0]}, {key[1]} {key[2]}", ours[key], count)
        for kind in {key[1:] for key in ours | theirs if key[0] in joined}:
            sums = [moved([site for key, found in sites[name].items() if key[0] in joined and key[1:] == kind for site in found])
                    for sites in (told_sites, seen_sites)]
            expect(f"{what}: {name}: {' '.join(kind)} of lines {', '.join(sorted(joined))}", *sums)
    return sum(len(counts) for counts in told_counts.values()), sum(map(len, merged.values()))


def check_sums(what, lab, gpu, program, waves, told, stdout):
    """Counting on the GPU gives what the records give, block by block and access by access, with no records."""
    out = lab.folder / "sums"
    shutil.rmtree(out, ignore_errors=True)
    result, summed = lab.probe("blocks,instructions", gpu, program, more=("--pass", "-o", out))
    expect(f"{what}: results, counted", result.stdout, stdout)
    expect(f"{what}: records when counting", list(out.glob("*.records")), [])

    def accesses(results, handler):
        """{(kernel, line, "global", what): number} of what the compiler pass calls a load, a store or an atomic."""
        counts = collections.Counter()
        for kernel in results["kernels"]:
            sites = kernel["handlers"][handler]["sites"]
            # One access to several memories is several in the records of a wave; its lanes are told apart.
            parts = collections.Counter(site["site"] for site in sites)
            for site in sites:
                word = site["instruction"].split("_")
                if len(word) < 3:
                    continue
                key = kernel["kernel"], site.get("source", "?").split(":")[-1], word[0]
                counts[(*key, "lanes")] += site["lanes"]
                if parts[site["site"]] == 1:
                    counts[(*key, "executions")] += site["count"]
                else:
                    split.add(key)
        return counts

    split = set()
    counted, recorded = accesses(summed, "instructions"), accesses(told, "memory")
    for key in sorted(set(counted) | set(recorded)):
        if key[:3] not in split or key[3] == "lanes":
            expect(f"{what}: counted: {key}", counted[key], recorded[key])
    for kernel in summed["kernels"]:
        blocks = {block["site"]: block for block in kernel["handlers"]["blocks"]["blocks"]}
        into = collections.Counter()
        for edge in kernel["handlers"]["blocks"]["edges"]:
            into[edge["to"]["site"]] += edge["count"]
        first = min(blocks)
        expect(f"{what}: {kernel['kernel']}: waves", blocks[first]["count"], waves)
        # Waves that part meet again, so that a block is entered at most as often as its edges are taken.
        for site, block in blocks.items():
            if site != first and not 0 < block["count"] <= into[site]:
                failures.append(f"{what}: {kernel['kernel']}: block {site}: {block['count']} of {into[site]}")


def functions_of(path, kernels):
    """{kernel: its machine code} of kernels of a code object; addresses of variables, which differ, have no place in it."""
    text = run(["llvm-objdump-19", "--no-leading-addr", only(kernels), path]).stdout
    code, name = {}, None
    for line in text.splitlines():
        if match := re.match(r"<(.*)>:$", line):
            name = match.group(1)
            code[name] = []
        elif name and line.startswith("\t"):
            code[name].append(re.sub(r"//.*", "", line).strip())
    # Behind its end a kernel is filled up.
    for lines in code.values():
        while lines and re.match(r"(s_code_end|s_nop|v_cndmask_b32_e32 v0, s0, v0|\.\.\.|$)", lines[-1]):
            lines.pop()
    return code


def compile_once(options):
    """Into the build folder, whole or not at all."""
    kept = options.build / "pass_kernels"
    kept.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        lab = Lab(options, folder)
        if options.program:
            made = lab.hip_program(HIDDEN[options.program])
        else:
            clang, level, arch, *more = options.kernels
            made = lab.compile(clang, level, arch, more, source=HERE / "kernels.hip")
        made.rename(kept / made.name)


def agree(options):
    clangs = compilers(options)
    if not clangs:
        sys.exit("agree: no compiler with a pass")
    cases = [(clang, level, arch, more) for clang in clangs for level in ("-O0", "-O1", "-O2", "-O3")
             for arch, more in (("gfx1030", ()), ("gfx1030", ("-mwavefrontsize64",)), ("gfx90a", ()))]
    if options.root:
        cases = [(clang, *case) for clang in clangs for case in (("-O2", "gfx1030", ()), ("-O3", "gfx90a", ()), ("-O0", "gfx1030", ()),
                                                                ("-O1", "gfx1030", ("-mwavefrontsize64",)))]
    elif not options.all:
        cases = [(clangs[0], "-O2", "gfx1030", ()), (clangs[-1], "-O3", "gfx90a", ()), (clangs[0], "-O0", "gfx1030", ())]
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        if options.root:
            for clang in clangs:
                lab.make_pass(clang)
        for clang, level, arch, more in cases:
            what = f"clang {clang} {level} {arch} {' '.join(more)}"
            gpu = "mi210" if arch == "gfx90a" else "rx6800xt"
            bare = lab.compile(clang, level, arch, more, with_pass=False)
            kernels = lab.kernels_that_run(what, gpu, bare)
            code = lab.compile(clang, level, arch, more)
            program = [code, *kernels]
            result, told = lab.probe("memory", gpu, program)
            expect(f"{what}: results", result.stdout, lab.plain_run(gpu, program))
            _, seen = lab.probe("memory", gpu, program, more=())
            lines, merged = compare(what, code, kernels, waves_of(gpu, more), told, seen)
            check_sums(what, lab, gpu, program, waves_of(gpu, more), told, result.stdout)
            plain = functions_of(bare, kernels)
            with_twins = functions_of(code, kernels)
            for name in kernels:
                expect(f"{what}: code of {name}", with_twins[name], plain[name])
            if options.all or options.root:
                print(f"{what}: {lines} lines, {merged} of them merged by the compiler", flush=True)


def messages(options):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        out = lab.folder / "log"
        lab.probe("log", "rx6800xt", [lab.compile("15", "-O2", "gfx1030"), "messages"], more=("--pass", "-o", out))
        events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    told = collections.Counter((event["kind"], event["value"]) for event in events if event["event"] == "message")
    # 64 work-items have a value, two waves.
    expect("messages", told, {(7, value): 2 for value in range(64)})


def faults(options):
    # The runtime reports them in two ways: an address without memory, and one that is none.
    for kernel in ("faulty", "nowhere"):
        fault(options, kernel)


def fault(options, name):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        program = [lab.compile("15", "-O2", "gfx1030"), name]
        result, told = lab.probe("memory", "rx6800xt", program, status=None)
        _, counted = lab.probe("blocks", "rx6800xt", program, status=None)
    expect(f"{name}: the program died", result.returncode != 0, True)
    kernel = told["kernels"][0]
    expect(f"{name}: dispatches", (kernel["dispatches"], kernel["faulted"]), (1, 1))
    expect(f"{name}: accesses", {site["access"] for site in kernel["handlers"]["memory"]["sites"]}, {"load", "store"})
    # What was counted up to there is fetched from the GPU.
    block = counted["kernels"][0]["handlers"]["blocks"]["blocks"][0]
    expect(f"{name}: counted", 0 < block["count"] <= WAVES["rx6800xt"], True)


def full_ring(options):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        code = lab.compile("15", "-O2", "gfx1030")
        result, told = lab.probe("memory", "rx6800xt", [code, "-s", "4", "flood"], more=("--pass", "--ring", "1"))
        expect("full ring: results", result.stdout, lab.plain_run("rx6800xt", [code, "-s", "4", "flood"]))
    sites = told["kernels"][0]["handlers"]["memory"]["sites"]
    kept, lost = sum(site["count"] for site in sites), told["events_not_kept"].get("ring", 0)
    # 401 accesses of each of the 128 waves of four launches; every one is kept or counted.
    expect("full ring: kept and lost", kept + lost, 401 * 128 * 4)
    expect("full ring: dispatches", told["dispatches_probed"], 4)


class CountedRun:
    """A program with probes, whose instructions the virtual GPU counts. With is_stopped nobody takes its records: where they go is
    a pipe, and the thread that empties the ring waits for somebody to open it. Kernels run, and end, without the host; when all
    have, the records are let through."""

    def __init__(self, lab, program, threads, ring, is_stopped):
        self.records = lab.folder / f"{is_stopped}-{ring}"
        self.counters = lab.folder / f"{is_stopped}-{ring}.counters"
        command = [lab.wavetap, "probe", "memory", "--prepare", "--ring", ring, "-o", self.records]
        words = run(command).stdout.splitlines()[0].replace("HSA_TOOLS_LIB=", f"HSA_TOOLS_LIB={lab.build}/lib/").split()
        pipe = 'mkfifo "$FOLDER/$$.records" && exec "$@"' if is_stopped else 'exec "$@"'
        self.process = subprocess.Popen(
            [str(word) for word in [lab.wavetap, "run", "--gpu", "rx6800xt", "--no-trace", "--counters", self.counters, "--", "env",
                                    *words[:-1], f"FOLDER={self.records}", "sh", "-c", pipe, "sh", lab.launcher, *program]],
            cwd=lab.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # A kernel that waited for the host would never come to its line.
        limit = threading.Timer(100, self.give_up)
        limit.start()
        self.stdout = "".join(self.process.stdout.readline() for _ in range(threads))
        if is_stopped:
            self.let_through()
        else:
            self.let_end()
        status = self.process.wait()
        limit.cancel()
        if status != 0:
            sys.exit(f"counted run: ring of {ring} MiB: exit status {status}; its kernels may have waited for the host")
        out = lab.folder / "counted.json"
        run([lab.wavetap, "probe", "memory", "--gpu", "rx6800xt", "--json", out, self.records])
        self.told = json.loads(out.read_text())
        sites = self.told["kernels"][0]["handlers"]["memory"]["sites"]
        self.kept, self.lost = sum(site["count"] for site in sites), self.told["events_not_kept"].get("ring", 0)
        self.instructions = [dispatch["counters"]["instructions"] for dispatch in json.loads(self.counters.read_text())["dispatches"]
                             if dispatch["kernel"].startswith(program[-1])]

    def let_end(self):
        self.process.stdin.write("\n")
        self.process.stdin.close()

    def give_up(self):
        for path in self.records.glob("*.records"):
            os.kill(int(path.stem), signal.SIGKILL)

    def let_through(self):
        path = next(self.records.glob("*.records"))
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # the writer opens and closes it for every batch
        taken = bytearray()
        self.let_end()
        while True:
            has_ended = self.process.poll() is not None
            try:
                while piece := os.read(pipe, 1 << 20):
                    taken += piece
            except BlockingIOError:
                pass
            if has_ended:
                break
            select.select([pipe], [], [], 0.05)
        os.close(pipe)
        path.unlink()
        path.write_bytes(taken)


def stopped_host(options):
    """The host takes nothing out of the ring while kernels run: they end all the same, every record is kept or counted, and what
    the GPU executes is the same as with a host that is fast, as long as there is room, and less when there is none."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        program = [lab.compile("15", "-O2", "gfx1030"), "-s", "2", "-i", "flood"]
        plain = lab.plain_run("rx6800xt", [program[0], "-s", "2", "flood"])
        fast = CountedRun(lab, program, 2, 256, False)
        stopped = CountedRun(lab, program, 2, 256, True)
        full = CountedRun(lab, program, 2, 1, True)
        # 401 accesses of each of the 128 waves of two launches.
        for what, counted in (("fast", fast), ("stopped", stopped), ("full", full)):
            expect(f"{what}: results", counted.stdout, plain)
            expect(f"{what}: kept and lost", counted.kept + counted.lost, 401 * 128 * 2)
            expect(f"{what}: launches", len(counted.instructions), 2)
        expect("lost", (fast.lost, stopped.lost, full.lost > 0), (0, 0, True))
        expect("instructions", stopped.instructions, fast.instructions)
        if sum(full.instructions) >= sum(fast.instructions):
            failures.append(f"full: {full.instructions} instructions, with a fast host {fast.instructions}")


def damaged(options):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        good = lab.compile("15", "-O2", "gfx1030").read_bytes()
        cases = [(b"wavetap-sites 3\n", b"wavetap-sites 9\n", "version 9"), (b"\nk copy ", b"\nk copi ", "checksum"),
                 (b"\nend ", b"\nEND ", "cut off"), (b"wavetap-sites 3\n", b"wavetop-sites 3\n", "does not begin")]
        for old, new, words in cases:
            path = lab.folder / "damaged.co"
            path.write_bytes(good.replace(old, new, 1))
            result, _ = lab.probe("memory", "rx6800xt", [path, "copy"])
            expect(f"damaged: {words}", words in result.stderr and "compile it again" in result.stderr, True)
            expect("damaged: results", result.stdout, lab.plain_run("rx6800xt", [path, "copy"]))
        # Without twins.
        result, _ = lab.probe("memory", "rx6800xt", [lab.compile("15", "-O2", "gfx1030", with_pass=False), "copy"])
        expect("no pass", "not compiled with wavetap-hipcc, and ran unseen: copy" in result.stderr, True)


def choices(options):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        program = [lab.compile("15", "-O2", "gfx1030"), "-s", "8", "copy", "tile"]
        for more, wanted in (((), 16), (("-k", "^tile"), 8), (("--max", "3"), 3), (("--every", "4"), 4)):
            result, told = lab.probe("memory,blocks", "rx6800xt", program, more=("--pass", *more))
            expect(f"choices: {more}", told["dispatches_probed"], wanted)
            expect("choices: results", result.stdout, lab.plain_run("rx6800xt", program))
        refused = run([lab.wavetap, "probe", "values", "--pass", "--", "true"], status=1)
        expect("values", "wavetap: error: values: " in refused.stderr, True)
        result, told = lab.probe("heatmap", "rx6800xt", program)
        expect("heatmap", "heatmap" in told["kernels"][0]["handlers"], True)
        # As on the machine's own GPU, which is a virtual one here.
        out = lab.folder / "real.json"
        result = run([lab.wavetap, "run", "--gpu", "rx6800xt", "--no-trace", "--", lab.wavetap, "probe", "memory", "--real", "--json", out,
                      "--", lab.launcher, *program])
        expect("real: results", result.stdout, lab.plain_run("rx6800xt", program))
        _, told = lab.probe("memory", "rx6800xt", program)
        expect("real: what was told", counts_by_line(json.loads(out.read_text()))[0], counts_by_line(told)[0])
        expect("real: warnings", "inside another wavetap" in result.stderr, False)
        # The code object comes and goes: what was known of it goes with it.
        program = [program[0], "-r", "5", "copy", "no_parameters", "places_of_others"]
        result, told = lab.probe("memory", "rx6800xt", program)
        expect("loaded again: dispatches", told["dispatches_probed"], 15)
        expect("loaded again: results", result.stdout, lab.plain_run("rx6800xt", program))
        for kernel in told["kernels"]:
            expect(f"loaded again: {kernel['kernel']}", (kernel["dispatches"], {site["count"] for site in
                   kernel["handlers"]["memory"]["sites"]}), (5, {128 * 5}))


def by_chance(launches, one_in, seed):
    """The numbers of the launches that a seed chooses: SplitMix64 of the seed and the number."""
    def mixed(launch):
        value = (seed + launch * 0x9e3779b97f4a7c15) % 2**64
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        value = (value ^ value >> 27) * 0x94d049bb133111eb % 2**64
        return value ^ value >> 31
    return [launch for launch in range(1, launches + 1) if mixed(launch) % one_in == 0]


def dispatches(options):
    """-d first and -d random, by kernels that tell and by a virtual GPU that is watched: the same launches, and the same again."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        code = lab.compile("15", "-O2", "gfx1030")
        program = [code, "-r", "20", "copy", "reduce"]  # loaded and launched again and again
        for world in (("--pass",), ()):
            # Copies and fills of HIP's are dispatches as well, when a GPU is watched.
            result, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-k", "^none$"))
            others = told["dispatches_left_out"] - 40 if not world else 0
            expect(f"{world}: HIP's own", others >= 0, True)
            result, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-d", "first"))
            expect(f"first: {world}", sorted(kernel["dispatches"] for kernel in told["kernels"]), [1, 1])
            expect(f"first: {world}: left out", told["dispatches_left_out"], 38 + others)
            _, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-d", "all"))
            expect(f"all: {world}", (told["dispatches_probed"], "chance" in told), (40, False))
            for seed in (1, 2, 2, 18446744073709551615):
                result, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-d", "random=4", "--dispatch-seed", seed))
                wanted = by_chance(40, 4, seed)
                expect(f"random: {world}, {seed}", (told["dispatches_probed"], told["dispatches_left_out"]), (len(wanted), 40 - len(wanted) + others))
                expect(f"random: {world}, {seed}: copies", sum(kernel["dispatches"] for kernel in told["kernels"] if "copy" in kernel["kernel"]),
                       len([launch for launch in wanted if launch % 2 == 1]))
                expect(f"random: {world}, {seed}: chance", told["chance"], {"one_in": 4, "seed": seed})
                for sentence in (f"each launch has a chance of one in 4, by seed {seed}; --dispatch-seed {seed} chooses the same again",
                                 f"left out by a chance of one in 4, seed {seed}"):
                    expect(f"random: {world}, {seed}: {sentence}", sentence in result.stderr, True)
            # Without a seed there is another one each time, which is said and gives the same when it is given.
            seeds = set()
            for _ in range(2):
                result, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-d", "random=3"))
                seeds.add(told["chance"]["seed"])
                expect(f"random: {world}: made up", told["dispatches_probed"], len(by_chance(40, 3, told["chance"]["seed"])))
            expect(f"random: {world}: seeds", len(seeds), 2)
            seed = next(seed for seed in range(1, 1000) if not by_chance(40, 100, seed))
            result, told = lab.probe("memory", "rx6800xt", program, more=(*world, "-d", "random", "--dispatch-seed", seed))
            expect(f"random: {world}: none", f"nothing was seen: none of the {40 + others} dispatches was chosen, by a chance of one in 100 (seed {seed})"
                   in result.stderr, True)


def prepared(options):
    """Without a command in front: HSA_TOOLS_LIB=libwavetap.so ./app tells the same, and the folder is read afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        program = [lab.compile("15", "-O2", "gfx1030"), "strided"]
        _, wanted = lab.probe("memory,blocks", "rx6800xt", program)
        records = lab.folder / "records"
        lines = run([lab.wavetap, "probe", "memory,blocks", "--prepare", "-o", records]).stdout.splitlines()
        words = lines[0].replace("HSA_TOOLS_LIB=", f"HSA_TOOLS_LIB={options.build}/lib/").split()
        expect("how to go on", (words[-1], lines[1]), ("./app", f"wavetap probe memory,blocks {records}"))
        # With everything bound at once: nothing may be needed that no library brings.
        run([lab.wavetap, "run", "--gpu", "rx6800xt", "--no-trace", "--", "env", *words[:-1], lab.launcher, *program],
            cwd=folder, env={**os.environ, "LD_BIND_NOW": "1"})
        out = lab.folder / "prepared.json"
        result = run([lab.wavetap, "probe", "memory,blocks", "--gpu", "rx6800xt", "--json", out, records])
        told = json.loads(out.read_text())
        expect("what was told", counts_by_line(told)[0], counts_by_line(wanted)[0])
        expect("kernels", [kernel["kernel"] for kernel in told["kernels"]], [kernel["kernel"] for kernel in wanted["kernels"]])
        if "0 lost because the ring was full" not in result.stderr or not (records / "index.html").exists():
            failures.append(f"prepared: {result.stderr}")
        # Lines that something else has written are no reason to fail.
        (records / "9.pass").write_text('garbage\n{"type":"launch","dispatch":7,"grid_size":["a",-2,1e99],"workgroup_size":[0,null,3]}\n[]\n'
                                        '{"type":"counts","dispatch":7,"sites":5}\n{"type":"counts","dispatch":7,"sites":[[1],"x",[1,2,3,4,5]]}\n')
        (records / "9.records").write_bytes(b"\x07\x00\x40\x40\x07\x00\x00\x00" * 3)
        again = run([lab.wavetap, "probe", "memory,blocks", "--gpu", "rx6800xt", "--json", out, records])
        expect("damaged lines", counts_by_line(json.loads(out.read_text()))[0], counts_by_line(wanted)[0])
        for words, error in [(["values", records], "was prepared for other handlers"),
                             (["memory", folder], "was not made by wavetap probe HANDLER --prepare"),
                             (["memory", "--prepare"], "no folder for the records; add -o DIR"),
                             (["memory", "--prepare", "-o", lab.folder / "x", "--", "true"], "--prepare runs nothing")]:
            refused = run([lab.wavetap, "probe", *words], 1)
            if error not in refused.stderr:
                failures.append(f"{error}: {refused.stderr}")


def words_of(folder):
    """The words of the records that a probe left in a folder."""
    found = array.array("Q")
    for path in folder.glob("*.records"):
        found.frombytes(path.read_bytes())
    return found


def records_of(folder):
    """[(kind, bytes, number of the workgroup)], by format/probe_ring.h."""
    words, records, at = words_of(folder), [], 0
    while at < len(words):
        size = words[at] >> 20 & 0xff
        records.append((words[at] >> 28 & 0xf, size * 8, words[at + 1] & 0xffffffff))
        at += size
    return records


def record_sizes(options):
    """A row of a wave is a record of 32 bytes, rows at one distance from each other 40, in waves of 32 lanes and of 64; rows that
    lie anywhere are 8 bytes each. Addresses are those that the virtual GPU sees."""
    def addresses(events):
        """[(access, workgroup, wave, lanes, addresses from the lowest of the access on)], sorted."""
        found = []
        for event in events:
            if event["event"] != "memory" or "scalar" in event:
                continue
            lanes = [lane for lane in range(64) if int(event["lanes"], 16) >> lane & 1]
            at = ([int(address, 16) for address in event["address"]] if "address" in event
                  else [int(event["base"], 16) + event["stride"] * (lane - lanes[0]) for lane in lanes])
            found.append((event["access"], event["workgroup"], event["wave"], event["lanes"], at))
        lowest = {access: min(min(one[4]) for one in found if one[0] == access) for access in {one[0] for one in found}}
        return sorted((*one[:4], [at - lowest[one[0]] for at in one[4]]) for one in found)

    def is_memory(kind):
        return kind in (4, 5, 12, 13)

    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        for arch, gpu, anywhere in (("gfx1030", "rx6800xt", {32, 40}), ("gfx90a", "mi210", {32, 40, 56})):
            code = lab.compile("15", "-O2", arch)
            for kernel, sizes in (("copy", {32}), ("tile_rows", {40}), ("tiles_8x8", {40}), ("rows_anywhere", anywhere)):
                logs = {}
                for name, more in (("told", ("--pass",)), ("seen", ())):
                    out = lab.folder / f"{arch}{kernel}{name}"
                    lab.probe("log", gpu, [code, kernel], more=(*more, "-o", out))
                    logs[name] = addresses(json.loads(line) for line in (out / "log.jsonl").read_text().splitlines())
                told = {size for kind, size, _ in records_of(lab.folder / f"{arch}{kernel}told") if is_memory(kind)}
                expect(f"{arch} {kernel}: bytes of a record", told, sizes)
                expect(f"{arch} {kernel}: accesses", len(logs["told"]), len(logs["seen"]))
                differ = [(told, seen) for told, seen in zip(logs["told"], logs["seen"]) if told != seen]
                expect(f"{arch} {kernel}: accesses that differ", differ[:1], [])


def large_grid(options):
    """More workgroups than 16 bits can number: each is told as itself."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        out = lab.folder / "large"
        program = [lab.compile("15", "-O2", "gfx1030"), "-w", "tile_rows"]
        result, told = lab.probe("memory", "rx6800xt", program, more=("--pass", "-o", out))
        expect("large grid: results", result.stdout, lab.plain_run("rx6800xt", program))
        expect("large grid: lost", told["events_not_kept"], {})
        expect("large grid: workgroups", collections.Counter(group for _, _, group in records_of(out)),
               {group: 2 for group in range(66000)})


def names(options):
    """A source whose path would break text that is not escaped, and code without lines."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        odd = lab.folder / 'a "quoted" \\folder, </script>\t of ünits'
        odd.mkdir(parents=True)
        source = odd / "kernels.hip"
        shutil.copy(HERE / "kernels.hip", source)
        out = lab.folder / "odd"
        program = [lab.compile("15", "-O2", "gfx1030", source=source, twins="strided"), "strided"]
        _, told = lab.probe("memory,blocks", "rx6800xt", program, more=("--pass", "-o", out))
        wanted, _ = counts_by_line(told)
        places = {site["source"].rsplit(":", 1)[0] for site in told["kernels"][0]["handlers"]["memory"]["sites"]}
        expect("names: source", places, {str(source)})
        page = (out / "index.html").read_text()
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
        expect("names: page", str(source) in data["sources"], True)
        expect("names: JSON", json.loads((out / "probe.json").read_text())["kernels"], told["kernels"])
        program = [lab.compile("15", "-O2", "gfx1030", more=("-g0",)), "strided"]
        for what, more in (("told", ("--pass",)), ("seen", ())):
            _, bare = lab.probe("memory", "rx6800xt", program, more=more)
            sites = [site for site in bare["kernels"][0]["handlers"]["memory"]["sites"] if not site["scalar"]]
            expect(f"names: without lines, {what}", sorted((site["access"], site["count"], site.get("source")) for site in sites),
                   [("load", 128, None), ("store", 128, None)])
        expect("names: with lines", sorted(wanted["strided"].values()), [128, 128])


def latency(options):
    """Times of blocks: every block that was entered has some, in text, JSON and on the page, and whose clock it was."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        for clang, arch, gpu in (("15", "gfx1030", "rx6800xt"), ("15", "gfx90a", "mi210")):
            program = [lab.compile(clang, "-O2", arch), "divergent"]
            out = lab.folder / f"latency-{gpu}"
            result, told = lab.probe("latency,blocks", gpu, program, more=("--pass", "-o", out))
            expect("latency: results", result.stdout, lab.plain_run(gpu, program))
            handlers = told["kernels"][0]["handlers"]
            expect("latency: clock", handlers["latency"]["clock"], {"name": "s_memtime", "bits": 64, "emulated": True})
            times = {block["site"]: block for block in handlers["latency"]["blocks"]}
            counts = {block["site"]: block["count"] for block in handlers["blocks"]["blocks"]}
            expect("latency: blocks", {site: block["count"] for site, block in times.items()}, counts)
            for site, block in times.items():
                if not 0 < block["longest"] <= block["ticks"] <= block["longest"] * block["count"]:
                    failures.append(f"latency: block {site}: {block}")
            expect("latency: text", "the clock is emulated" in result.stderr and "TICKS EACH" in result.stderr, True)
            expect("latency: page", '"ticks":' in (out / "index.html").read_text(), True)
        # Where the clock has 20 bits: what the compiler makes of it.
        code = functions_of(lab.compile("15", "-O2", "gfx1100"), ["copy.wavetap"])["copy.wavetap"]
        expect("latency: gfx11", any("s_getreg_b32" in line and "SHADER_CYCLES" in line for line in code), True)


def promises(options):
    """A kernel that uses neither y nor z: newer compilers promise the machine so before the twin is made, which does use them.
    Were the promise kept, all workgroups of a slice would look like one."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        for clang in compilers(options):
            for level in ("-O1", "-O2"):
                out = lab.folder / f"log-{clang}{level}"
                program = [lab.compile(clang, level, "gfx1030"), "-3", "copy"]
                result, _ = lab.probe("log", "rx6800xt", program, more=("--pass", "-o", out))
                expect(f"promises: {clang} {level}: results", result.stdout, lab.plain_run("rx6800xt", program))
                stores = collections.Counter()
                for line in (out / "log.jsonl").read_text().splitlines():
                    event = json.loads(line)
                    if event["event"] == "memory" and event["access"] == "store" and event["space"] == "global":
                        stores[(*event["workgroup"], event["wave"])] += 1
                expect(f"promises: {clang} {level}: waves", dict(stores),
                       {(x, y, z, wave): 1 for x in range(16) for y in range(2) for z in range(3) for wave in range(8)})


HIDDEN = {**{name: ROOT / f"tests/hip/kernels/{name}.hip" for name in ("dynamic_lds", "cooperative_groups")}, "printf": HERE / "printf.hip"}


def hidden(options):
    """Programs whose kernels have arguments that the compiler adds (printf, dynamic LDS, a barrier of the whole grid): what they
    print is the same when their twins run. printf with --all only: LLVM 15 takes half a minute for its instrumented code."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        headers = list((ROOT / "tests/hip").glob("*.h"))
        programs = {}
        for name, source in HIDDEN.items():
            if name != "printf" or options.all:
                programs[name] = lab.kept(name, "15", [source, *headers]) or lab.hip_program(source)
        for name, program in programs.items():
            out = lab.folder / "hidden.json"
            bare = run([lab.wavetap, "run", "--gpu", "rx6800xt", "--no-trace", "--", program])
            told = run([lab.wavetap, "probe", "blocks", "--pass", "--gpu", "rx6800xt", "--json", out, "--", program])
            expect(f"hidden: {name}: results", sorted(told.stdout.splitlines()), sorted(bare.stdout.splitlines()))
            results = json.loads(out.read_text())
            expect(f"hidden: {name}: probed, left out", (results["dispatches_probed"] > 0, results["dispatches_left_out"]),
                   (True, 0))
            expect(f"hidden: {name}: refused", "does not fit" in told.stderr, False)


def parallel(options):
    """Eight threads with streams and graphs, on one GPU and on three: every launch is told, and nothing is computed wrong."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        code = lab.compile("15", "-O2", "gfx1030")
        kernels = ["copy", "tile", "reduce", "divergent"]
        for gpus, count in (("rx6800xt", 1), ("rx6800xt,rx6800xt,rx6800xt", 3)):
            for handlers in ("memory", "blocks"):
                program = [code, "-s", "8", "-d", count, "-g", *kernels]
                result, told = lab.probe(handlers, gpus, program)
                _, seen = lab.probe(handlers, gpus, program, more=())
                what = f"parallel: {handlers} on {count}"
                expect(f"{what}: results", result.stdout, lab.plain_run(gpus, program))
                # As many as the machine saw.
                expect(f"{what}: dispatches", told["dispatches_probed"], seen["dispatches_probed"])
                copied, watched = (next(kernel for kernel in results["kernels"] if kernel["kernel"].startswith("copy"))
                                   for results in (told, seen))
                expect(f"{what}: launches", copied["dispatches"], watched["dispatches"])
                sites = copied["handlers"][handlers]["sites" if handlers == "memory" else "blocks"]
                counts = [site["count"] for site in sites if site.get("access", "load") == "load"]
                expect(f"{what}: waves", counts[0], 128 * copied["dispatches"])
                expect(f"{what}: lost", told["events_not_kept"], {})


def no_parameters(options):
    """A kernel without parameters has no block of arguments that could be made larger: its twin needs one of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        clangs = compilers(options)
        for clang, arch, gpu in ((clangs[0], "gfx1030", "rx6800xt"), (clangs[-1], "gfx90a", "mi210")):
            what = f"no parameters: clang {clang} {gpu}"
            program = [lab.compile(clang, "-O2", arch), "no_parameters", "places_of_others"]
            plain = lab.plain_run(gpu, program)
            # What the first one left is what the second one copies.
            expect(f"{what}: computes", len({line.split()[1] for line in plain.splitlines()}), 2)
            for name, more in (("told", ("--pass",)), ("seen", ())):
                result, told = lab.probe("memory,blocks", gpu, program, more=more)
                expect(f"{what}: {name}: results", result.stdout, plain)
                counts = counts_by_line(told)[0]["no_parameters"]
                stores = [count for (_, space, access), count in counts.items() if (space, access) == ("global", "store")]
                expect(f"{what}: {name}: stores", stores, [WAVES[gpu]])
                kernel = next(kernel for kernel in told["kernels"] if kernel["kernel"].startswith("no_parameters"))
                expect(f"{what}: {name}: waves", kernel["handlers"]["blocks"]["blocks"][0]["count"], WAVES[gpu])


def plain_ir(options):
    """A kernel that no HIP compiler made, as other languages hand theirs to LLVM: the pass goes into opt's pipeline without a
    target machine, and the code generator comes afterwards, from another program."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        text = lab.folder / "kernel.ll"
        for clang in compilers(options):
            opt, llc = f"/usr/lib/llvm-{clang}/bin/opt", f"/usr/lib/llvm-{clang}/bin/llc"
            plugin = f"{options.build}/lib/libwavetap_pass-{clang}.so"
            if not pathlib.Path(opt).exists():
                continue
            empty = run([f"clang-{clang}", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "c", "-S", "-emit-llvm",
                         "/dev/null", "-o", "-"]).stdout
            layout = next(line for line in empty.splitlines() if line.startswith("target datalayout"))
            text.write_text(f"{layout}\n{(HERE / 'kernel.ll').read_text()}")
            objects = {}
            for name, loaded in (("bare", []), ("told", [f"-load-pass-plugin={plugin}"])):
                out = lab.folder / name
                run([opt, *loaded, "-S", "-passes=default<O3>", text, "-o", f"{out}.ll"])
                run([llc, "-O3", "-mcpu=gfx1030", "-filetype=obj", f"{out}.ll", "-o", f"{out}.o"])
                run([f"/usr/lib/llvm-{clang}/bin/ld.lld", "-shared", f"{out}.o", "-o", f"{out}.co"])
                objects[name] = [f"{out}.co", "doubled"]
            what = f"plain IR: LLVM {clang}"
            # Triton looks for the one kernel of a module by this text.
            found = re.findall(r"define amdgpu_kernel void @([a-zA-Z_][a-zA-Z0-9_]*)", (lab.folder / "told.ll").read_text())
            expect(f"{what}: kernels", found, ["doubled"])
            expect(f"{what}: code", functions_of(objects["told"][0], ["doubled"])["doubled"], functions_of(objects["bare"][0], ["doubled"])["doubled"])
            result, told = lab.probe("memory", "rx6800xt", objects["told"])
            expect(f"{what}: results", result.stdout, lab.plain_run("rx6800xt", objects["bare"]))
            counts = {(site["access"], site["count"]) for site in told["kernels"][0]["handlers"]["memory"]["sites"]}
            expect(f"{what}: accesses", counts, {("load", 128), ("store", 128)})
            expect(f"{what}: lines", {site.get("source", "").split("/")[-1]
                                      for site in told["kernels"][0]["handlers"]["memory"]["sites"]}, {"kernel.py:7", "kernel.py:8"})


# gfx, the number and the wave size that device libraries know, flags of a buffer descriptor as Triton makes it.
TRITON_TARGETS = {"rx6800xt": ("gfx1030", 10300, 0, 0x31027000), "mi210": ("gfx90a", 9010, 1, 0x27000)}
TRITON_SITES = {("kernel.py:7", "global", "load", 3072), ("kernel.py:8", "lds", "store", 4096), ("kernel.py:10", "lds", "load", 4096),
                ("kernel.py:11", "global", "store", 3072), ("kernel.py:12", "global", "atomic", 1024)}


def compile_as_triton(lab, gpu, name, plugin=None, lines=True, constants=True, **variables):
    """A code object by the path that Triton's kernels take: pass_as_triton, the assembler, the linker. What the compiler printed."""
    target, isa, wave64, flags = TRITON_TARGETS[gpu]
    text = (HERE / "triton.ll").read_text().replace("@ISA@", str(isa)).replace("@WAVE64@", str(wave64)).replace("@FLAGS@", str(flags))
    if not constants:
        text = re.sub(r"@__oclc.*\n", "", text)
    module, out = lab.folder / "triton.ll", lab.folder / name
    module.write_text(text)
    env = {**os.environ, **variables, **({"LLVM_PASS_PLUGIN_PATH": plugin} if plugin else {})}
    said = run([f"{lab.build}/bin/pass_as_triton", module, target, out, *([] if lines else ["--no-lines"])], env=env).stderr
    run(["clang-19", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "assembler", "-c", f"{out}.s", "-o", f"{out}.o"])
    run(["/usr/lib/llvm-19/bin/ld.lld", "-shared", f"{out}.o", "-o", f"{out}.co"])
    return said


def triton(options):
    """A kernel as Triton makes it, the pass loaded as Triton loads it: by LLVM_PASS_PLUGIN_PATH, into a pipeline that knows no target."""
    plugin = f"{options.build}/lib/libwavetap_pass-19.so"
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        for gpu in TRITON_TARGETS:
            compile_as_triton(lab, gpu, "bare")
            program = [lab.folder / "bare.co", "-l", "1024", "neighbours"]
            results = lab.plain_run(gpu, program)
            seen = counts_of(lab.probe("memory", gpu, program, more=())[1])
            for lines in (True, False):
                what = f"triton: {gpu}, {'with' if lines else 'without'} lines"
                said = compile_as_triton(lab, gpu, "told", plugin, lines)
                expect(f"{what}: said", said, "")
                found = re.findall(r"define amdgpu_kernel void @([a-zA-Z_][a-zA-Z0-9_]*)", (lab.folder / "told.llir").read_text())
                expect(f"{what}: kernels", found, ["neighbours"])
                program[0] = lab.folder / "told.co"
                expect(f"{what}: code", functions_of(program[0], ["neighbours"])["neighbours"], functions_of(lab.folder / "bare.co", ["neighbours"])["neighbours"])
                expect(f"{what}: results of the original", lab.plain_run(gpu, program), results)
                result, told = lab.probe("memory", gpu, program)
                expect(f"{what}: results", result.stdout, results)
                kernel = told["kernels"][0]
                expect(f"{what}: lanes of a wave", kernel["wave_size"], 64 if gpu == "mi210" else 32)
                expect(f"{what}: merged", kernel.get("merged", []), [])
                if lines:
                    expect(f"{what}: sites", sites_of(told), TRITON_SITES)
                    expect(f"{what}: as on the virtual GPU", counts_of(told), seen)
                else:
                    expect(f"{what}: sites", {("", *site[1:]) for site in TRITON_SITES}, sites_of(told))
                result, counted = lab.probe("blocks,instructions,latency", gpu, program)
                expect(f"{what}: results, counted", result.stdout, results)
                waves = 4096 // kernel["wave_size"]
                expect(f"{what}: waves", max(block["count"] for block in counted["kernels"][0]["handlers"]["blocks"]["blocks"]), waves)
        unknown_target(options, lab, plugin)


def no_memory(options):
    """No memory for a ring, or for the tables that are counted in: said once for a GPU, counted for every launch, and the program runs as
    if nobody had asked."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        code = lab.compile("15", "-O2", "gfx1030")
        program = [code, "-s", "4", "-d", "2", "copy", "reduce"]
        plain = lab.plain_run("rx6800xt,rx6800xt", program)
        for handler, most in (("memory", 64 << 20), ("blocks", 16 << 20)):
            env = {**os.environ, "HSA_TOOLS_LIB": f"{options.build}/probe_plugins/no_memory.so", "WT_NO_MEMORY_FROM": str(most)}
            out = lab.folder / "probe.json"
            result = run([lab.wavetap, "probe", handler, "--gpu", "rx6800xt,rx6800xt", "--pass", "--json", out, "--", lab.launcher,
                          *program], env=env)
            what = f"no memory: {handler}"
            expect(f"{what}: the tool was there", result.stderr.count("no_memory: refused") > 0, True)
            expect(f"{what}: results", result.stdout, plain)
            expect(f"{what}: said for each GPU", result.stderr.count("there is no memory for a ring of"), 2)
            told = json.loads(out.read_text())
            expect(f"{what}: probed, left out", (told["dispatches_probed"], told["dispatches_left_out"]), (0, 8))
            expect(f"{what}: nothing", "probe: nothing was seen: none of the 8 dispatches" in result.stderr, True)
            for name in ("copy", "reduce"):
                expect(f"{what}: {name}", len(re.findall(rf"probe: {name}.*: ran as it is: there is no memory for what it tells",
                                                         result.stderr)), 1)
            expect(f"{what}: kernels that were not instrumented", "not compiled with wavetap-hipcc" in result.stderr, False)
        # With less it is enough for all.
        env["WT_NO_MEMORY_FROM"] = str(1 << 40)
        result = run([lab.wavetap, "probe", "memory", "--pass", "--gpu", "rx6800xt,rx6800xt", "--json", out, "--", lab.launcher,
                      *program], env=env)
        expect("memory: results", result.stdout, plain)
        expect("memory: probed", json.loads(out.read_text())["dispatches_probed"], 8)


def sites_of(told):
    return {(site.get("source", "").split("/")[-1], site["space"], site["access"].split("_")[0], site["lanes"])
            for site in told["kernels"][0]["handlers"]["memory"]["sites"]}


def counts_of(told):
    """{(line, space): lanes} but for arguments, which machine code loads and the compiler's code does not."""
    counts = collections.Counter()
    for site in told["kernels"][0]["handlers"]["memory"]["sites"]:
        if not site["instruction"].startswith("s_load"):
            counts[site["source"].split("/")[-1], site["space"]] += site["lanes"]
    return counts


def unknown_target(options, lab, plugin):
    """A module that says nowhere what GPU it is for: no twin rather than a wrong one, unless the user says it."""
    said = compile_as_triton(lab, "rx6800xt", "unknown", plugin, constants=False)
    expect("triton: no target: said", "neighbours: nothing says what GPU it is for" in said, True)
    expect("triton: no target: twins", re.findall(r"\.wavetap", (lab.folder / "unknown.llir").read_text()), [])
    said = compile_as_triton(lab, "rx6800xt", "named", plugin, constants=False, WAVETAP_PASS_TARGET="gfx1030")
    expect("triton: named target: said", said, "")
    program = [lab.folder / "named.co", "-l", "1024", "neighbours"]
    expect("triton: named target: sites", sites_of(lab.probe("memory", "rx6800xt", program)[1]), TRITON_SITES)
    no_plugin = run([f"{options.build}/bin/pass_as_triton", lab.folder / "triton.ll", "gfx1030", lab.folder / "no"], 1,
                    env={**os.environ, "LLVM_PASS_PLUGIN_PATH": "/no/such/plugin.so"})
    expect("triton: no plugin", "Could not load library '/no/such/plugin.so'" in no_plugin.stderr, True)


def versions(options):
    """LLVM 20 is in no suite of Debian: what the sources say by versions must be what is compiled for 21, which is."""
    conditions = set()
    for path in sorted((ROOT / "src/pass").iterdir()):
        for condition in re.findall(r"^#\s*(?:el)?if (.*LLVM_VERSION_MAJOR.*)", path.read_text(), re.M):
            simple = re.fullmatch(r"LLVM_VERSION_MAJOR (>=|<|>|<=|==) (\d+)", condition)
            if simple is None:
                sys.exit(f"{path.name}: #if {condition}: compare with one number, so that this test can read it")
            conditions.add((simple[1], int(simple[2])))
    expect("conditions", bool(conditions), True)
    compare_with = {">=": int.__ge__, "<": int.__lt__, ">": int.__gt__, "<=": int.__le__, "==": int.__eq__}
    for how, number in sorted(conditions):
        expect(f"LLVM_VERSION_MAJOR {how} {number}: LLVM 20", compare_with[how](20, number), compare_with[how](21, number))


def generic_targets(options):
    """Targets that are families: gfx9-generic has 64 lanes in a wave, gfx10-3-generic 32."""
    with tempfile.TemporaryDirectory() as folder:
        source, code = pathlib.Path(folder) / "kernel.hip", pathlib.Path(folder) / "kernel.co"
        source.write_text('extern "C" __attribute__((global)) void f(int* p) { *p = 1; }\n')
        for target, lanes in (("gfx9-generic", 64), ("gfx10-3-generic", 32), ("gfx11-generic", 32), ("gfx1100", 32), ("gfx942", 64)):
            run(["clang++-19", f"-fpass-plugin={options.build}/lib/libwavetap_pass-19.so", "-x", "hip", "--cuda-device-only", "-nogpuinc",
                 "-nogpulib", "-mcode-object-version=6", f"--offload-arch={target}", "--no-gpu-bundle-output", "-O2", source, "-o", code])
            table = run(["llvm-readelf-19", "-p", ".wavetap.sites", code]).stdout
            expect(f"{target}: lanes", re.findall(r"k f \d+ (\d+)", table), [str(lanes)])


def compilers(options):
    if options.root:
        return sorted(path.name.split("-")[1] for path in (options.root / "usr/lib").glob("llvm-*")
                      if (path / "include/llvm/IR/Module.h").exists() and
                      (options.root / "usr/bin" / f"clang++-{path.name.split('-')[1]}").exists() and
                      options.clang in (None, path.name.split("-")[1]))
    return [clang for clang in ("15", "19") if shutil.which(f"clang++-{clang}") and
            pathlib.Path(f"{options.build}/lib/libwavetap_pass-{clang}.so").exists()]


def hipcc(options):
    """The wrapper on a whole HIP program, with one of HIP's own kernels beside ours."""
    with tempfile.TemporaryDirectory() as folder:
        program = Lab(options, folder).hip_program(ROOT / "examples" / "saxpy.hip")
        out = pathlib.Path(folder) / "probe.json"
        result = run([f"{options.build}/bin/wavetap", "probe", "memory", "--pass", "--max", "1", "--ring", "256", "--json",
                      out, "--", program])
        expect("hipcc: results", "0 wrong" in result.stdout, True)
        kernel = json.loads(out.read_text())["kernels"][0]
        expect("hipcc: kernel", kernel["kernel"].startswith("saxpy("), True)
        wrong = run([f"{options.build}/bin/wavetap-hipcc", "x.hip"], status=1,
                    env={**os.environ, "WAVETAP_HIPCC": "no-such-compiler"})
        expect("hipcc: missing", "wavetap-hipcc: error: no-such-compiler: not found" in wrong.stderr, True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--clang", help="with --root: this version alone")
    parser.add_argument("--root", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("case", choices=["compile", "agree", "messages", "faults", "full_ring", "stopped_host", "damaged", "choices", "prepared", "record_sizes", "large_grid", "names", "hipcc", "latency",
                                         "promises", "hidden", "parallel", "no_parameters", "plain_ir", "triton", "generic_targets", "no_memory", "dispatches", "versions"])
    parser.add_argument("--program", choices=HIDDEN, help="of compile")
    parser.add_argument("--kernels", type=lambda text: text.split(","), help="of compile: 15,-O2,gfx1030")
    options = parser.parse_args()
    options.build = pathlib.Path(options.build).resolve()
    globals()["compile_once" if options.case == "compile" else options.case](options)
    if failures:
        sys.exit("\n".join(failures[:60]))


if __name__ == "__main__":
    main()
