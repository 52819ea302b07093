#!/usr/bin/env python3
"""The programs of tests/hip, traced: same verdict as bare, and exactly one dispatch for every kernel launch, with
the name, grid and workgroup the program asked for. Some of them again with HIP's own threads between call and GPU.

  launches.py --build BUILD PROGRAM
  launches.py --list
"""
import pathlib
import sqlite3
import sys

from harness import MODEL, Skipped, expect, losses, main, query, value

HIP = pathlib.Path(__file__).resolve().parents[1] / "hip"
SOURCE = HIP.parents[1]

# A launch that failed, or that a stream capture turned into a graph node, puts nothing on a queue. A dispatch that was
# not seen to end, because the program died or left before, is in wavetap_inflight. Kernels of the runtime's own (one
# goes before every cooperative launch) are not what the program launched.
LAUNCHES = """
create temp view launch as
  select a.id, a.pid, a.tid, a.start, s.string as name, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ,
    k.stream, n.string as kernel, u.string as args
  from rocpd_kernelapi k join rocpd_api a on a.id = k.api_ptr_id join rocpd_string s on s.id = a.apiName_id
  join rocpd_string n on n.id = k.kernelName_id join rocpd_ustring u on u.id = a.args_id
  where s.string not like 'hipGraph%' and u.string not like '%result = %'
"""
OPS = """
create temp view dispatch as
  select l.api_id, o.id, d.string as kernel, w.gridX, w.gridY, w.gridZ, w.workgroupX, w.workgroupY, w.workgroupZ
  from rocpd_api_ops l join rocpd_op o on o.id = l.op_id join wavetap_dispatch w on w.op_id = o.id
  join rocpd_string d on d.id = o.description_id left join wavetap_kernel i on i.id = w.kernel_id
  where coalesce(i.internal, 0) = 0
  union all
  select api_id, -id, name, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ from wavetap_inflight
"""

# Programs that end without waiting for the device, or in the middle of what they do.
LEAVE_EARLY = ("exit_paths", "fork_children")
# Programs whose launches may become nodes of a graph.
CAPTURES = ("graphs", "host_graph")


def examine(trace, captures):
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as db:
        db.execute(LAUNCHES)
        db.execute(OPS)
        counts = db.execute("""select launch.name, launch.kernel, launch.args, count(dispatch.id)
            from launch left join dispatch on dispatch.api_id = launch.id group by launch.id""").fetchall()
        allowed = {0, 1} if captures else {1}
        wrong = [row for row in counts if row[3] not in allowed]
        expect(not wrong, f"{len(wrong)} of {len(counts)} launches without exactly one dispatch: {wrong[:5]}")
        different = db.execute("""select launch.name, launch.kernel, dispatch.kernel, launch.gridX, launch.gridY, launch.gridZ,
              launch.workgroupX, launch.workgroupY, launch.workgroupZ, dispatch.gridX, dispatch.gridY, dispatch.gridZ
            from launch join dispatch on dispatch.api_id = launch.id
            where launch.kernel <> dispatch.kernel or launch.workgroupX <> dispatch.workgroupX
              or launch.workgroupY <> dispatch.workgroupY or launch.workgroupZ <> dispatch.workgroupZ
              or launch.gridX * launch.workgroupX <> dispatch.gridX or launch.gridY * launch.workgroupY <> dispatch.gridY
              or launch.gridZ * launch.workgroupZ <> dispatch.gridZ""").fetchall()
        expect(not different, f"{len(different)} launches differ from their dispatch: {different[:5]}")
        return len(counts)


def traced(program, queued=False):
    """`queued`: HIP's own threads submit the work, so that calls and dispatches are put together by their order."""
    def run(host):
        path = host.build / "bin/hip" / program
        if not path.exists():
            raise Skipped("the program was not built")
        arguments = [host.build / "bin/hip/module_kernels.co"] if program == "module_load" else []
        model = f"{MODEL},mi210" if program == "two_gpus" else MODEL
        environment = {"WT_MODEL_FILE": str(SOURCE / f"models/{MODEL}.gpu")}
        if queued:
            environment["AMD_DIRECT_DISPATCH"] = "0"
        command = [host.wavetap, "run", "--gpu", model, "-o", "trace.rpd", "--", path, *arguments]
        outcome = host.run(command, environment=environment, timeout=180)
        if outcome.status == 77:
            raise Skipped(outcome.stdout.strip())
        dies = program.startswith("fault_")
        expect(outcome.status == (134 if dies else 0) and "FAIL " not in outcome.stdout,
               f"status {outcome.status}\n{outcome.stdout[-2000:]}{outcome.stderr[-2000:]}")
        host.check(outcome.trace)
        launches = examine(outcome.trace, captures=program in CAPTURES)
        inferred = value(outcome.trace, "select count(*) from wavetap_dispatch where by_order = 1")
        expect((inferred > 0) == (queued and launches > 0), f"{inferred} calls were found by order")
        if not dies and program not in LEAVE_EARLY:
            expect(losses(outcome.trace) == 0, f"losses: {query(outcome.trace, 'select * from wavetap_loss')}")
            unfinished = value(outcome.trace, "select count(*) from wavetap_inflight")
            expect(unfinished == 0, f"{unfinished} operations without an end")
        print(f"     {launches} launches")
    return run


CASES = {path.stem: traced(path.stem) for folder in ("runtime", "kernels") for path in sorted((HIP / folder).glob("*.hip"))}
# Streams in every way they are used.
QUEUED = ("error_codes", "events", "graphs", "launch_stress", "many_threads", "memcpy_async", "module_load", "null_stream",
          "stream_overlap", "stream_wait_event", "streams", "two_gpus")
CASES.update({f"queued_{program}": traced(program, queued=True) for program in QUEUED})

if __name__ == "__main__":
    sys.exit(main(CASES))
