#!/usr/bin/env python3
"""Runs each host program bare and traced and compares what the world sees of it.

  run.py --build BUILD CASE      one case: exit status 0, or 77 when this machine cannot run it
  run.py --list                  the names of the cases

Bare is `wavetap run --no-trace`, traced is the same without it. Standard output, exit status (128 + signal
for a death by signal), standard error but for wavetap's own lines, and what the children left with must be
equal. The trace must pass `wavetap check`, hold exactly the calls the program says it made, one process per
process that made any, and nothing else may be left in the folder.
"""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Failed, Outcome, Skipped, compare, expect, losses, main, query, recorded_calls, register, value  # noqa: E402
from other_users import folder_in_the_way  # noqa: E402

CASES = {}
case = register(CASES)


def both(host, program, *arguments, gpu=True, options=(), around=(), processes=None, exact=True, **rest):
    """Runs a program bare and traced, compares, checks the trace; returns the traced outcome."""
    command = [host.programs / program, *arguments]
    bare = host.run([*around, *host.command(command, gpu, trace=False)], **rest)
    traced = host.run([*around, *host.command(command, gpu, options=options)], **rest)
    compare(bare, traced)
    if exact:
        examine(host, traced, processes)
    return traced


def examine(host, traced, processes=None):
    expect(traced.trace.exists(), f"there is no trace\n{traced.stderr}")
    host.check(traced.trace)
    made, recorded = traced.calls(), recorded_calls(traced.trace)
    expect(made, "the program counted no call")
    wrong = {name: (count, recorded[name]) for name, count in made.items() if recorded[name] != count}
    expect(not wrong, f"calls made and recorded differ: {wrong}")
    expect(losses(traced.trace) == 0, f"{losses(traced.trace)} events lost")
    reports = (traced.stdout + "".join(traced.kept.values())).splitlines().count("process")
    pids = value(traced.trace, "select count(distinct pid) from rocpd_api")
    expect(pids == (reports if processes is None else processes), f"{pids} processes in the trace")
    left = {path.name for path in traced.scratch.iterdir()} - {"trace.rpd", "run", *traced.kept}
    expect(not left, f"left behind: {sorted(left)}")
    sockets = list((traced.scratch / "run").rglob("*.sock"))
    expect(not sockets, f"left behind: {sockets}")


@case
def normal_exit(host):
    traced = both(host, "normal_exit")
    expect(traced.status == 7 and "squares: 256" in traced.stdout, f"the program itself failed\n{traced.stdout}")
    kernels = query(traced.trace, """select k.gridX, k.workgroupX, n.string, count(*), count(distinct l.op_id)
        from rocpd_kernelapi k join rocpd_api_ops l on l.api_id = k.api_ptr_id
        join rocpd_string n on n.id = k.kernelName_id group by 1, 2, 3""")
    expect(kernels == [(4, 64, "square", 3, 3)], f"launches and dispatches: {kernels}")


@case
def quick_exit(host):
    both(host, "quick_exit")


@case
def abort(host):
    expect(both(host, "abort").status == 134, "not SIGABRT")


@case
def finished_then_gone(host):
    """What the GPU had finished when the program left has its times, also where no destructor runs."""
    for how, status in (("_exit", 3), ("_Exit", 4), ("quick_exit", 5), ("abort", 134)):
        for _ in range(3):
            traced = both(host, "finished_then_gone", how)
            expect(traced.status == status, f"{how}: status {traced.status}")
            unfinished = value(traced.trace, "select count(*) from wavetap_inflight")
            timed = value(traced.trace, "select count(*) from op where description = 'square' and end > start")
            expect((unfinished, timed) == (0, 1), f"{how}: {unfinished} unfinished, {timed} timed")


@case
def segmentation_fault(host):
    expect(both(host, "abort", "segv").status == 139, "not SIGSEGV")


@case
def terminated(host):
    expect(both(host, "abort", "term").status == 143, "not SIGTERM")


