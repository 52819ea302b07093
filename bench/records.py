"""What instrumented kernels tell: bytes per record, records per second of processor time, and how much slower the program's kernels
are, on a virtual GPU; run.py prints it. bench/sanitize.hip is compiled by wavetap-hipcc for it."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from support import table
from watching import PLAIN

ARCHS = {"rx6800xt": "gfx1030", "mi210": "gfx90a"}
GOAL_BYTES = 40  # of a whole wave's access


def seconds_by_kernel(text):
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2 and pair[0].isidentifier() and pair[1].replace(".", "", 1).isdigit()}


def run(command, folder):
    """Standard output, standard error, seconds of processor time."""
    before = os.times()
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=900)
    after = os.times()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout, done.stderr, after.children_user + after.children_system - before.children_user - before.children_system


def measure(build, model):
    """The table, and {handler: figures}; None where the compiler or its pass is missing."""
    if shutil.which("hipcc") is None or not list((build / "lib").glob("libwavetap_pass-*.so")):
        print("  left out: no hipcc, or no pass for its LLVM")
        return None
    figures, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "kernels"
        source = pathlib.Path(__file__).resolve().parent / "sanitize.hip"
        run([build / "bin/wavetap-hipcc", "-O2", f"--offload-arch={ARCHS[model]}", source, "-o", program], folder)
        wavetap = build / "bin/wavetap"
        plain = seconds_by_kernel(run([wavetap, *PLAIN, "--gpu", model, "--", program], folder)[0])
        for handler in ["memory", "blocks", "instructions"]:
            told, report, processor = run([wavetap, "probe", handler, "--pass", "--ring", "256", "--gpu", model, "--", program], folder)
            slower = {name: seconds / plain[name] for name, seconds in seconds_by_kernel(told).items()}
            found = re.search(r"probe: ([\d ]+) records?, ([\d.]+) bytes each; (\d+) lost", report)
            count, size, lost = (int(found[1].replace(" ", "")), float(found[2]), int(found[3])) if found else (0, 0, 0)
            figures[handler] = {"records": count, "bytes": size, "lost": lost, "per_second": count / processor, "slower": slower}
            rows.append([handler, f"{count:,}", f"{size:.1f}" if count else "", f"{count / processor:,.0f}" if count else "", str(lost)]
                        + [f"{slower[name]:.1f}x" for name in plain])
    table(["handler", "records", "bytes each", "per second", "lost", *plain], rows)
    print(f"  goal: {GOAL_BYTES} bytes for a whole wave's access")
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--gpu", default="rx6800xt", choices=ARCHS)
    arguments = parser.parse_args()
    measure(arguments.build.resolve(), arguments.gpu)
