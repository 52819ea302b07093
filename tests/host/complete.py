#!/usr/bin/env python3
"""Every event is in the trace, once and whole: deaths at random moments, and each way in which RPD's tracer
is known to lose or spoil data.

  complete.py --build BUILD CASE
  complete.py --list

What goes wrong with RPD, and the test that shows it does not here; those without a folder are in this file.

  all is lost when the program dies             killed_at_random, killed_at_first_call, run.py: abort, killed, quick_exit, finished_then_gone
  a full ring ends the program                  four_producers
  a flush hangs, or loses rows                  flush_under_load, flush_from_outside
  a flushed file without its texts              flush_from_outside
  a child of fork() crashes                     run.py: fork_uses_hip, fork_after_hip, fork_silent
  a key that repeats costs a whole batch        graph_launches
  stack frames of later sessions are lost       stack_frames_of_all, stacks_appended
  source and destination of copies swapped      large_copies
  copies of 2 GiB and more have no size         large_copies
  ranges and overheads that no view shows       markers
  a pop too many begins at time 0               markers
  stop does not stop, start does not start      stop_from_outside, stop_stop_start
  a file without the schema stays empty         odd_output_files
  processes that share a file                   eight_processes, runs_share_a_file, runs_appended
  names break the JSON                          markers, src/export/chrome_test.cc
  memory grows with every event                 memory_does_not_grow
  RPDT_FILENAME is overwritten                  tests/python/control_test.py
  call stacks: the outermost frame, ties        src/analysis/callstack_test.cc
  graphs fail on schema 3                       src/analysis/golden_test.cc
  kernels by marker fail                        tests/cli/golden/analyze_small.test
  files of schema 2 are not read                src/store/trace_test.cc
  strings of stack frames are destroyed, trim
  leaves orphans, top counts twins once         src/store/edit_test.cc
"""
import collections
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from harness import (Skipped, arguments_of, compare, expect, losses, main, query, recorded_calls, register, value)

CASES = {}
case = register(CASES)

KILLS = 50
LONG_KILLS = 10  # of them: every thread has filled several chunks by then; importing what it recorded is what takes long
THREADS = 4


def malloc_sizes(trace):
    """The sizes of all hipMalloc calls; each must come with the address the stand-in made from it."""
    texts = arguments_of(trace, "hipMalloc")
    pairs = re.findall(r"ptr = 0x([0-9a-f]+) \| size = (\d+)", "\n".join(texts))
    expect(len(pairs) == len(texts), f"arguments of {len(texts) - len(pairs)} calls cannot be read, such as {texts[:1]}")
    sizes = [int(size) for _, size in pairs]
    torn = [pair for pair, size in zip(pairs, sizes) if int(pair[0], 16) != size * 2 + 0x100]
    expect(not torn, f"torn calls: {torn[:5]}")
    return sizes


def each_call_once(trace, threads, calls):
    """many_calls made every (thread, n) once."""
    counts = collections.Counter(malloc_sizes(trace))
    expected = {t << 32 | n for t in range(threads) for n in range(calls)}
    expect(counts.keys() == expected, f"{len(counts.keys() ^ expected)} calls are missing or invented")
    expect(max(counts.values()) == 1, "a call is recorded twice")


def read_log(path, threads):
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return struct.unpack(f"<{2 + threads}Q", data) if len(data) == 8 * (2 + threads) else None


def kill_once(host, life, threads=THREADS):
    """Runs the victim, which the kernel kills `life` seconds after its first call; returns the calls it completed and the trace. Were it
    killed from here, a busy machine would let it make many times as many calls first, all of which are imported."""
    killed = host.run(host.command([host.programs / "victim", "log", threads, 0, max(1, int(life * 1e9))]))
    words = read_log(killed.scratch / "log", threads)
    expect(killed.status == 128 + signal.SIGKILL, f"status {killed.status}\n{killed.stderr}")
    expect(words and sum(words[2:]) > 0, "the victim made no call")
    return words[2:], killed.trace


