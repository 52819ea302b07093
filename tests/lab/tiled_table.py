#!/usr/bin/env python3
"""All 2 000 variants of a tiled matmul, evaluated: the figures that tests of the searches go by.

  tiled_table.py --bin BUILD/bin --clang clang++-19 [--jobs N] [-o tests/lab/tiled_times.csv]

Captures the kernel `tiled` of tests/lab/lab.hip on a virtual rx6800xt, lets `wavetap tune` go through every point of tiled.toml,
and writes what each takes. Ten to thirty minutes of a processor. Times are modelled, so the table depends on the compiler and on
the timing model alone; make it anew when either changes. A journal in --folder is gone on with.
"""
import argparse
import json
import pathlib
import sqlite3
import subprocess
import sys

LAB = pathlib.Path(__file__).resolve().parent
PARAMETERS = ["SIDE", "ROWS", "COLUMNS", "DEPTH", "UNROLL", "PAD"]


def compiler(clang, target="gfx1030"):
    return (f"{clang} -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch={target} -nogpuinc -nogpulib -fms-extensions "
            f"-mcode-object-version=4 -O2 -include {LAB}/kernels/plain.h {LAB}/kernels/tiled.inc -o {{out}}")


def spec(clang, search):
    return (LAB / "tiled.toml").read_text().replace("@COMPILER@", compiler(clang)) + f"\n[search]\n{search}\n"


def recorded_spec(table, gate, search):
    """The same space, its answers looked up in a table of all of them: what a search does, without the kernels. The command `gate` comes first."""
    text = (LAB / "tiled.toml").read_text()
    conditions = text[text.index("conditions"):text.index("[build]")]
    parameters = text[text.index("[parameters]"):text.index("[measure]")]
    point = ",".join(f"{{{name}}}" for name in PARAMETERS)
    return f"""{conditions}{parameters}[measure]
program = "{gate}; grep '^{point},' {table}"
metric = ',([0-9]+)\\s*$'
runs = 1

[search]
{search}
"""


def read_journal(path):
    """Nanoseconds by the parameters' values; None for what was not good."""
    found = {}
    with sqlite3.connect(path) as db:
        for parameters, outcome, objective in db.execute("select parameters, outcome, objective from evaluation where point >= 0"):
            values = json.loads(parameters)
            found[tuple(int(values[name]) for name in PARAMETERS)] = round(objective * 1e9) if outcome == "good" else None
    return found


def read_table(path):
    rows = [line.split(",") for line in path.read_text().splitlines() if line and line[0].isdigit()]
    return {tuple(map(int, row[:-1])): int(row[-1]) if row[-1] else None for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("tiled.work"), help="of capture and journal")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=LAB / "tiled_times.csv")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    wavetap = arguments.bin.resolve() / "wavetap"
    if not (arguments.folder / "tiled.wtcap").exists():
        subprocess.run([wavetap, "capture", "--gpu", "rx6800xt", "-k", "tiled", "-o", "tiled.wtcap", "--", arguments.bin.resolve() / "hip/lab", "tiled"],
                       cwd=arguments.folder, check=True)
    (arguments.folder / "all.toml").write_text(spec(arguments.clang, 'strategy = "exhaustive"\nbudget = 2000'))
    resume = ["--resume"] if (arguments.folder / "all.tune/journal.db").exists() else []
    subprocess.run([wavetap, "tune", "all.toml", "--jobs", arguments.jobs, *resume], cwd=arguments.folder, check=True)
    found = read_journal(arguments.folder / "all.tune/journal.db")
    version = subprocess.run([arguments.clang, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    lines = [f"# Modelled time in nanoseconds on rx6800xt of each variant of tiled.toml; made by tiled_table.py with {version}.", ",".join([*PARAMETERS, "TIME"])]
    lines += [",".join([*map(str, point), "" if found[point] is None else str(found[point])]) for point in sorted(found)]
    arguments.output.write_text("\n".join(lines) + "\n")
    print(f"{arguments.output}: {len(found)} points, the best {min(time for time in found.values() if time)} ns")
    bad = [point for point in found if found[point] is None]
    if len(found) != 2000 or bad:
        sys.exit(f"not all of them: {len(found)} points, {len(bad)} of them no good {bad[:3]}")


if __name__ == "__main__":
    main()
