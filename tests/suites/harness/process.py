"""One process of a test program: starts it with limits, reads its lines as they come, ends it when it is too slow.

The memory limit is a control group's where one can be made (either version), because a GPU program maps terabytes
of addresses that it never touches and no ulimit tells the two apart. Elsewhere the resident memory of the process
group is asked for twice a second.
"""
import os
import pathlib
import re
import selectors
import signal
import subprocess
import time


class MemoryLimit:
    """A control group for one process tree; `exceeded` tells whether it ran into the limit."""

    def __init__(self, bytes_limit, root="/sys/fs/cgroup"):
        self.limit = bytes_limit
        self.folder = None
        self._polled = False
        root = pathlib.Path(root)
        name = f"wavetap-suites-{os.getpid()}-{time.monotonic_ns()}"
        for parent, file in ((root / "memory", "memory.limit_in_bytes"), (root, "memory.max")):
            folder = parent / name
            try:
                folder.mkdir()
                (folder / file).write_text(str(bytes_limit))
                self.folder = folder
                return
            except OSError:
                try:
                    folder.rmdir()
                except OSError:
                    pass

    def enter(self):
        """In the child, before it becomes the program."""
        if self.folder:
            (self.folder / "cgroup.procs").write_text("0")

    def exceeded(self, group):
        if self.folder:
            try:
                if (self.folder / "memory.events").exists():
                    events = (self.folder / "memory.events").read_text()
                    return int(events.split("oom_kill ")[1].split()[0]) > 0
                control = (self.folder / "memory.oom_control").read_text()
                return "oom_kill " in control and int(control.split("oom_kill ")[1].split()[0]) > 0
            except (OSError, IndexError, ValueError):
                return False
        return resident_bytes(group) > self.limit

    def close(self):
        if not self.folder:
            return
        for _ in range(50):  # the kernel needs a moment to forget killed processes
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.02)


def resident_bytes(group):
    """Resident memory of every process of a process group."""
    total = 0
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            continue
    return total


class Run:
    """Runs `command`; lines() yields (seconds since start, text), with None for text twice a second.

    stop() ends it with all its children. After lines() has ended, `status` is the exit status, negative for a signal.
    """

    def __init__(self, command, environment, memory_bytes, folder):
        self.memory = MemoryLimit(memory_bytes)
        self.started = time.monotonic()
        self.status = None
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=environment, cwd=folder,
                                        start_new_session=True, preexec_fn=self.memory.enter)

    def lines(self):
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        descriptor, rest, last_tick = self.process.stdout.fileno(), b"", 0.0
        while True:
            ready = selector.select(0.5)
            now = time.monotonic() - self.started
            if ready:
                data = os.read(descriptor, 1 << 16)
                if not data:
                    break
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    yield now, line.decode(errors="replace")
            elif self.process.poll() is not None:
                break  # a grandchild still holds the pipe
            if not ready or now - last_tick > 0.5:
                last_tick = now
                yield now, None
        if rest:
            yield time.monotonic() - self.started, rest.decode(errors="replace")
        self.process.wait()
        self.status = self.process.returncode
        self.stop()

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close() if self.status is not None else None

    def out_of_memory(self):
        return self.memory.exceeded(self.process.pid)

    def close(self):
        self.stop()
        self.process.stdout.close()
        self.memory.close()


def missing_library(status, lines):
    """What the loader did not find when a program could not start, or None."""
    if status != 127:
        return None
    for line in lines:
        found = re.search(r"error while loading shared libraries: (\S+): cannot open", line)
        if found:
            return f"{found[1]} is not in the root"
    return None


def describe_status(status):
    if status is None:
        return "was stopped"
    if status < 0:
        return f"died of {signal.Signals(-status).name}"
    if status > 128 and status - 128 in signal.valid_signals():  # as wavetap run reports it
        return f"died of {signal.Signals(status - 128).name}"
    return f"exit status {status}"