@case
def killed_at_random(host):
    """What the victim logged as complete is there, in order, without gaps; at most one call per thread more."""
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for kill in range(KILLS):
        completed, trace = kill_once(host, moments.uniform(0, 0.01 if kill < LONG_KILLS else 0.001))
        where = f"kill {kill} of seed {seed}"
        numbers = collections.defaultdict(list)
        for size in malloc_sizes(trace):
            numbers[size >> 40].append(size & (1 << 40) - 1)
        for thread, logged in enumerate(completed):
            got = numbers[thread]
            expect(got == list(range(1, len(got) + 1)), f"{where}: thread {thread}: not 1, 2, 3 …")
            expect(len(got) in (logged, logged + 1), f"{where}: thread {thread}: {logged} completed, {len(got)} recorded")
        expect(losses(trace) == 0, f"{where}: losses reported")
        host.check(trace)


@case
def killed_at_first_call(host):
    """A call that is over is there under its name, though another thread was the first to call the function and says what it is."""
    for kill in range(10):
        completed, trace = kill_once(host, 0, threads=2)
        recorded = recorded_calls(trace)
        expect(sum(completed) <= recorded["hipMalloc"] <= sum(completed) + 2, f"kill {kill}: {completed} completed, recorded {recorded}")


@case
def times_are_the_programs(host):
    """A call lies between the readings of the clock around it, however soon and in whatever way the program ends."""
    allowed = 20_000  # ns; the counter's rate is measured, not known
    for how in ("exit", "_exit", "quick_exit", "abort", "kill", "segv", "term", "hup", "exec"):
        traced = host.run(host.command([host.programs / "clocks", how]))
        before, after = (int(word) for word in re.search(r"clocks (\d+) (\d+)", traced.stdout).groups())
        start, end = query(traced.trace, "select start, end from api where apiName = 'hipStreamAddCallback'")[0]
        expect(before - allowed <= start <= end <= after + allowed,
               f"{how}: the call began {start - before} ns after and ended {after - end} ns before the program says")
        host.check(traced.trace)


@case
def four_producers(host):
    """Four threads faster than any writer; a full ring crashed the program or lost rows."""
    traced = host.run(host.command([host.programs / "many_calls", 4, 200000]))
    expect(traced.status == 0, f"status {traced.status}\n{traced.stderr}")
    host.check(traced.trace)
    each_call_once(traced.trace, 4, 200000)


@case
def flush_under_load(host):
    """Fifty flushes by each of four threads, while all of them record."""
    traced = host.run(host.command([host.programs / "many_calls", 4, 20000, 400]))
    expect(traced.status == 0, f"status {traced.status}\n{traced.stderr}")
    host.check(traced.trace)
    each_call_once(traced.trace, 4, 20000)


