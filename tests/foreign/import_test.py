#!/usr/bin/env python3
"""What AMD's tools write, imported and profiled.

  import_test.py --bin BUILD/bin

The inputs are made here, in the layouts that rocprofv3 (databases of three schema versions, CSV, JSON) and rocprof-compute
use: two dispatches of one kernel with counters, a launch call, a copy, a marker. Each must give the same trace, whatever
the format; damage must be named with file and place.
"""
import argparse
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

KERNEL = "void scale<float>(float*, int)"
COUNTERS = ({"SQ_WAVES": 4096.0, "TCC_HIT_sum": 10.0}, {"SQ_WAVES": 4096.0, "TCC_HIT_sum": 30.0})


class Tester:
    def __init__(self, binaries, folder):
        self.tool, self.folder, self.failures, self.checks = binaries / "wavetap", folder, 0, 0

    def run(self, *words):
        return subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, cwd=self.folder)

    def expect(self, name, got, wanted):
        self.checks += 1
        if got != wanted:
            self.failures += 1
            print(f"{name}: got {got!r}, wanted {wanted!r}")

    def query(self, trace, sql):
        db = sqlite3.connect(self.folder / trace)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def check_trace(self, name, trace, calls=1, copies=1, markers=1, registers=True, queues=None, pids=1):
        """The same facts in every format."""
        ops = self.query(trace, "select s.string, o.start, o.end from rocpd_op o join rocpd_string s on s.id = o.description_id "
                                "join rocpd_string t on t.id = o.opType_id where t.string = 'KernelExecution' order by o.start")
        self.expect(f"{name}: kernels", ops[:2], [(KERNEL, 1000, 1500), (KERNEL, 2000, 2600)])
        shape = self.query(trace, "select gridX * gridY * gridZ, workgroupX * workgroupY * workgroupZ, lds_bytes from wavetap_dispatch")
        self.expect(f"{name}: shape", set(shape), {(262144, 64, 512)})
        if registers:
            self.expect(f"{name}: registers", set(self.query(trace, "select vgprs, agprs, sgprs from wavetap_kernel")), {(8, 4, 16)})
        counted = self.query(trace, "select o.start, s.string, c.value from rocpd_counter c join rocpd_op o on o.id = c.op_id "
                                    "join rocpd_string s on s.id = c.name_id order by 1, 2")
        wanted = [(start, n, v) for start, c in zip((1000, 2000), COUNTERS) for n, v in sorted(c.items())]
        self.expect(f"{name}: counters", counted[:4], wanted)
        kinds = dict(self.query(trace, "select s.string, count(*) from rocpd_op o join rocpd_string s on s.id = o.opType_id group by 1"))
        self.expect(f"{name}: copies", kinds.get("CopyHostToDevice", 0), copies)
        names = dict(self.query(trace, "select s.string, count(*) from rocpd_api a join rocpd_string s on s.id = a.apiName_id group by 1"))
        self.expect(f"{name}: calls", (names.get("hipLaunchKernel", 0), names.get("UserMarker", 0)), (calls, markers))
        if calls:
            linked = self.query(trace, "select count(*) from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join rocpd_string s "
                                       "on s.id = a.apiName_id where s.string = 'hipLaunchKernel'")[0][0]
            self.expect(f"{name}: links", linked, calls)
        self.expect(f"{name}: processes", len(self.query(trace, "select distinct pid from wavetap_process")), pids)
        done = self.run("check", trace)
        self.expect(f"{name}: check", (done.returncode, done.stdout[-200:] if done.returncode else ""), (0, ""))


