"""Whether a library races where its results depend on the order of waves.

A case that ends otherwise with other threads or another seed is run once more under `wavetap sanitize --tool racecheck`, which
finds accesses that nothing orders in whatever order they came. What is found is kept beside the journals, one line of JSON per case.
"""
import json
import pathlib
import re
import subprocess
import tempfile

from . import catalogue
from .journal import FAILED, PASSED, read_whole

JUDGED = (PASSED, FAILED)


def variants(base):
    """(name, threads, seed, jit) of the journals of other engines beside the journal `base`, those of shards once."""
    parts = base.parent.glob(f"{base.stem}.threads*.jsonl")
    names = sorted({re.sub(r"\.shard\d+of\d+", "", path.name) for path in parts})
    for name in names:
        found = re.search(r"\.threads(\d+)\.seed(\d+)(?:\.jit-(\w+))?", name)
        yield name, int(found[1]), int(found[2]), found[3]


def compared(base, name, expected):
    """Pairs of entries, of the variant `name` and of the journal `base`, whose cases `expected` are, that both ended."""
    return [(entry, expected[key]) for key, entry in read_whole(base.with_name(name)).cases.items()
            if key in expected and entry["status"] in JUDGED and expected[key]["status"] in JUDGED]


def differing(base):
    """The (program, case) pairs that have another result in some variant than in the journal `base`."""
    whole = read_whole(base)
    return sorted({(one["program"], one["case"]) for name, _, _, _ in (variants(base) if whole else [])
                   for one, other in compared(base, name, whole.cases) if one["status"] != other["status"]})


def kept_at(base):
    return base.with_suffix(".races.json")


def read(base):
    """(program, case) -> races, of the journal `base`."""
    path = kept_at(base)
    lines = path.read_text().splitlines() if path.exists() else []
    return {(entry["program"], entry["case"]): entry["races"] for entry in map(json.loads, lines)}


def keep(base, program, case, races):
    with open(kept_at(base), "a") as file:
        file.write(json.dumps({"program": program, "case": case, "races": races}) + "\n")


def short_name(kernel):
    """A kernel's name without namespaces, template arguments and parameters."""
    plain = kernel.partition("<")[0].partition("(")[0]
    return re.split(r"::|\s", plain.strip())[-1]


def describe(finding):
    def place(access):  # the host has no instruction, and code that is not a kernel's own no offset from its entry
        what = access["instruction"].split()[0] if "instruction" in access else access.get("call", "the host")
        return what + (f" at entry + {access['offset']:#x}" if "offset" in access else "") + (f" of wave {access['wave']}" if "wave" in access else "")
    return f"{finding['kind']} in {finding['space']}, {place(finding)} against {place(finding['other'])}"


def by_kernel(findings):
    """One entry per kernel that races: its name, the first pair of instructions and how many there are."""
    kernels = {}
    for finding in findings:
        if finding["tool"] == "racecheck" and finding["severity"] == "error" and "kernel" in finding and "other" in finding:
            kernels.setdefault(short_name(finding["kernel"]), []).append(finding)
    return [{"kernel": kernel, "pairs": len(found), "text": describe(found[0])} for kernel, found in kernels.items()]


def look(session, program, case, limit):
    """The races of one case; None where it did not end."""
    command = session.command(program, session.adapter.selecting([case]))
    with tempfile.TemporaryDirectory(dir=session.scratch) as folder:
        path = pathlib.Path(folder) / "findings.json"
        words = [command[0], "sanitize", "--tool", "racecheck", "--gpu", catalogue.MODELS[session.target], "--json", str(path)]
        try:
            subprocess.run([*words, *command[command.index("--"):]], env=session.environment(program), capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        if not path.exists():
            return None
        return by_kernel(json.loads(path.read_text())["findings"])


def table(folder, suites):
    """One row per suite, target and kernel that races."""
    lines = []
    for suite in suites.values():
        for target in catalogue.MODELS:
            kernels = {}
            for (_, case), races in read(pathlib.Path(folder) / "journals" / f"{suite.name}.{target}.jsonl").items():
                for race in races:
                    kernels.setdefault(race["kernel"], {}).setdefault(case, race["text"])
            for kernel, cases in sorted(kernels.items()):
                case, text = next(iter(cases.items()))
                lines.append(f"| {suite.title} | {target} | `{kernel}` | {len(cases)} | `{case}`: {text} |")
    return lines