@case
def flush_from_outside(host):
    """`wavetap flush` again and again while the program records; it rests now and then, or millions of calls were imported."""
    scratch = host.scratch()
    log = scratch / "log"
    runner = subprocess.Popen(host.command([host.programs / "victim", "log", THREADS, 100]), cwd=scratch,
                              env=host.environment(scratch), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not ((words := read_log(log, THREADS)) and words[0]):
        time.sleep(0.001)
    for _ in range(10):
        flushed = host.run([host.wavetap, "flush", words[1]], scratch)
        expect(flushed.status == 0, f"flush: {flushed.stderr}")
    os.kill(words[1], signal.SIGKILL)
    # The slower the machine, the more was recorded meanwhile.
    runner.communicate(timeout=240)
    host.check(scratch / "trace.rpd")
    completed = sum(read_log(log, THREADS)[2:])
    recorded = recorded_calls(scratch / "trace.rpd")["hipMalloc"]
    expect(completed <= recorded <= completed + THREADS, f"{completed} completed, {recorded} recorded")


@case
def graph_launches(host):
    """A graph launch owns many dispatches; its id repeats, its row does not, and no row is lost for it."""
    program = host.build / "bin/hip/host_graph"
    bare = host.run(host.command([program], gpu=True, trace=False))
    traced = host.run(host.command([program], gpu=True))
    compare(bare, traced)
    host.check(traced.trace)
    launches = query(traced.trace, """select count(*) from rocpd_api a join rocpd_string s on s.id = a.apiName_id
        join rocpd_api_ops l on l.api_id = a.id join rocpd_op o on o.id = l.op_id
        join rocpd_string d on d.id = o.description_id
        where s.string = 'hipGraphLaunch' and d.string like 'add(%' group by a.id""")
    expect(launches == [(5,)] * 4, f"dispatches per launch: {launches}")
    made = traced.calls()
    recorded = recorded_calls(traced.trace)
    expect(all(recorded[name] == count for name, count in made.items()), f"made {made}, recorded {recorded}")


@case
def memory_asked_for(host):
    """`analyze memory` counts what the program asked for and got: no failed call, nothing of the runtime's own."""
    traced = host.run(host.command([host.build / "bin/hip/memory_info"], gpu=True))
    expect(traced.status == 0, traced.stdout + traced.stderr)
    texts = arguments_of(traced.trace, "hipMalloc")
    sizes = [int(re.search(r"size = (\d+)", text)[1]) for text in texts if "result = " not in text]
    expect(len(texts) - len(sizes) == 2, f"the program fails to allocate twice: {[text for text in texts if 'result' in text]}")
    done = subprocess.run([host.wavetap, "analyze", "memory", "--json", traced.trace], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)["facts"]
    found = {name: facts[name] for name in ("allocations", "frees", "allocated_bytes", "peak_bytes", "held_bytes")}
    # One block of 512 MiB lives at a time, then as many as fit, then one again.
    wanted = {"allocations": len(sizes), "frees": len(sizes), "allocated_bytes": sum(sizes), "peak_bytes": sum(sizes[1:-1]),
              "held_bytes": 0}
    expect(found == wanted, f"asked for {wanted}, counted {found}")


@case
def one_count_everywhere(host):
    """The lines of `run` and `import`, and `report`, say the same numbers of one recording."""
    traced = host.run(host.command([host.build / "bin/hip/graphs"], gpu=True, options=["--keep-raw"]))
    expect(traced.status == 0, traced.stdout + traced.stderr)
    raw = next(traced.scratch.glob("trace.rpd.raw-*"))
    imported = host.run([host.wavetap, "import", raw, "-o", "again.rpd"], scratch=traced.scratch)
    counts = re.compile(r"([\d ]+) events \(([\d ]+) calls, ([\d ]+) dispatches, ([\d ]+) copies\)")
    told = [counts.search(text).groups() for text in (traced.stderr, imported.stdout)]
    expect(told[0] == told[1], f"run and import disagree: {told}")
    done = subprocess.run([host.wavetap, "report", "--json", traced.trace], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)["facts"]
    reported = tuple(str(facts[name]) for name in ("calls", "dispatches", "copies"))
    expect(told[0][1:] == reported, f"run {told[0][1:]}, report {reported}")


@case
def stack_frames_of_all(host):
    """Stack frames of every process, with names that resolve."""
    traced = host.run(host.command([host.programs / "spawn"], gpu=True, options=["--stacks"]))
    host.check(traced.trace)
    without = query(traced.trace, """select a.pid, count(*) from rocpd_api a join rocpd_string s on s.id = a.apiName_id
        where s.string like 'hip%' and not exists (select 1 from rocpd_stackframe f where f.api_ptr_id = a.id) group by 1""")
    expect(not without, f"calls without frames, by process: {without}")
    pids = value(traced.trace, "select count(distinct a.pid) from rocpd_stackframe f join rocpd_api a on a.id = f.api_ptr_id")
    expect(pids == 5, f"frames of {pids} processes")
    dangling = value(traced.trace, "select count(*) from rocpd_stackframe where name_id not in (select id from rocpd_string)")
    expect(dangling == 0, f"{dangling} frames without a name")
    named = value(traced.trace, """select count(*) from rocpd_stackframe f join rocpd_string s on s.id = f.name_id
        where s.string like '%main%'""")
    expect(named > 0, "no frame is in main")


@case
def stacks_appended(host):
    """Sessions merged into one file keep their frames apart."""
    traced = host.run(host.command([host.programs / "nested"], options=["--stacks"]))
    frames = value(traced.trace, "select count(*) from rocpd_stackframe")
    merged = traced.scratch / "merged.rpd"
    done = host.run([host.wavetap, "merge", traced.trace, traced.trace, "-o", merged], traced.scratch)
    expect(done.status == 0, done.stderr)
    expect(frames > 0 and value(merged, "select count(*) from rocpd_stackframe") == 2 * frames, "frames were lost")
    host.check(merged)


def marker_trace(host):
    traced = host.run(host.command([host.programs / "markers"]))
    expect(traced.status == 0, f"status {traced.status}\n{traced.stderr}")
    host.check(traced.trace)
    return traced


@case
def large_copies(host):
    """Sizes of 2 GiB and more, and which side is which."""
    trace = marker_trace(host).trace
    copies = query(trace, "select size, dst, src, kind from rocpd_copyapi order by api_ptr_id")
    sizes = [1 << 20, 1 << 31, 3 << 30, 5 << 30, 1 << 40]
    expect(copies == [(size, "0x1000", "0x2000", 1) for size in sizes], f"{copies}")


@case
def markers(host):
    """Texts that need quoting arrive as they are, in the views and in valid JSON; a pop too many does no harm."""
    traced = marker_trace(host)
    rows = query(traced.trace, "select apiName, args, domain, start, end from api where domain not in ('hip', 'hsa')")
    texts = {text for row in rows for text in row[:2]}
    quoted = "with \"quotes\", a \\backslash\\, a\ttab, a\nnewline and ünïcode"
    for text in (quoted, "mark 'quoted'", "from one thread to another", "never popped", 'function "f"',
                 'file.py:12 \\ "x"', "a mark", "args of the mark"):
        expect(text in texts, f"missing: {text!r} in {rows}")
    expect(all(0 < start <= end for *_, start, end in rows), f"times: {rows}")
    expect({"python"} <= {row[2] for row in rows}, f"domains: {rows}")
    expect(value(traced.trace, "select min(start) from rocpd_api") > 0, "a row begins at 0")
    exported = traced.scratch / "trace.json"
    done = host.run([host.wavetap, "export", "--format", "chrome", traced.trace, "-o", exported], traced.scratch)
    expect(done.status == 0, done.stderr)
    names = {event.get("name") for event in json.loads(exported.read_text())["traceEvents"]}
    expect(quoted in names, "the text is not in the exported JSON")


@case
def roctx_by_name(host):
    """A program that opens libroctx64 finds one, and the system's own where there is one; its markers are recorded."""
    program = [host.programs / "roctx_by_name"]
    if host.run(program).status == 0:
        raise Skipped("this machine has a libroctx64")
    for folder, depths in ((None, "depths 0 0"), (host.programs / "roctx", "depths 1000 2000")):
        environment = {"LD_LIBRARY_PATH": str(folder)} if folder else {}
        traced = host.run(host.command(program), environment=environment)
        expect(traced.status == 0 and depths in traced.stdout, f"status {traced.status}\n{traced.stdout}{traced.stderr}")
        host.check(traced.trace)
        markers = query(traced.trace, "select args from api where apiName = 'UserMarker'")
        expect(markers == [("opened by name",)], f"markers: {markers}")


@case
def memory_does_not_grow(host):
    """Four times as many events do not take more memory, but for the few chunks that are in use."""
    def peak(calls):
        scratch = host.scratch()
        (scratch / "raw").mkdir()
        environment = host.environment(scratch, {"LD_PRELOAD": str(host.agent), "WAVETAP_SESSION": str(scratch / "raw")})
        program = subprocess.Popen([str(host.programs / "many_calls"), "2", str(calls)], env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        expect(program.returncode == 0, f"status {program.returncode}")
        written = sum(path.stat().st_size for path in (scratch / "raw").iterdir()) >> 20
        return usage.ru_maxrss >> 10, written

    few, many = peak(500_000), peak(2_000_000)
    expect(many[1] - few[1] >= 120, f"MiB written: {few[1]}, {many[1]}")
    expect(many[0] - few[0] <= 80, f"MiB of memory: {few[0]}, {many[0]}")


@case
def stop_stop_start(host):
    """Stopping twice and starting once records again; calls made while stopped are not in the trace."""
    traced = marker_trace(host)
    recorded = recorded_calls(traced.trace)["hipGetDevice"]
    expect(recorded == traced.calls()["hipGetDevice"], f"{recorded} calls recorded, of which 2 while started")


@case
def stop_from_outside(host):
    """`wavetap stop` really stops, and start resumes."""
    scratch = host.scratch()
    runner = subprocess.Popen(host.command([host.programs / "on_demand"]), cwd=scratch, env=host.environment(scratch),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = runner.stdout.readline().split()[1]

    def calls(count):
        runner.stdin.write(f"{count}\n")
        runner.stdin.flush()
        expect(runner.stdout.readline() == "done\n", "no answer")

    def control(word):
        done = host.run([host.wavetap, word, pid], scratch)
        expect(done.status == 0, f"wavetap {word}: {done.stderr}")
        return done.stdout

    calls(1)
    control("stop")
    calls(10)
    control("stop")
    calls(100)
    control("start")
    calls(1000)
    control("status")
    control("stop")
    calls(10000)
    runner.communicate("", timeout=60)
    expect(runner.returncode == 0, f"status {runner.returncode}")
    recorded = recorded_calls(scratch / "trace.rpd")["hipGetDevice"]
    expect(recorded == 1001, f"{recorded} calls recorded, not 1001")


@case
def odd_output_files(host):
    """An output file that exists and is empty, something else, or older: replaced or refused, never half used."""
    program = [host.programs / "nested"]
    plain = host.run(host.command(program))
    expected = recorded_calls(plain.trace)
    for content in (b"", b"not a database\n" * 100, plain.trace.read_bytes()):
        scratch = host.scratch()
        (scratch / "trace.rpd").write_bytes(content)
        traced = host.run(host.command(program), scratch)
        expect(traced.status == 0, f"status {traced.status}\n{traced.stderr}")
        host.check(traced.trace)
        expect(recorded_calls(traced.trace) == expected, f"{recorded_calls(traced.trace)} instead of {expected}")
    scratch = host.scratch()
    (scratch / "trace.rpd").mkdir()
    traced = host.run(host.command(program), scratch)
    expect("wavetap: " in traced.stderr and "trace.rpd" in traced.stderr, f"nothing was said\n{traced.stderr}")


@case
def eight_processes(host):
    """Eight processes at once into one file."""
    program = host.programs / "many_calls"
    script = "for i in 1 2 3 4 5 6 7 8; do $0 2 5000 & done; wait"
    traced = host.run(host.command(["sh", "-c", script, program]))
    host.check(traced.trace)
    rows = query(traced.trace, """select pid, count(*) from rocpd_api a join rocpd_string s on s.id = a.apiName_id
        where s.string = 'hipMalloc' group by 1""")
    expect([count for _, count in rows] == [10000] * 8, f"calls by process: {rows}")


# A program that begins when all runs that are to be there at the same time are: on a busy machine the first would be
# over before the last had started.
TOGETHER = ["sh", "-c", 'gate=$1; shift; : >"$gate/$$"; until [ -e "$gate/go" ]; do sleep 0.01; done; exec "$@"', "sh"]


def gate_of(scratch):
    return scratch.with_name(scratch.name + ".gate")


def start_runs(host, scratch, count, calls, options=()):
    """Starts runs of many_calls into trace.rpd at the same time, each with a number of calls of its own."""
    gate_of(scratch).mkdir(exist_ok=True)
    return [subprocess.Popen(host.command([*TOGETHER, gate_of(scratch), host.programs / "many_calls", 1, calls + i], options=options),
                             cwd=scratch, env=host.environment(scratch), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for i in range(count)]


def end_runs(scratch, runs):
    gate = gate_of(scratch)
    while len(os.listdir(gate)) < len(runs):
        expect(all(process.poll() is None for process in runs), "a run ended before its program began")
        time.sleep(0.01)
    (gate / "go").touch()
    said = []
    for process in runs:
        said.append(process.communicate(timeout=240)[1])
        expect(process.returncode == 0, f"status {process.returncode}\n{said[-1]}")
    shutil.rmtree(gate)
    return said


def calls_by_process(trace):
    return sorted(count for _, count in query(trace, """select pid, count(*) from rocpd_api a
        join rocpd_string s on s.id = a.apiName_id where s.string = 'hipMalloc' group by 1"""))


@case
def runs_share_a_file(host):
    """Any number of runs into one file at the same time, as mpirun starts them: all of them are in it."""
    for count in (4, 16):
        scratch = host.scratch()
        # An older file of the same name belongs to none of them.
        host.run(host.command([host.programs / "many_calls", 1, 7]), scratch)
        said = end_runs(scratch, start_runs(host, scratch, count, 1000))
        trace = scratch / "trace.rpd"
        host.check(trace)
        expect(calls_by_process(trace) == [1000 + i for i in range(count)], f"{count} runs: {calls_by_process(trace)}")
        expect(losses(trace) == 0, f"{losses(trace)} lost")
        added = sum("; added to" in text for text in said)
        expect(added == count - 1, f"{added} of {count} say that they were added\n{''.join(said)}")
        sessions = query(trace, "select session from wavetap_process order by 1")
        expect(sessions == [(i,) for i in range(count)], f"sessions: {sessions}")
        left = {path.name for path in scratch.iterdir()} - {"trace.rpd", "run"}
        expect(not left, f"left behind: {sorted(left)}")


@case
def runs_appended(host):
    """--append adds a later run to the file, also to one of RPD's making; without it the file is replaced."""
    scratch = host.scratch()
    trace = scratch / "trace.rpd"
    program = host.programs / "many_calls"
    for calls in (100, 200, 300):
        host.run(host.command([program, 1, calls], options=["--append"]), scratch)
        host.check(trace)
    expect(calls_by_process(trace) == [100, 200, 300], f"{calls_by_process(trace)}")
    # Runs at the same time of which one wants to keep what is there.
    runs = start_runs(host, scratch, 2, 400) + start_runs(host, scratch, 1, 500, ["--append"])
    end_runs(scratch, runs)
    host.check(trace)
    kept = calls_by_process(trace)
    expect(kept == [100, 200, 300, 400, 401, 500], f"{kept}")
    host.run(host.command([program, 1, 600]), scratch)
    expect(calls_by_process(trace) == [600], f"not replaced: {calls_by_process(trace)}")
    # What is no trace is not touched, and the recording is not lost.
    (scratch / "trace.rpd").write_text("something else\n")
    refused = host.run(host.command([program, 1, 700], options=["--append"]), scratch)
    raw = re.search(r"the raw trace is kept: wavetap import (\S+) -o", refused.stderr)
    expect(refused.status == 0 and raw, f"status {refused.status}\n{refused.stderr}")
    expect((scratch / "trace.rpd").read_text() == "something else\n", "the file was changed")
    expect(host.run([host.wavetap, "import", raw[1], "-o", "other.rpd"], scratch).status == 0, "import failed")
    expect(calls_by_process(scratch / "other.rpd") == [700], "calls are missing")
    (scratch / "trace.rpd").unlink()


@case
def run_killed_among_others(host):
    """A run that is killed with its program does not keep the others from their file, nor the next from a new one."""
    scratch = host.scratch()
    log = scratch / "log"
    victim = subprocess.Popen(host.command([host.programs / "victim", "log", THREADS]), cwd=scratch,
                              env=host.environment(scratch), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not ((words := read_log(log, THREADS)) and words[0]):
        expect(victim.poll() is None, "the victim ended by itself")
        time.sleep(0.001)
    end_runs(scratch, start_runs(host, scratch, 2, 1000))
    victim.kill()
    victim.wait()
    os.kill(words[1], signal.SIGKILL)
    expect(calls_by_process(scratch / "trace.rpd") == [1000, 1001], f"{calls_by_process(scratch / 'trace.rpd')}")
    end_runs(scratch, start_runs(host, scratch, 1, 50))
    expect(calls_by_process(scratch / "trace.rpd") == [50], f"{calls_by_process(scratch / 'trace.rpd')}")
    expect(not (scratch / "trace.rpd.lock").exists(), "the lock file stays")


@case
def thread_churn(host):
    """Thousands of short threads: each call once, with its thread, in as many files as there were threads at once."""
    threads, at_once = 3000, 4
    traced = host.run(host.command([host.programs / "churn", threads, at_once], options=["--keep-raw"]))
    expect(traced.status == 0, f"status {traced.status}\n{traced.stderr}")
    host.check(traced.trace)
    counts = collections.Counter(malloc_sizes(traced.trace))
    expect(counts == collections.Counter({t << 32 | n: 1 for t in range(threads) for n in range(2)}),
           f"{len(counts)} different calls of {2 * threads}")
    pairs = query(traced.trace, """select count(distinct a.tid), count(*) from rocpd_api a
        join rocpd_ustring u on u.id = a.args_id where u.string like '%size%'
        group by cast(substr(u.string, instr(u.string, 'size = ') + 7) as integer) >> 32""")
    expect(set(pairs) == {(1, 2)}, f"calls of one thread under several numbers: {set(pairs)}")
    named = value(traced.trace, "select count(*) from wavetap_thread")
    expect(named >= threads, f"{named} threads in the trace")
    raw = re.search(r"raw trace: (\S+)", traced.stderr)[1]
    files = [name for name in os.listdir(raw) if name.endswith(".chunk")]
    # Stream 0, the main thread, our own two, and those of the program.
    expect(len(files) <= at_once + 8, f"{len(files)} files")


@case
def odd_names(host):
    """A name that would move the cursor is told with escapes, and works."""
    for name in ("\x1b[31mred.rpd", "two\nlines.rpd", "a b 'c'.rpd"):
        scratch = host.scratch()
        traced = host.run(host.command([host.programs / "nested"], trace=name, options=["--keep-raw"]), scratch)
        expect(traced.status == 0 and (scratch / name).exists(), f"{name!r}: status {traced.status}")
        expect("\x1b" not in traced.stderr and "two\nlines" not in traced.stderr, f"{name!r}: {traced.stderr!r}")


STAND_IN = ("killed_at_random", "killed_at_first_call", "times_are_the_programs", "four_producers", "flush_under_load", "stacks_appended", "large_copies",
            "markers", "stop_stop_start", "stop_from_outside", "odd_output_files", "eight_processes",
            "runs_share_a_file", "runs_appended", "run_killed_among_others", "thread_churn", "odd_names")

if __name__ == "__main__":
    sys.exit(main(CASES, STAND_IN))