def make_rocpd(path, version, uuid="_0000a", host="node1", pid=77):
    """A database of rocprofv3. From 4.0 on a row names its track."""
    db = sqlite3.connect(path)
    tracked = version >= (4, 0)

    def table(name, columns, rows):
        db.execute(f"create table rocpd_{name}{uuid} ({', '.join(columns)})")
        db.executemany(f"insert into rocpd_{name}{uuid} values ({', '.join('?' * len(columns))})", rows)

    table("metadata", ["id", "tag", "value"], [(1, "schema_version", ".".join(map(str, version)))])
    table("string", ["id", "guid", "string"], [(1, "g", "hipLaunchKernel"), (2, "g", "HIP_RUNTIME_API"), (3, "g", "step 1"),
                                               (4, "g", "MARKER_CORE_API"), (5, "g", "MEMORY_COPY_HOST_TO_DEVICE")])
    table("info_node", ["id", "guid", "hostname"], [(1, "g", host)])
    table("info_process", ["id", "guid", "nid", "pid", "command"], [(1, "g", 1, pid, "./train --fast")])
    table("info_thread", ["id", "guid", "nid", "pid", "tid"], [(1, "g", 1, 1, 78)])
    table("info_agent", ["id", "guid", "nid", "pid", "type", "absolute_index", "name", "product_name"],
          [(1, "g", 1, 1, "CPU", 0, "cpu", "EPYC"), (2, "g", 1, 1, "GPU", 1, "gfx90a", "AMD Instinct MI210")])
    table("info_pmc", ["id", "guid", "agent_id", "name", "symbol"], [(1, "g", 2, "SQ_WAVES", "SQ_WAVES"), (2, "g", 2, "TCC_HIT_sum", "TCC_HIT_sum")])
    table("info_kernel_symbol", ["id", "guid", "kernel_name", "display_name", "sgpr_count", "arch_vgpr_count", "accum_vgpr_count"],
          [(9, "g", "_Z5scaleIfEvPfi.kd", KERNEL, 16, 8, 4)])
    if tracked:
        table("track", ["id", "guid", "nid", "pid", "tid", "queue_id", "stream_id", "name_id"],
              [(1, "g", 1, 1, 1, None, None, None), (2, "g", 1, 1, 1, 5, 6, None)])
        table("info_category", ["id", "guid", "name"], [(2, "g", "HIP_RUNTIME_API"), (4, "g", "MARKER_CORE_API")])
    where = ["track_id"] if tracked else ["nid", "pid", "tid"]
    on = (1,) if tracked else (1, 1, 1)
    gpu_where = ["track_id"] if tracked else ["nid", "pid", "tid", "queue_id", "stream_id"]
    gpu_on = (2,) if tracked else (1, 1, 1, 5, 6)
    table("event", ["id", "guid", "category_id", "stack_id", "parent_stack_id", "correlation_id"],
          [(1, "g", 2, 100, 0, 100), (2, "g", 4, 0, 0, 0), (3, "g", 1, 100, 0, 100), (4, "g", 1, 0, 0, 0), (5, "g", 5, 0, 0, 0)])
    table("region", ["id", "guid", *where, "start", "end", "name_id", "event_id"],
          [(1, "g", *on, 900, 950, 1, 1), (2, "g", *on, 800, 2700, 3, 2)])
    shape = ["private_segment_size", "group_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x",
             "grid_size_y", "grid_size_z"]
    extra = ["graph_exec_id", "graph_node_id"] if version >= (3, 0, 2) else []
    more = (None,) * len(extra)
    table("kernel_dispatch", ["id", "guid", *gpu_where, "agent_id", "kernel_id", "dispatch_id", "start", "end", *shape, "event_id", *extra],
          [(1, "g", *gpu_on, 2, 9, 1, 1000, 1500, 0, 512, 64, 1, 1, 1024, 256, 1, 3, *more),
           (2, "g", *gpu_on, 2, 9, 2, 2000, 2600, 0, 512, 64, 1, 1, 1024, 256, 1, 4, *more)])
    table("memory_copy", ["id", "guid", *gpu_where, "start", "end", "name_id", "dst_agent_id", "src_agent_id", "size", "event_id", *extra],
          [(1, "g", *gpu_on, 700, 760, 5, 2, 1, 4096, 5, *more)])
    sampled = ["sample_id"] if version >= (3, 0, 3) else []
    # Two instances of one counter add up; streamed samples are not the dispatch's.
    rows = [(1, "g", 3, 1, 4096.0), (2, "g", 3, 2, 4.0), (3, "g", 3, 2, 6.0), (4, "g", 4, 1, 4096.0), (5, "g", 4, 2, 30.0)]
    rows = [(*r, *((None,) * len(sampled))) for r in rows] + ([(6, "g", 3, 1, 9e9, 1)] if sampled else [])
    table("pmc_event", ["id", "guid", "event_id", "pmc_id", "value", *sampled], rows)
    for name in ("region", "kernel_dispatch"):
        db.execute(f"create view rocpd_{name} as select * from rocpd_{name}{uuid}")
    db.commit()
    db.close()


