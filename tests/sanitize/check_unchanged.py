#!/usr/bin/env python3
"""Programs of all sorts behave under wavetap sanitize as they do without it: what they print and their exit status. And what is wrong
in them is found.

  check_unchanged.py --bin BIN --gpu MODEL
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import schema

# A program that is Python: a kernel of a module, launched with ctypes. `past`: one element too many.
IN_PYTHON = '''
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so.5", mode=ctypes.RTLD_GLOBAL)
def call(name, *arguments):
    status = getattr(hip, name)(*arguments)
    if status: sys.exit(f"{name}: {status}")
count = 100
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
source, target = ctypes.c_void_p(), ctypes.c_void_p()
call("hipModuleLoad", ctypes.byref(module), sys.argv[1].encode())
call("hipModuleGetFunction", ctypes.byref(kernel), module, b"scale")
for pointer in (source, target):
    call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(4 * count))
values = (ctypes.c_float * count)(*range(count))
call("hipMemcpy", source, values, ctypes.c_size_t(4 * count), 1)
arguments = [source, target, ctypes.c_float(3), ctypes.c_int(count + (sys.argv[2] == "past"))]
pointers = (ctypes.c_void_p * 4)(*[ctypes.addressof(argument) for argument in arguments])
call("hipModuleLaunchKernel", kernel, 1, 1, 1, 128, 1, 1, 0, None, pointers, None)
call("hipMemcpy", values, target, ctypes.c_size_t(4 * count), 2)
for pointer in (source, target): call("hipFree", pointer)
print("right" if list(values) == [3.0 * i for i in range(count)] else "wrong", list(values)[:3])
sys.exit(5)
'''

wrong = []


def expect(good, what):
    if not good:
        wrong.append(what)
        print("FAIL", what, flush=True)


def run(command, before=(), **more):
    return subprocess.run([*before, *map(str, command)], capture_output=True, text=True, timeout=200, **more)


def check(args, name, program, gpu=None, kinds=(), before=(), tools="memcheck,racecheck,initcheck,synccheck,waitcheck,hostcheck"):
    """`kinds`: what must be found, and nothing else. Returns the findings."""
    gpu = gpu or args.gpu
    plain = run([f"{args.bin}/wavetap", "run", "--gpu", gpu, "--", *program], before)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = pathlib.Path(folder) / "findings.json"
        checked = run([f"{args.bin}/wavetap", "sanitize", "--gpu", gpu, "--tool", tools, "--json", path, "--error-exitcode", "0", "--",
                       *program], before)
        document = schema.check(json.loads(path.read_text())) if path.exists() else {}
    findings = document.get("findings", [])
    expect(plain.stdout == checked.stdout, f"{name}: prints\n{checked.stdout}\nand not\n{plain.stdout}\n{checked.stderr}")
    expect(plain.returncode == checked.returncode, f"{name}: status {checked.returncode}, not {plain.returncode}\n{checked.stderr}")
    expect(document.get("exit_status") == plain.returncode, f"{name}: exit_status {document.get('exit_status')}")
    expect(document.get("dispatches_checked", 0) > 0, f"{name}: nothing was checked")
    expect({f["kind"] for f in findings} == set(kinds), f"{name}: {[f['kind'] for f in findings]}, not {list(kinds)}")
    return findings


def check_stripped(args, folder):
    program = folder / "memory_bugs"
    shutil.copy(f"{args.bin}/hip/memory_bugs", program)
    subprocess.run(["strip", program], check=True)
    for finding in check(args, "stripped", [program, "past"], kinds=["out-of-bounds"], tools="memcheck"):
        expect("fill" in finding["kernel"] and "offset" in finding, f"stripped: {finding}")


def check_without_lines(args):
    for finding in check(args, "without -g", [f"{args.bin}/hip/fault_write_freed"], kinds=["use-after-free"], tools="memcheck"):
        expect("source" not in finding and "offset" in finding and "instruction" in finding, f"without -g: {finding}")


def check_python(args, folder):
    script = folder / "scale.py"
    script.write_text(IN_PYTHON)
    module = f"{args.bin}/hip/module_kernels.co"
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    check(args, "Python", [python, script, module, "right"])
    found = check(args, "Python, wrong", [python, script, module, "past"], kinds=["out-of-bounds"], tools="memcheck")
    expect(len(found) == 2 and all("scale" in f["kernel"] for f in found), f"Python, wrong: {found}")


def check_unprivileged(args, folder):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        print("left out: not root, or no setpriv: everything here is unprivileged")
        return
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    program = folder / "vector_add"
    shutil.copy(f"{args.bin}/hip/vector_add", program)
    os.chmod(folder, 0o755)
    if run(["test", "-r", f"{args.bin}/wavetap"], before).returncode != 0:
        print("left out: another user cannot reach the build folder")
        return
    check(args, "another user", [program], before=before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpu", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_stripped(args, folder)
        check_without_lines(args)
        check_python(args, folder)
        check_unprivileged(args, folder)
    for program in ("fork_children", "graphs", "cooperative_groups"):
        check(args, program, [f"{args.bin}/hip/{program}"])
    check(args, "two GPUs", [f"{args.bin}/hip/two_gpus"], gpu=f"{args.gpu},{args.gpu}")
    check(args, "a status of its own", ["sh", "-c", f"{args.bin}/hip/vector_add > /dev/null; echo done; exit 7"])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
