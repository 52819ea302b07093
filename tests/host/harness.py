"""What the host tests share: starting a program bare and traced, comparing both, reading the trace."""
import argparse
import collections
import dataclasses
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

MODEL = "rx6800xt"


class Failed(Exception):
    """A check that did not hold; the message says which."""


class Skipped(Exception):
    """The machine cannot run this test; the message says why."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


@dataclasses.dataclass
class Outcome:
    """What somebody outside sees of a program."""
    status: int
    stdout: str
    stderr: str
    scratch: pathlib.Path
    kept: dict = dataclasses.field(default_factory=dict)  # files the program wrote: name, text

    @property
    def trace(self):
        return self.scratch / "trace.rpd"

    def calls(self):
        """The calls the program says it made, by function, over all its processes."""
        made = collections.Counter()
        for text in (self.stdout, self.stderr, *self.kept.values()):
            for name, count in re.findall(r"^(?:uncompared )?calls (\w+) (\d+)$", text, re.M):
                made[name] += int(count)
        return made

    def own_stderr(self):
        """Standard error without wavetap's lines and without numbers that differ from run to run."""
        return "".join(line for line in self.stderr.splitlines(True)
                       if not line.startswith(("wavetap:", "uncompared ")))


class Host:
    """The programs of one build, each run in a scratch folder of its own."""

    def __init__(self, build):
        self.build = build
        self.programs = build / "bin/host"
        self.wavetap = build / "bin/wavetap"
        self.agent = build / "lib/libwavetap.so"
        self.folders = []
        self.checked = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def scratch(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wt-"))
        folder.chmod(0o755)
        (folder / "run").mkdir(mode=0o700)
        self.folders.append(folder)
        return folder

    def environment(self, scratch, extra=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("WAVETAP", "RPDT", "LD_PRELOAD"))}
        environment.update(XDG_RUNTIME_DIR=str(scratch / "run"), NO_COLOR="1", LC_ALL="C.UTF-8")
        environment.update(extra or {})
        return environment

    def command(self, command, gpu=False, trace=True, options=()):
        words = [self.wavetap, "run"]
        words += ["--gpu", MODEL] if gpu else []
        words += ["-o", "trace.rpd"] if trace is True else ["-o", trace] if trace else ["--no-trace"]
        return [str(word) for word in (*words, *options, "--", *command)]

    def run(self, command, scratch=None, environment=None, timeout=100, keep=(), **options):
        scratch = scratch or self.scratch()
        done = subprocess.run([str(word) for word in command], cwd=scratch, timeout=timeout,
                              env=self.environment(scratch, environment), stdin=options.pop("stdin", subprocess.DEVNULL),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)), **options)
        kept = {name: (scratch / name).read_text() for name in keep if (scratch / name).exists()}
        # Without a virtual GPU a bare run is the program itself, and its signal is seen directly.
        status = 128 - done.returncode if done.returncode < 0 else done.returncode
        return Outcome(status, done.stdout.decode(errors="backslashreplace"),
                       done.stderr.decode(errors="backslashreplace"), scratch, kept)

    def check(self, trace, lossy=False):
        """`wavetap check` accepts the trace, or, `lossy`, has nothing against it but the losses it tells of."""
        self.checked.add(trace)
        done = subprocess.run([self.wavetap, "check", trace], capture_output=True, text=True, timeout=100)
        accepted = done.returncode == 0
        if lossy:
            accepted = done.returncode == 2 and re.findall(r"error: (.*)", done.stdout) == re.findall(r"error: (.*lost.*)", done.stdout)
        expect(accepted, f"wavetap check {trace.name}: status {done.returncode}\n{done.stdout}{done.stderr}")

    def check_the_rest(self):
        """Every trace a case has made and not looked at itself."""
        for folder in self.folders:
            for trace in sorted(folder.rglob("*.rpd")):
                if trace.is_file() and trace not in self.checked:
                    self.check(trace)


def compare(bare, traced):
    expect(bare.status == traced.status, f"exit status: bare {bare.status}, traced {traced.status}\n{traced.stderr}")
    expect(bare.stdout == traced.stdout, f"stdout differs\n--- bare\n{bare.stdout}--- traced\n{traced.stdout}{traced.stderr}")
    expect(bare.own_stderr() == traced.own_stderr(),
           f"stderr differs\n--- bare\n{bare.own_stderr()}--- traced\n{traced.own_stderr()}")
    expect(bare.kept == traced.kept, f"files differ\n--- bare\n{bare.kept}\n--- traced\n{traced.kept}")


def query(trace, sql, *values):
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as connection:
        return connection.execute(sql, values).fetchall()


def value(trace, sql, *values):
    return query(trace, sql, *values)[0][0]


def recorded_calls(trace):
    return collections.Counter(dict(query(trace, "select s.string, count(*) from rocpd_api a "
                                                 "join rocpd_string s on s.id = a.apiName_id group by 1")))


def losses(trace):
    """Events the recorder says it lost."""
    return value(trace, "select coalesce(sum(count), 0) from wavetap_loss")


def arguments_of(trace, function):
    """The argument text of every call of a function, in the order of the calls of each thread."""
    return [row[0] for row in query(trace, """select u.string from rocpd_api a
        join rocpd_string s on s.id = a.apiName_id join rocpd_ustring u on u.id = a.args_id
        where s.string = ? order by a.pid, a.tid, a.start, a.id""", function)]


def register(cases):
    """A decorator that adds a function of a Host to a table of cases under its own name."""
    def add(function):
        cases[function.__name__] = function
        return function
    return add


def main(cases, stand_in=()):
    """`stand_in`: the cases that need nothing but the stand-in for libamdhip64 and our own libraries."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--stand-in", action="store_true", help="of all cases, those that use the stand-in runtime alone")
    parser.add_argument("names", nargs="*", metavar="CASE", help="all when none is named")
    arguments = parser.parse_args()
    if arguments.stand_in:
        cases = {name: cases[name] for name in stand_in}
    if arguments.list:
        print("\n".join(cases))
        return 0
    failed, skipped = 0, 0
    for name in arguments.names or cases:
        with Host(arguments.build.resolve()) as host:
            try:
                cases[name](host)
                host.check_the_rest()
                print(f"ok   {name}")
            except Skipped as reason:
                print(f"SKIP {name}: {reason}")
                skipped += 1
            except (Failed, subprocess.TimeoutExpired, sqlite3.Error, OSError, KeyError) as failure:
                print(f"FAIL {name}: {type(failure).__name__}: {failure}")
                failed += 1
            sys.stdout.flush()
    if failed:
        return 1
    return 77 if skipped and len(arguments.names) == skipped else 0