@case
def killed(host):
    expect(both(host, "abort", "kill").status == 137, "not SIGKILL")


@case
def uncaught_exception(host):
    traced = both(host, "uncaught_exception")
    expect(traced.status == 134 and "nobody catches this" in traced.stderr, "not std::terminate")


@case
def exec_images(host):
    both(host, "exec", processes=1)


@case
def not_started(host):
    """A program that cannot be started: the exit status a shell gives, and nothing is left behind."""
    scratch = host.scratch()
    (scratch / "not_executable").write_text("#!/bin/sh\n")
    for trace in (True, False):
        for program, status in (("no-such-program", 127), ("./no/such/program", 127), ("./not_executable", 126), ("/", 126)):
            outcome = host.run(host.command([program], trace=trace), scratch)
            expect(outcome.status == status, f"{program}: status {outcome.status}\n{outcome.stderr}")
    left = {path.name for path in scratch.iterdir()} - {"run", "not_executable"}
    expect(not left, f"left behind: {left}")


@case
def no_gpu(host):
    """On a machine without a GPU the program fails as it does, and we say what can be done."""
    if any("simd_count 0" not in path.read_text() for path in pathlib.Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        raise Skipped("this machine has a GPU")
    traced = host.run(host.command([host.programs / "normal_exit"]))
    expect("wavetap: note: this machine has no GPU" in traced.stderr and "--gpu MODEL" in traced.stderr, traced.stderr)
    traced = host.run(host.command([host.programs / "normal_exit"], gpu=True))
    expect("no GPU" not in traced.stderr, traced.stderr)
    traced = host.run(host.command(["true"]))
    expect("no GPU" not in traced.stderr, traced.stderr)


@case
def fork_uses_hip(host):
    both(host, "fork_uses_hip")


@case
def fork_after_hip(host):
    both(host, "fork_after_hip", gpu=False, processes=21)


@case
def fork_silent(host):
    both(host, "fork_silent")


@case
def thread_exit(host):
    both(host, "thread_exit", gpu=False)


@case
def exit_while_busy(host):
    both(host, "exit_while_busy", gpu=False)


@case
def main_thread_exits(host):
    both(host, "main_thread_exits", gpu=False)


@case
def outlives_parent(host):
    """A process that is still running when the first one ends: it is not disturbed, and what was recorded until
    then is in the trace or can be imported later."""
    traced = both(host, "outlives_parent", gpu=False, exact=False)
    expect(traced.status == 12, f"status {traced.status}")
    host.check(traced.trace)
    expect(recorded_calls(traced.trace)["hipMalloc"] >= 1, "the first process is not in the trace")


@case
def outlives_parent_before_hip(host):
    """A daemon that has not used HIP yet when the first process ends keeps its virtual GPU and its recording."""
    scratch = host.scratch()
    command = host.command([host.programs / "held_back", scratch / "go", scratch / "result"], gpu=True)
    traced = host.run(command, scratch)
    expect(traced.status == 12, f"status {traced.status}\n{traced.stderr}")
    named = re.search(r"still running: process (\d+) \(held_back\); .* wavetap import (\S+) -o", traced.stderr)
    expect(named, f"the process is not named\n{traced.stderr}")
    pid, raw = int(named[1]), pathlib.Path(named[2])
    # Another run sweeps the temporary folder, and must leave alone what a process still uses.
    host.run(host.command([host.programs / "normal_exit"], gpu=True, trace=False), host.scratch())
    (scratch / "go").touch()
    while pathlib.Path(f"/proc/{pid}").exists() and "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1]:
        time.sleep(0.02)
    expect("the device works: 1" in (scratch / "result").read_text(), (scratch / "result").read_text())
    later = host.run([host.wavetap, "import", raw, "-o", "later.rpd"], scratch)
    expect(later.status == 0, later.stderr)
    made = Outcome(0, (scratch / "result").read_text(), "", scratch).calls()
    expect(made and all(recorded_calls(scratch / "later.rpd")[name] == count for name, count in made.items()),
           f"made {made}, recorded {recorded_calls(scratch / 'later.rpd')}")


@case
def private_library(host):
    """The case that defeats RTLD_NEXT: a copy of AMD's library that only a plugin knows."""
    traced = both(host, "private_library", host.programs / "private/plugin.so")
    expect(traced.stdout.count("plugin says 1") == 3, traced.stdout)
    copies = query(traced.trace, "select path from wavetap_library where path like '%/private/libamdhip64.so.5'")
    expect(copies, "the private copy is not among the libraries")


@case
def deepbind(host):
    """RTLD_DEEPBIND passes our symbols by: the trace says whose calls it lacks, and has what they made the GPU do."""
    plugin = host.programs / "private/plugin.so"
    for how in ("at once", "lazily"):
        traced = both(host, "deepbind", plugin, how, exact=False)
        expect("plugin says 1" in traced.stdout, traced.stdout)
        told = query(traced.trace, "select count, what from wavetap_loss where reason = 'bypassed'")
        expect(len(told) == 1 and told[0][0] == 1 and str(plugin) in told[0][1], f"losses: {told}")
        expect(f"calls from {plugin} are not recorded (RTLD_DEEPBIND)" in traced.stderr, f"nothing was said\n{traced.stderr}")
        host.check(traced.trace, lossy=True)
        made, recorded = traced.calls(), recorded_calls(traced.trace)
        expect(all(recorded[name] == count for name, count in made.items()), f"made {made}, recorded {recorded}")
        fills = value(traced.trace, "select count(*) from op where opType = 'FillBuffer'")
        expect(fills == 2, f"{fills} fills, one of the program and one of the plugin")


@case
def two_runtimes(host):
    traced = both(host, "two_runtimes", host.programs / "fake2/plugin.so", host.programs / "fake3/libamdhip64.so.6", gpu=False)
    for line in ("linked: 1", "plugin: 1", "dlsym of a handle: 3"):
        expect(traced.stdout.count(line) == 3, f"not '{line}'\n{traced.stdout}")


@case
def two_plugins(host):
    traced = both(host, "two_plugins", host.programs / "fake2/plugin.so", host.programs / "fake3/plugin.so", gpu=False)
    for line in ("plugin 0: version 2", "plugin 1: version 3"):
        expect(traced.stdout.count(line) == 2, f"not '{line}'\n{traced.stdout}")


@case
def dlclose(host):
    both(host, "dlclose", host.programs / "fake2/libamdhip64.so.5", host.programs / "fake3/libamdhip64.so.6", gpu=False)


@case
def constructor_atexit(host):
    both(host, "constructor_atexit")


@case
def threads_64(host):
    traced = both(host, "threads_64")
    threads = value(traced.trace, "select count(distinct tid) from rocpd_api where pid = (select pid from rocpd_api limit 1)")
    expect(threads == 64 + 64 + 4, f"{threads} threads in the trace")


@case
def spawn(host):
    both(host, "spawn")


@case
def setuid(host):
    """A set-user-ID program: nothing is recorded, nothing is disturbed."""
    if os.geteuid() != 0:
        raise Skipped("only root can make a program that runs as somebody else")
    outcomes = []
    for trace in (False, True):
        scratch = host.scratch()
        program = scratch / "setuid"
        shutil.copy(host.programs / "setuid", program)
        os.chown(program, 65534, -1)
        program.chmod(0o4755)
        if os.statvfs(scratch).f_flag & os.ST_NOSUID:
            raise Skipped("the temporary folder is mounted nosuid")
        outcomes.append(host.run(host.command([program], gpu=True, trace=trace), scratch))
    compare(*outcomes)
    expect("secure 1" in outcomes[0].stdout, f"the program did not run with other rights\n{outcomes[0].stdout}")


@case
def closed_streams(host):
    traced = both(host, "closed_streams", "result", "close", keep=["result"])
    expect("the first files are 0, 1 and 2" in traced.kept["result"], f"{traced.kept}")


@case
def closed_streams_of_run(host):
    """The same when `wavetap run` itself is started without streams."""
    traced = both(host, "closed_streams", "result", keep=["result"],
                  around=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
    expect("the first files are 0, 1 and 2" in traced.kept["result"], f"{traced.kept}")


@case
def close_all(host):
    both(host, "close_all", gpu=False)


@case
def signals(host):
    expect(both(host, "signals", gpu=False, processes=1, exact=False).status == 138, "not SIGUSR1")


@case
def surroundings(host):
    both(host, "surroundings", gpu=False)


@case
def nested(host):
    both(host, "nested", gpu=False)


@case
def preloaded_by_hand(host):
    """LD_PRELOAD alone records kernels as well: the library names itself to the HSA runtime, behind the user's own tool,
    and once more where the user has named it by another path."""
    for tool in (None, "no-such-tool.so", "linked.so"):
        scratch = host.scratch()
        if tool == "linked.so":
            (scratch / tool).symlink_to(host.agent)
            tool = f"{scratch}/{tool}"
        environment = {"RPDT_FILENAME": "hand.rpd", **({"HSA_TOOLS_LIB": tool} if tool else {})}
        preload = f"{host.build}/lib/libwavetap_gpu.so:{host.agent}"
        traced = host.run(host.command(["env", f"LD_PRELOAD={preload}", host.programs / "normal_exit"], gpu=True, trace=False),
                          scratch, environment)
        expect(traced.status == 7, f"status {traced.status}\n{traced.stderr}")
        raw = re.search(r"recorded into (\S+); `wavetap import", traced.stderr)
        expect(raw, f"nothing was said\n{traced.stderr}")
        expect(host.run([host.wavetap, "import", raw[1], "-o", "hand.rpd"], scratch).status == 0, "import failed")
        host.check(scratch / "hand.rpd")
        kernels = value(scratch / "hand.rpd", "select count(*) from op where description = 'square'")
        expect(kernels == 3, f"{kernels} kernels")


@case
def dispatches_run_alone(host):
    """A policy sees each dispatch by itself, with its memory before and after; the program cannot tell."""
    policy = host.programs / "libwavetap_policy.so"
    bare = host.run(host.command([host.programs / "normal_exit"], gpu=True, trace=False))
    for recording in (False, True):
        scratch = host.scratch()
        (scratch / "raw").mkdir()
        options = [f"WAVETAP_SESSION={scratch}/raw"] if recording else []
        traced = host.run(host.command(["env", f"LD_PRELOAD={host.build}/lib/libwavetap_gpu.so:{policy}", f"HSA_TOOLS_LIB={policy}",
                                        *options, host.programs / "normal_exit"], gpu=True, trace=False), scratch)
        told = re.findall(r"policy: dispatch (\d) of square: (.*) values\[3\] (-?\d+) -> 9$", traced.stderr, re.M)
        expect([number for number, *_ in told] == ["1", "2", "3"], f"told {told}\n{traced.stderr}")
        expect({memory for _, memory, _ in told} == {"HIP memory of 1024 bytes,"}, f"{told}")
        expect([value for *_, value in told[1:]] == ["9", "9"], f"values before: {told}")
        expect((traced.status, traced.stdout) == (bare.status, bare.stdout), f"{traced.status}\n{traced.stdout}")
        if recording:
            imported = host.run([host.wavetap, "import", "raw", "-o", "trace.rpd"], scratch)
            expect(imported.status == 0, imported.stderr)
            host.check(scratch / "trace.rpd")
            timed = value(scratch / "trace.rpd", "select count(*) from op where description = 'square' and end > start")
            expect(timed == 3, f"{timed} kernels with times")


@case
def runtime_without_us(host):
    """A GPU runtime that never calls the recorder: the trace says which work it lacks."""
    scratch = host.scratch()
    (scratch / "raw").mkdir()
    preload = f"{host.build}/lib/libwavetap_gpu.so:{host.agent}"
    traced = host.run(host.command(["env", "-u", "HSA_TOOLS_LIB", f"LD_PRELOAD={preload}", f"WAVETAP_SESSION={scratch}/raw",
                                    host.programs / "normal_exit"], gpu=True, trace=False), scratch)
    expect(traced.status == 7, f"status {traced.status}\n{traced.stderr}")
    imported = host.run([host.wavetap, "import", "raw", "-o", "trace.rpd"], scratch)
    expect(imported.status == 2 and "kernels and copies of" in imported.stderr, f"{imported.status}\n{imported.stderr}")
    host.check(scratch / "trace.rpd", lossy=True)


@case
def preload_already_set(host):
    traced = both(host, "normal_exit", environment={"LD_PRELOAD": str(host.programs / "preloaded.so")})
    expect(traced.stdout.count("hipMalloc passes by") == 2, f"the user's own library was passed over\n{traced.stdout}")


@case
def few_descriptors(host):
    both(host, "normal_exit", around=["sh", "-c", 'ulimit -n 32; exec "$@"', "sh"])


@case
def small_files(host):
    """ulimit -f: a file that grows beyond it brings SIGXFSZ, which is not the program's fault."""
    traced = both(host, "many_calls", "2", "20000", gpu=False, exact=False,
                  around=["bash", "-c", 'ulimit -f 64; exec "$@"', "bash"])
    expect(traced.status == 0, f"status {traced.status}")


@case
def unwritable_folder(host):
    """/proc takes no files, not even from root."""
    command = [host.programs / "normal_exit"]
    bare = host.run(host.command(command, gpu=True, trace=False))
    traced = host.run(host.command(command, gpu=True, trace="/proc/trace.rpd"))
    compare(bare, traced)
    expect("wavetap: " in traced.stderr and "/proc" in traced.stderr, f"nothing was said\n{traced.stderr}")


@case
def socket_folder_of_others(host):
    """What stands where a user's recorders have their sockets is not theirs: it is not used, the recording is as complete
    as ever, and who asks for the recorder is told why it cannot be reached."""
    if os.geteuid() != 0:
        raise Skipped("only root can put something in the way of another user")
    if closed := folder_in_the_way(host.wavetap):
        raise Skipped(f"no other user can reach what is below {closed}")
    uid = 20000 + os.getpid() % 40000  # nobody's
    folder = pathlib.Path(f"/tmp/wavetap-{uid}")
    surroundings = {"environment": {"XDG_RUNTIME_DIR": ""}, "user": uid, "group": uid, "extra_groups": []}

    def a_link():
        elsewhere = host.scratch() / "run"
        os.chown(elsewhere, uid, uid)
        folder.symlink_to(elsewhere)

    def of_root():
        folder.mkdir()
        folder.chmod(0o777)

    def for_everybody():
        folder.mkdir()
        os.chown(folder, uid, uid)
        folder.chmod(0o755)

    for obstruct, what in ((a_link, "is not a folder"), (of_root, "belongs to another user"), (for_everybody, "is open to other users")):
        scratch = host.scratch()
        os.chown(scratch, uid, uid)
        reason = f"{folder} {what}; remove it, or set XDG_RUNTIME_DIR to a folder of your own before the program starts\n"
        obstruct()
        try:
            both(host, "many_calls", "2", "1000", gpu=False, scratch=scratch, **surroundings)
            asked = host.run([host.wavetap, "status"], scratch, **surroundings)
            expect((asked.status, asked.stderr) == (1, f"wavetap: error: no recorder can be reached: {reason}"), f"{asked}")
            if obstruct is a_link:  # for a process by its number, here the shell's own, a while is waited
                asked = host.run(host.command(["sh", "-c", '"$0" status $$', host.wavetap]), scratch, **surroundings)
                expect(asked.status == 1 and f": its recorder cannot be reached: {reason}" in asked.stderr, f"{asked}")
            expect(not list(folder.iterdir()), "something was left there")
        finally:
            folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
    asked = host.run([host.wavetap, "status"], scratch, **surroundings)
    expect((asked.status, asked.stdout) == (0, "no recorded process of yours is running\n"), f"{asked}")


def unmount(disk):
    """Whoever looks at all processes or mounts of the machine holds a file system for a moment: it is busy then."""
    for _ in range(50):
        done = subprocess.run(["umount", disk], capture_output=True, text=True)
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise Failed(f"the small file system cannot be taken away: {done.stderr.strip()}")


@case
def full_disk(host):
    """The disk fills up while four threads record; the program goes on, and the trace says so."""
    command = [host.programs / "many_calls", "4", "200000"]
    bare = host.run(host.command(command, trace=False))
    scratch = host.scratch()
    disk = scratch / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        raise Skipped(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        traced = host.run(host.command(command, trace="disk/trace.rpd"), scratch)
        compare(bare, traced)
        expect("wavetap: " in traced.stderr, "nothing was said about the full disk")
        # Once more with the raw trace alone on the full disk, so that what was saved can be read.
        shutil.rmtree(disk, ignore_errors=True)
        session = disk / "raw"
        session.mkdir()
        traced = host.run(command, scratch, environment={"LD_PRELOAD": str(host.agent), "WAVETAP_SESSION": str(session)})
        compare(bare, traced)
        host.run([host.wavetap, "import", session, "-o", "trace.rpd"], scratch)
        host.check(scratch / "trace.rpd", lossy=True)
        recorded, lost = recorded_calls(scratch / "trace.rpd")["hipMalloc"], losses(scratch / "trace.rpd")
        expect(0 < recorded < 800000 and lost > 0, f"{recorded} recorded, {lost} lost of 800000")
        # And full from the beginning: not even the lock fits, and it does not stay as an empty file.
        shutil.rmtree(session)
        with open(disk / "all", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        command = [host.programs / "normal_exit"]
        bare = host.run(host.command(command, trace=False))
        traced = host.run(host.command(command, trace="disk/full.rpd"), scratch)
        compare(bare, traced)
        expect("full.rpd.lock: cannot be locked: No space left on device" in traced.stderr, f"of the lock nothing was said\n{traced.stderr}")
        expect(not (disk / "full.rpd.lock").exists(), "the lock file stays")
    finally:
        unmount(disk)


@case
def loaded_twice(host):
    """A second copy of the recorder in the same process stays passive."""
    copy = host.scratch() / "libwavetap.so"
    shutil.copy(host.agent, copy)
    both(host, "normal_exit", environment={"LD_PRELOAD": f"{copy}:{host.agent}"})


@case
def run_inside_run(host):
    """`wavetap run` under `wavetap run`: the inner one records the program."""
    command = [host.programs / "normal_exit"]
    bare = host.run(host.command(command, gpu=True, trace=False))
    scratch = host.scratch()
    traced = host.run(host.command(host.command(command, gpu=True), trace="outer.rpd"), scratch)
    compare(bare, traced)
    (scratch / "outer.rpd").unlink(missing_ok=True)
    examine(host, traced)


@case
def switched_off(host):
    """--start-paused: loaded, and nothing is recorded."""
    command = [host.programs / "normal_exit"]
    bare = host.run(host.command(command, gpu=True, trace=False))
    traced = host.run(host.command(command, gpu=True, options=["--start-paused"]))
    compare(bare, traced)
    host.check(traced.trace)
    expect(not recorded_calls(traced.trace), f"{recorded_calls(traced.trace)} recorded while stopped")


@case
def everything_on(host):
    both(host, "normal_exit", options=["--args", "--stacks", "--hsa"])


STAND_IN = ("fork_after_hip", "thread_exit", "exit_while_busy", "main_thread_exits", "outlives_parent", "close_all", "signals",
            "surroundings", "nested", "small_files")

if __name__ == "__main__":
    sys.exit(main(CASES, STAND_IN))
