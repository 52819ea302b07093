"""Suites as data: reads suites/*.toml and answers which programs of a root run on which target.

A suite is one library's test programs. Its file says which packages carry them in which Debian suite, how their
output is read (`adapter`, see adapters.py), what is left out and why, and how much time a target gets.
"""
import dataclasses
import fnmatch
import pathlib
import re
import tomllib

# The GPU model that stands for a target.
MODELS = {"gfx908": "mi100", "gfx90a": "mi210", "gfx942": "mi300x", "gfx1030": "rx6800xt", "gfx1100": "rx7900xtx"}
# A package built for a generic target runs on these.
GENERIC = {"gfx9-4-generic": ["gfx942"], "gfx10-3-generic": ["gfx1030"], "gfx11-generic": ["gfx1100"]}
# Where a target is looked for first.
ROOTS = ["sid", "experimental"]


@dataclasses.dataclass
class Program:
    """Test programs that are read and started alike. `path` is a pattern inside the root."""
    path: str
    arguments: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    only: list = dataclasses.field(default_factory=lambda: ["*"])  # patterns of case names
    left_out: list = dataclasses.field(default_factory=list)  # of {cases, why, targets}
    stratum: str = ""  # what of a case's name tells its kind; "" for the adapter's own idea
    size: str = ""  # groups of it hold the numbers whose product is a case's size; small cases come first
    gpus: int = 1
    label: str = ""  # tells entries with the same path apart
    data: dict = dataclasses.field(default_factory=dict)  # of path, categories, per_group; see datafile.py
    folder: str = ""  # where it is started, inside the root; "" for a scratch folder


@dataclasses.dataclass
class Suite:
    name: str
    title: str
    adapter: str
    packages: dict  # Debian suite -> packages
    programs: list
    targets: list = dataclasses.field(default_factory=lambda: list(MODELS))
    hosts: list = dataclasses.field(default_factory=list)  # Debian's architectures that have the packages; [] for all
    links: dict = dataclasses.field(default_factory=dict)  # made inside the root: path -> file, where the file is there
    budget: int = 900  # seconds a target gets
    case_seconds: int = 60
    batch_seconds: int = 60  # how long one process should take, besides its start
    batch_cases: int = 500  # that one process runs at most
    start_seconds: int = 120  # until its first case
    memory_gib: int = 6


def load_suite(path):
    with open(path, "rb") as file:
        data = tomllib.load(file)
    programs = [Program(**program) for program in data.pop("programs")]
    packages = data.pop("packages")
    suite = Suite(name=pathlib.Path(path).stem, packages=packages, programs=programs, **data)
    unknown = [root for root in packages if root not in ROOTS] + [t for t in suite.targets if t not in MODELS]
    if unknown:
        raise ValueError(f"{path}: {unknown[0]}: no such root or target; use {', '.join(ROOTS)}, {', '.join(MODELS)}")
    return suite


def load_suites(folder):
    return {path.stem: load_suite(path) for path in sorted(pathlib.Path(folder).glob("*.toml"))}


def targets_of(architectures):
    """The targets a package's X-ROCm-GPU-Architecture field stands for."""
    found = set()
    for name in architectures.split():
        found.update(GENERIC.get(name, [name]))
    return found


def built_for(controls, packages):
    """The targets that every one of `packages` that says so was built for; None when none of them says.

    `controls` maps a package's name to its control fields. What the packages depend on counts as well: a test
    program is often plain host code above a library of kernels.
    """
    seen, queue, result = set(), list(packages), None
    while queue:
        name = queue.pop()
        if name in seen or name not in controls:
            continue
        seen.add(name)
        control = controls[name]
        if "X-Rocm-Gpu-Architecture" in control:
            targets = targets_of(control["X-Rocm-Gpu-Architecture"])
            result = targets if result is None else result & targets
        for alternative in re.split(r"[,|]", control.get("Depends", "")):
            queue.append(re.split(r"[ (:]", alternative.strip())[0])
    return result


def read_controls(status_file):
    """Package name -> control fields, from a root's .status."""
    controls = {}
    try:
        text = pathlib.Path(status_file).read_text()
    except FileNotFoundError:
        return controls
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.M))
        if "Package" in fields:
            controls[fields["Package"]] = {key.title(): value for key, value in fields.items()}
    return controls


def left_out(program, target, case):
    """Why `case` is not run on `target`, or None."""
    if not any(fnmatch.fnmatchcase(case, pattern) for pattern in program.only):
        return "not selected by the suite"
    for entry in program.left_out:
        if target in entry.get("targets", [target]) and any(fnmatch.fnmatchcase(case, p) for p in entry["cases"]):
            return entry["why"]
    return None
