#!/usr/bin/env python3
"""The algorithms of wavetap's analyses as one would write them in Python over SQLite: the yardstick of measure.py.

  reference.py report|callstack|autograd|graph|variability|chrome|trim TRACE.rpd [OUT]
  reference.py merge TRACE.rpd… OUT

Plain code, no tricks for or against it: SQL where SQL says it shortest, dictionaries and lists otherwise. Prints a
few numbers of its result, which measure.py holds against wavetap's so that both are known to do the same work.
"""
import collections
import json
import re
import shutil
import sqlite3
import sys


def open_trace(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def strings_of(db):
    return dict(db.execute("select id, string from rocpd_string"))


def percentile(ordered, p):
    return ordered[max(0, -(-len(ordered) * p // 100) - 1)]


def summarise(groups):
    rows = []
    for name, values in groups.items():
        values.sort()
        rows.append((sum(values), name, len(values), percentile(values, 50), percentile(values, 99)))
    return sorted(rows, reverse=True)


NUMBERS = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = ")


def label_of(text):
    """A marker's text without the numbers PyTorch puts behind an operator's name."""
    return NUMBERS.split(text, 1)[0]


def report(path):
    db = open_trace(path)
    names = strings_of(db)
    kernels, calls, markers = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
    per_gpu = collections.defaultdict(list)
    launched = dict(db.execute("select l.op_id, a.start from rocpd_api_ops l join rocpd_api a on a.id = l.api_id"))
    for op, gpu, start, end, description, kind in db.execute(
            "select id, gpuId, start, end, description_id, opType_id from rocpd_op"):
        per_gpu[gpu].append((start, end, launched.get(op)))
        if names[kind] in ("KernelExecution", "Task"):
            kernels[names[description] or names[kind]].append(end - start)
    for name, start, end, text in db.execute(
            "select a.apiName_id, a.start, a.end, u.string from rocpd_api a join rocpd_ustring u on u.id = a.args_id"):
        if names[name] == "UserMarker":
            markers[label_of(text)].append(end - start)
        else:
            calls[names[name]].append(end - start)
    busy = {}
    for gpu, ops in per_gpu.items():
        ops.sort(key=lambda op: op[0])
        total, late, reached = 0, 0, ops[0][0]
        for start, end, asked in ops:
            if start > reached and asked is not None:
                late += min(max(asked - reached, 0), start - reached)
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        busy[gpu] = (total, late)
    tables = [summarise(group) for group in (kernels, calls, markers)]
    return {"dispatches": sum(len(values) for values in kernels.values()),
            "busy_ns": sum(total for total, _ in busy.values()), "top_kernel_ns": tables[0][0][0]}


def walk_stacks(db):
    """Yields (caller ids outermost first and the call itself, cpu time of the call alone, its gpu time)."""
    gpu = dict(db.execute("select l.api_id, sum(o.end - o.start) from rocpd_api_ops l join rocpd_op o on o.id = l.op_id "
                          "group by l.api_id"))
    threads = collections.defaultdict(list)
    for api, pid, tid, start, end in db.execute("select id, pid, tid, start, end from rocpd_api"):
        threads[pid, tid].append((start, -end, -api))
    for calls in threads.values():
        calls.sort()
        stack = []
        for start, end, api in calls:
            start, end, api = start, -end, -api
            while stack and stack[-1][1] <= start:
                done = stack.pop()
                yield [frame[0] for frame in stack] + [done[0]], done[2], gpu.get(done[0], 0)
            if stack:
                stack[-1][2] -= end - start
            stack.append([api, end, end - start])
        while stack:
            done = stack.pop()
            yield [frame[0] for frame in stack] + [done[0]], done[2], gpu.get(done[0], 0)


def callstack(path):
    db = open_trace(path)
    names = {api: label_of(text) if name == "UserMarker" else name for api, name, text in db.execute(
        "select a.id, n.string, u.string from rocpd_api a join rocpd_string n on n.id = a.apiName_id "
        "join rocpd_ustring u on u.id = a.args_id")}
    inclusive, exclusive = collections.Counter(), collections.Counter()
    gpu_inclusive, gpu_exclusive = collections.Counter(), collections.Counter()
    for chain, cpu, gpu in walk_stacks(db):
        for caller in chain:
            inclusive[names[caller]] += cpu
            gpu_inclusive[names[caller]] += gpu
        exclusive[names[chain[-1]]] += cpu
        gpu_exclusive[names[chain[-1]]] += gpu
    name, most = max(inclusive.items(), key=lambda item: (item[1], item[0]))
    return {"names": len(inclusive), "most_inclusive_ns": most, "gpu_ns": sum(gpu_exclusive.values())}


LONG = re.compile(r"^(.+), seq = ([0-9]+), op_id = ([0-9]+), sizes = (.*), input_op_ids = (.*)$")


def autograd(path):
    db = open_trace(path)
    operators = {}
    for api, text in db.execute("select a.id, u.string from rocpd_api a join rocpd_ustring u on u.id = a.args_id "
                                "where u.string like '%, op_id = %'"):
        match = LONG.match(text)
        if match:
            operators[api] = match.groups()
    kernel_of = dict(db.execute("select k.api_ptr_id, s.string from rocpd_kernelapi k join rocpd_string s on s.id = k.kernelName_id"))
    sums = collections.defaultdict(lambda: [0, 0])
    for chain, _, gpu in walk_stacks(db):
        if chain[-1] in kernel_of and len(chain) > 1 and chain[-2] in operators:
            name, _, _, sizes, _ = operators[chain[-2]]
            entry = sums[name, kernel_of[chain[-1]], sizes]
            entry[0] += 1
            entry[1] += gpu
    return {"operators": len(operators), "kernels": len(sums), "gpu_ns": sum(entry[1] for entry in sums.values())}


def graph(path):
    db = open_trace(path)
    launches = db.execute(
        "select a.id, a.end - a.start, count(o.id), min(o.start), max(o.end), sum(o.end - o.start) from rocpd_api a "
        "join rocpd_string n on n.id = a.apiName_id left join rocpd_api_ops l on l.api_id = a.id "
        "left join rocpd_op o on o.id = l.op_id where n.string = 'hipGraphLaunch' group by a.id").fetchall()
    return {"launches": len(launches), "gpu_ns": sum(row[5] or 0 for row in launches)}


def variability(path):
    db = open_trace(path)
    names = strings_of(db)
    per_gpu = collections.defaultdict(list)
    for gpu, start, end, description, kind in db.execute("select gpuId, start, end, description_id, opType_id from rocpd_op"):
        if names[kind] in ("KernelExecution", "CopyDeviceToDevice", "Task"):
            per_gpu[gpu].append((start, end, names[description] or names[kind]))
    groups = collections.defaultdict(list)
    for ops in per_gpu.values():
        ops.sort(key=lambda op: op[0])
        for before, op in zip(ops, ops[1:]):
            groups[before[2], op[2]].append(op[1] - op[0])
    saved = {key: (sum(values) / len(values) - min(values)) * len(values) for key, values in groups.items()}
    return {"sequences": len(groups), "saved_ns": int(sum(saved.values()))}


def chrome(path, out):
    db = open_trace(path)
    names = strings_of(db)
    count = 0
    with open(out, "w") as file:
        file.write('{"traceEvents": [\n{}')
        for gpu, queue, start, end, description, kind in db.execute(
                "select gpuId, queueId, start, end, description_id, opType_id from rocpd_op"):
            event = {"ph": "X", "pid": gpu, "tid": queue, "name": names[description] or names[kind], "ts": start / 1000,
                     "dur": (end - start) / 1000, "args": {"desc": names[kind]}}
            file.write(",\n" + json.dumps(event))
            count += 1
        for pid, tid, name, text, start, end in db.execute(
                "select a.pid, a.tid, a.apiName_id, u.string, a.start, a.end from rocpd_api a "
                "join rocpd_ustring u on u.id = a.args_id"):
            marker = names[name] == "UserMarker"
            event = {"ph": "X", "pid": pid, "tid": tid, "name": text if marker else names[name], "ts": start / 1000,
                     "dur": (end - start) / 1000, "args": {"desc": text}}
            file.write(",\n" + json.dumps(event))
            count += 1
        for link, pid, tid, end, gpu, queue, start in db.execute(
                "select l.id, a.pid, a.tid, a.end, o.gpuId, o.queueId, o.start from rocpd_api_ops l "
                "join rocpd_api a on a.id = l.api_id join rocpd_op o on o.id = l.op_id"):
            for event in ({"ph": "s", "id": link, "pid": pid, "tid": tid, "ts": min(end / 1000 - 2, start / 1000)},
                          {"ph": "f", "bp": "e", "id": link, "pid": gpu, "tid": queue, "ts": start / 1000}):
                event.update(cat="api_op", name="api_op")
                file.write(",\n" + json.dumps(event))
        file.write("\n]}\n")
    return {"slices": count}


def trim(path, out):
    shutil.copy(path, out)
    db = sqlite3.connect(out)
    first, last = db.execute("select min(start), max(start) from rocpd_api").fetchone()
    begin, end = first + (last - first) // 4, first + (last - first) // 2
    db.execute("delete from rocpd_api where start < ? or start > ?", (begin, end))
    db.execute("delete from rocpd_api_ops where api_id not in (select id from rocpd_api)")
    db.execute("delete from rocpd_op where id not in (select op_id from rocpd_api_ops)")
    for table in ("rocpd_kernelapi", "rocpd_copyapi"):
        db.execute(f"delete from {table} where api_ptr_id not in (select id from rocpd_api)")
    db.execute("delete from rocpd_ustring where id not in (select args_id from rocpd_api)")
    db.commit()
    db.execute("vacuum")
    return {}


def merge(*paths):
    shutil.copy(paths[0], paths[-1])
    db = sqlite3.connect(paths[-1])
    columns = {table: [row[1] for row in db.execute(f"pragma table_info({table})")] for table in
               ("rocpd_string", "rocpd_ustring", "rocpd_api", "rocpd_op", "rocpd_api_ops", "rocpd_kernelapi", "rocpd_copyapi")}
    for rank, path in enumerate(paths[1:-1], 1):
        db.execute("attach ? as other", [path])
        for table, names in columns.items():
            shifted = [f"{name} + {rank << 32}" if name == "id" or name.endswith("_id") else
                       f"{name} + {rank * 10_000_000}" if name in ("pid", "tid") else
                       f"{name} + {rank * 1000}" if name in ("gpuId", "queueId") else name for name in names]
            db.execute(f"insert into {table} select {', '.join(shifted)} from other.{table}")
        db.commit()
        db.execute("detach other")
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
