"""Roots of other Debian suites that hold AMD's test programs, and how a program is started inside one."""
import glob
import os
import pathlib
import re
import subprocess

from . import catalogue

SOURCE = pathlib.Path(__file__).resolve().parents[3]


class Skipped(Exception):
    """Packages or rights are missing; the text says which."""


def architecture():
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()


class Roots:
    """Makes roots below `folder` when they are needed and remembers what they hold."""

    def __init__(self, folder, offline=False):
        self.folder, self.offline = pathlib.Path(folder), offline
        self.refused = {}

    def path(self, root):
        return self.folder / root

    def need(self, root, packages):
        key = (root, tuple(packages))
        if key in self.refused:
            raise Skipped(self.refused[key])
        have = {line.split()[0] for line in self.lines(root)}
        if all(package in have for package in packages):
            return
        reason = f"not in {self.path(root)}: {', '.join(p for p in packages if p not in have)}"
        if not self.offline:
            made = subprocess.run([SOURCE / "tests/roots/make_root.sh", root, self.path(root), *packages],
                                  stderr=subprocess.PIPE, text=True)
            if made.returncode == 0:
                return
            reason = made.stderr.strip().removeprefix(f"skip: {root}: ") or "make_root.sh failed"
        self.refused[key] = reason
        raise Skipped(reason)

    def lines(self, root):
        try:
            return (self.path(root) / ".packages").read_text().splitlines()
        except FileNotFoundError:
            return []

    def controls(self, root):
        return catalogue.read_controls(self.path(root) / ".status")

    def versions(self, root, packages):
        have = dict(line.split(None, 1) for line in self.lines(root))
        return {package: have.get(package, "?") for package in packages}

    def link(self, root, links):
        """Makes files of the root known under other paths, for programs that look for them where they were built."""
        base = str(self.path(root))
        for path, file in links.items():
            if os.path.exists(base + file) and not os.path.lexists(base + path):
                os.makedirs(os.path.dirname(base + path), exist_ok=True)
                os.symlink(file, base + path)

    def programs(self, root, pattern, executable=True):
        """Paths of files inside the root that match."""
        base = str(self.path(root))
        return sorted(path[len(base):] for path in glob.glob(base + pattern)
                      if os.path.isfile(path) and (not executable or os.access(path, os.X_OK)))


def enter_namespace():
    """Starts this process again in a mount namespace of its own, once; the mounts vanish with it."""
    if os.environ.get("WAVETAP_SUITES_NAMESPACE") == "1":
        return
    if os.getuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        raise Skipped("needs root, for chroot and a mount namespace")
    os.environ["WAVETAP_SUITES_NAMESPACE"] = "1"
    import sys
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def mount(root, folders):
    """Binds the machine's own folders and `folders` into the root, at the same paths."""
    for folder in ["/proc", "/sys", "/dev"] + [str(folder) for folder in folders]:
        inside = f"{root}{folder}"
        if os.path.ismount(inside):
            continue
        os.makedirs(inside, exist_ok=True)
        option = "--rbind" if folder in ("/proc", "/sys", "/dev") else "--bind"
        subprocess.run(["mount", option, folder, inside], check=True)


class Machine:
    """A virtual GPU: `wavetap run` with its options."""

    def __init__(self, build, model, gpus=1, threads=0, seed=0, jit="off", counters=None, trace=None):
        self.command = [str(pathlib.Path(build) / "bin/wavetap"), "run", "--no-checks", "--gpu", ",".join([model] * gpus)]
        if threads:
            self.command += ["--gpu-threads", str(threads)]
        if seed:
            self.command += ["--gpu-seed", str(seed)]
        if jit != "off":
            self.command += ["--gpu-jit", jit]
        if counters:
            self.command += ["--counters", counters]
        self.command += ["-o", trace] if trace else ["--no-trace"]

    def inside(self, root, program, arguments, folder):
        # env -C comes with coreutils, which every root has.
        return [*self.command, "--", "chroot", str(root), "/usr/bin/env", "-C", folder, program, *arguments]


def default_environment():
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LD_LIBRARY_PATH") if key in os.environ}
    return kept | {"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HOME": "/tmp"}


def build_identity(build):
    """A short name of the engine that is tested, from the library's build id."""
    notes = subprocess.run(["readelf", "-n", pathlib.Path(build) / "lib/libwavetap_gpu.so"], capture_output=True, text=True)
    found = re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)
    return found[1][:12] if found else "unknown"