def make_csv(folder):
    folder.mkdir()
    (folder / "77_agent_info.csv").write_text('"Node_Id","Agent_Type","Name","Product_Name","Cu_Count","Wave_Front_Size"\n'
                                              '0,"CPU","cpu","EPYC",0,0\n1,"GPU","gfx90a","AMD Instinct MI210",104,64\n')
    (folder / "77_kernel_trace.csv").write_text(
        '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
        '"End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",'
        '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
        f'"KERNEL_DISPATCH","Agent 1",1,0,78,1,9,"{KERNEL}",100,1000,1500,512,0,8,4,16,64,1,1,1024,256,1\n'
        f'"KERNEL_DISPATCH","Agent 1",1,0,78,2,9,"{KERNEL}",101,2000,2600,512,0,8,4,16,64,1,1,1024,256,1\n')
    head = ('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name",'
            '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name",'
            '"Counter_Value","Start_Timestamp","End_Timestamp"\n')
    row = '{0},{1},"Agent 1",1,77,78,262144,9,"{2}",64,512,0,8,4,16,"{3}",{4:.6f},{5},{6}\n'
    (folder / "77_counter_collection.csv").write_text(head + "".join(
        row.format(99 + i, i, KERNEL, n, v, start, start + 400) for i, start in ((1, 1000), (2, 2000)) for n, v in COUNTERS[i - 1].items()))
    api = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    (folder / "77_hip_api_trace.csv").write_text(api + '"HIP_RUNTIME_API","hipLaunchKernel",77,78,100,900,950\n')
    (folder / "77_marker_api_trace.csv").write_text(api + '"MARKER_CORE_API","step 1",77,78,98,800,2700\n')
    (folder / "77_memory_copy_trace.csv").write_text(
        '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,"Agent 0","Agent 1",5,700,760\n')
    (folder / "77_kernel_stats.csv").write_text('"Name","Calls"\n"x",1\n')


def make_json(path):
    def info(number):
        return {"agent_id": {"handle": 11}, "queue_id": {"handle": 5}, "kernel_id": 9, "dispatch_id": number, "private_segment_size": 0,
                "group_segment_size": 512, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 1024, "y": 256, "z": 1}}

    def timed(start, end, correlation, **more):
        return {"start_timestamp": start, "end_timestamp": end, "correlation_id": {"internal": correlation, "external": 0}, **more}

    tool = {"metadata": {"pid": 77, "command": ["./train", "--fast"]},
            "agents": [{"id": {"handle": 10}, "type": 1, "name": "cpu"},
                       {"id": {"handle": 11}, "type": 2, "name": "gfx90a", "product_name": "AMD Instinct MI210", "cu_count": 104}],
            "counters": [{"id": {"handle": 1}, "name": "SQ_WAVES"}, {"id": {"handle": 2}, "name": "TCC_HIT_sum"}],
            "kernel_symbols": [{"kernel_id": 9, "formatted_kernel_name": KERNEL, "arch_vgpr_count": 8, "accum_vgpr_count": 4, "sgpr_count": 16}],
            "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP_API", "operations": ["none", "hipLaunchKernel"]},
                                           {"kind": "MARKER", "operations": ["roctxRangePush"]}],
                        "marker_api": [{"key": 98, "value": "step 1"}]},
            "callback_records": {"counter_collection": [
                {"thread_id": 78, "dispatch_data": timed(1000, 1500, 100, dispatch_info=info(1)),
                 "records": [{"counter_id": {"handle": 1}, "value": 4096.0}, {"counter_id": {"handle": 2}, "value": 4.0},
                             {"counter_id": {"handle": 2}, "value": 6.0}]},
                {"thread_id": 78, "dispatch_data": timed(2000, 2600, 101, dispatch_info=info(2)),
                 "records": [{"counter_id": {"handle": 1}, "value": 4096.0}, {"counter_id": {"handle": 2}, "value": 30.0}]}]},
            "buffer_records": {"kernel_dispatch": [timed(1000, 1500, 100, thread_id=78, dispatch_info=info(1)),
                                                   timed(2000, 2600, 101, thread_id=78, dispatch_info=info(2))],
                               "memory_copy": [timed(700, 760, 5, dst_agent_id={"handle": 11}, src_agent_id={"handle": 10}, bytes=4096)],
                               "hip_api": [timed(900, 950, 100, kind=1, operation=1, thread_id=78)],
                               "marker_api": [timed(800, 2700, 98, kind=2, operation=0, thread_id=78)]}}
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))


def make_workload(folder):
    """rocprof-compute: a wide file, its counters by channel, and one pass with a row per counter."""
    folder.mkdir()
    head = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,obj"
    (folder / "pmc_perf.csv").write_text(
        f'{head},SQ_WAVES,TCC_HIT[0],TCC_HIT[1],Start_Timestamp,End_Timestamp\n'
        f'0,"{KERNEL}",2,262144,64,512,0,8,4,16,64,0x7f,4096,4,6,1000,1500\n1,"{KERNEL}",2,262144,64,512,0,8,4,16,64,0x7f,4096,10,20,2000,2600\n')
    (folder / "sysinfo.csv").write_text("workload_name,gpu_model,gpu_arch,cu_per_gpu,wave_size\nw,MI200,gfx90a,104,64\n")
    (folder / "roofline.csv").write_text("device,HBMBw\n0,1389\n")


def check_damage(t):
    """Each kind of damage: what is said names the file and the place."""
    cut = t.folder / "cut"
    make_csv(cut)
    name = cut / "77_kernel_trace.csv"
    text = name.read_text()
    name.write_text(text[:text.rindex(",1024")] + "\n")
    done = t.run("import", "cut", "-o", "cut.rpd")
    t.expect("cut CSV", (done.returncode, "77_kernel_trace.csv:3: 19 fields, the header has 22" in done.stderr), (2, True))
    name.write_text(text.replace(",2000,2600,", ",2000,soon,"))
    done = t.run("import", "cut", "-o", "cut.rpd", "--force")
    t.expect("odd CSV", (done.returncode, "77_kernel_trace.csv:3: its times are not two numbers in order" in done.stderr), (2, True))
    (t.folder / "bad.json").write_text('{"rocprofiler-sdk-tool": [')
    done = t.run("import", "bad.json", "-o", "bad.rpd")
    t.expect("cut JSON", (done.returncode, "bad.json: byte 27: is not JSON" in done.stderr), (1, True))
    (t.folder / "other.json").write_text("{}")
    done = t.run("import", "other.json", "-o", "bad.rpd")
    t.expect("other JSON", (done.returncode, "it is not rocprofv3's" in done.stderr), (1, True))
    db = t.folder / "hurt.db"
    make_rocpd(db, (3, 0, 0))
    content = bytearray(db.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for at in range(3 * page, len(content), page):
        content[at:at + 64] = b"\xff" * 64
    db.write_bytes(content)
    done = t.run("import", "hurt.db", "-o", "bad.rpd")
    t.expect("hurt database", (done.returncode, "hurt.db: " in done.stderr), (1, True))
    (t.folder / "empty").mkdir()
    done = t.run("profile", "empty")
    t.expect("empty folder", done.returncode, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    with tempfile.TemporaryDirectory() as scratch:
        t = Tester(parser.parse_args().bin.resolve(), pathlib.Path(scratch))
        for version in ((3, 0, 0), (3, 0, 2), (3, 0, 5), (4, 0, 0)):
            name = "v" + "".join(map(str, version))
            make_rocpd(t.folder / f"{name}.db", version)
            t.expect(name, t.run("import", f"{name}.db", "-o", f"{name}.rpd").returncode, 0)
            t.check_trace(name, f"{name}.rpd")
        make_rocpd(t.folder / "rank1.db", (3, 0, 5), "_0000b", "node2")  # the same process number on another machine
        t.expect("ranks", t.run("import", "v305.db", "rank1.db", "-o", "ranks.rpd").returncode, 0)
        t.expect("ranks: dispatches", t.query("ranks.rpd", "select count(*), count(distinct gpuId) from rocpd_op where description_id > 1"), [(4, 2)])
        t.expect("ranks: processes", len(t.query("ranks.rpd", "select distinct pid from rocpd_api")), 2)
        make_csv(t.folder / "csv")
        t.expect("csv", t.run("import", "csv", "-o", "csv.rpd").returncode, 0)
        t.check_trace("csv", "csv.rpd")
        make_json(t.folder / "77_results.json")
        t.expect("json", t.run("import", "77_results.json", "-o", "json.rpd").returncode, 0)
        t.check_trace("json", "json.rpd")
        make_workload(t.folder / "workload")
        t.expect("workload", t.run("import", "workload", "-o", "workload.rpd").returncode, 0)
        t.check_trace("workload", "workload.rpd", calls=0, copies=0, markers=0)
        for source in ("v305.db", "csv", "77_results.json", "workload"):
            done = t.run("profile", source, "--json")
            t.expect(f"profile {source}", done.returncode, 0)
            kernel = json.loads(done.stdout)["kernels"][0] if done.returncode == 0 else {}
            t.expect(f"profile {source}: facts", (kernel.get("runtime_source"), kernel.get("calls"), kernel.get("counters", {}).get("TCC_HIT_sum")),
                     ("measured", 2, 20.0))
        t.expect("report", "scale" in t.run("report", "csv.rpd").stdout, True)
        # What we export for rocprof-compute comes back the same.
        t.expect("export", t.run("export", "--format", "rocprof", "workload.rpd", "-o", "again", "--gpu", "mi210").returncode, 0)
        t.expect("again", t.run("import", "again", "-o", "again.rpd").returncode, 0)
        t.check_trace("again", "again.rpd", calls=0, copies=0, markers=0)
        check_damage(t)
        print(f"{t.checks} checks, {t.failures} failures")
        sys.exit(1 if t.failures else 0)


if __name__ == "__main__":
    main()
