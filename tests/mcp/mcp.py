#!/usr/bin/env python3
"""`wavetap mcp`, driven by a small client.

  mcp.py --bin BUILD/bin [--clang clang++-19] [--unprivileged] CASE

With --unprivileged root becomes another user first.

The cases are the functions below that take a bench.
"""
import argparse
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KERNELS = SOURCE / "tests/lab/kernels"
PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602


class Failure(Exception):
    pass


def expect(holds, what):  # what: made whether it is needed or not
    if not holds:
        raise Failure(what)


class Client:
    """Starts a server and talks to it; messages that nobody waited for are kept in `other`."""

    def __init__(self, bench, *words, version="2025-06-18"):
        self.process = subprocess.Popen([str(bench.bin / "wavetap"), "mcp", *map(str, words)], env=bench.environment, cwd=bench.scratch,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.other, self.last = queue.Queue(), [], 0
        threading.Thread(target=self.read, daemon=True).start()
        if version:
            self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, message):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def next(self, seconds=120):
        message = self.lines.get(timeout=seconds)
        if message is None:
            raise Failure(f"the server has ended: {self.process.stderr.read()}")
        return message

    def wait(self, number):
        while True:
            message = self.next()
            if isinstance(message, dict) and message.get("id") == number:
                return message
            self.other.append(message)

    def start(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def ask(self, method, **params):
        return self.wait(self.start(method, **params))

    def call(self, name, **arguments):
        """(is it an error, the text or the structured answer)"""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return result.get("isError", False), result.get("structuredContent") or result["content"][0]["text"]

    def good(self, name, status=0, **arguments):
        failed, answer = self.call(name, **arguments)
        expect(not failed and answer["exit_status"] == status, f"{name} {arguments}: {answer}")
        return answer["result"]

    def refused(self, word, name, **arguments):
        failed, answer = self.call(name, **arguments)
        expect(failed and word in json.dumps(answer), f"{name} {arguments}: {answer}")

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        expect(status == 0, f"exit status {status}: {self.process.stderr.read()}")


class Bench:
    def __init__(self, bin_folder, clang, scratch):
        self.bin, self.clang, self.scratch = bin_folder, clang, pathlib.Path(scratch).resolve()
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", XDG_CACHE_HOME=scratch)
        self.root = self.scratch / "project"
        self.root.mkdir()

    def trace(self, path):
        subprocess.run([self.bin / "trace_from_text", SOURCE / "tests/traces/small.txt", path], check=True, capture_output=True)

    def wavetap(self, *words):
        return subprocess.run([self.bin / "wavetap", *map(str, words)], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True).stdout


def protocol(bench):
    """Versions, errors, notifications, batches and rubbish; the server is there afterwards."""
    for asked, answered in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        client = Client(bench, "--root", bench.root, version=None)
        expect(client.ask("tools/list")["error"]["code"] == INVALID, "before initialize")
        expect(client.ask("ping")["result"] == {}, "ping before initialize")
        hello = client.ask("initialize", protocolVersion=asked, capabilities={})["result"]
        expect(hello["protocolVersion"] == answered and "tools" in hello["capabilities"] and hello["serverInfo"]["name"] == "wavetap", hello)
        structured = client.ask("tools/call", name="gpu_list", arguments={})["result"]
        expect(("structuredContent" in structured) == (answered >= "2025-06-18"), structured)
        expect(json.loads(structured["content"][0]["text"])["exit_status"] == 0, structured)
        client.close()
    client = Client(bench, "--root", bench.root)
    tools = client.ask("tools/list")["result"]["tools"]
    names = {tool["name"] for tool in tools}
    expect({"report", "analyze", "query", "check", "source", "swap_check", "capture_show", "doctor", "replay"} <= names, names)
    expect(not names & {"capture", "sanitize", "profile_program", "tune_step"}, "offers to run programs")
    for tool in tools:
        schema = tool["inputSchema"]
        expect(schema["type"] == "object" and set(schema.get("required", [])) <= set(schema["properties"]) and tool["description"], tool)
        expect(all("description" in row and "type" in row for row in schema["properties"].values()), tool)
    rubbish = [
        (b"{", PARSE), (b"\xff\xfe\x00", PARSE), (b"[" * 100000, PARSE), (b'"text"', INVALID), (b"7", INVALID), (b"[]", INVALID), (b"{}", INVALID),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', INVALID), (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID), (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', INVALID),
        (b'{"jsonrpc": "2.0", "id": 1}', INVALID), (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', PARAMS),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', METHOD), (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', PARAMS),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}', PARAMS),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}', PARAMS),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID), (b'{"x": "' + b"x" * (5 << 20) + b'"}', PARSE),
        (b"{" + b",".join(b'"%d":0' % number for number in range(200_000)) + b"}", PARSE),
    ]
    for message, code in rubbish:
        client.send(message)
        answer = client.next()
        expect(answer["error"]["code"] == code, f"{message[:80]}: {answer}")
    for silent in (b"", b"   ", b'{"jsonrpc": "2.0", "method": "notifications/strange", "params": []}', b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
                   b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}}'):
        client.send(silent)
    expect(client.ask("ping")["result"] == {} and not client.other, client.other)
    answer = client.ask("tools/call", name="report", arguments=[1])["result"]
    expect(answer["isError"] and "not an object" in answer["content"][0]["text"], answer)
    client.close()
    client = Client(bench, "--root", bench.root, version="2025-03-26")
    call = {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "gpu_show", "arguments": {"model": "mi210"}}}
    client.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"}, call])
    batch = client.next()
    expect([answer["id"] for answer in batch] == ["a", "b"] and "mi210" in json.dumps(batch[1]), batch)
    # What comes before the end of the input is answered.
    client.send(call)
    client.process.stdin.close()
    expect("mi210" in json.dumps(client.next()) and client.process.wait(timeout=60) == 0, "the last question")
    for words in ((), ("--root", "nowhere"), ("--root", ".", "--output-limit", "little")):
        done = subprocess.run([bench.bin / "wavetap", "mcp", *words], cwd=bench.scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        expect(done.returncode == 1 and "wavetap: error: " in done.stderr, done)


def reading(bench):
    """The tools say what the commands say."""
    bench.trace(bench.root / "t.rpd")
    client = Client(bench, "--root", bench.root)
    expect(client.good("report", trace="t.rpd", top=3) == json.loads(bench.wavetap("report", "--json", "--top", 3, bench.root / "t.rpd")), "report")
    expect(client.good("report", trace="t.rpd", by="kernel") == json.loads(bench.wavetap("report", "--json", "--by", "kernel", bench.root / "t.rpd")), "report")
    gaps = json.loads(bench.wavetap("analyze", "--json", "gaps", "--set", "min-us=2", bench.root / "t.rpd"))
    expect(client.good("analyze", analysis="gaps", trace=str(bench.root / "t.rpd"), settings=["min-us=2"]) == gaps, "analyze")
    expect(client.good("query", trace="t.rpd", sql="-- first\nselect 1 + 1 as two") == [{"two": 2}], "query")
    expect("only reading" in client.call("query", trace="t.rpd", sql="delete from rocpd_api")[1]["messages"], "writes")
    client.good("check", traces=["t.rpd", "./t.rpd"])
    expect(client.good("gpu_show", model="rx6800xt") == json.loads(bench.wavetap("gpu", "show", "--json", "rx6800xt")), "gpu_show")
    failed, answer = client.call("doctor")
    expect(not failed and answer["exit_status"] in (0, 2) and "findings" in answer["result"], answer)
    failed, answer = client.call("report", trace="t.rpd", by="kernel", top="3")
    expect(failed and "not a whole number" in answer, answer)
    client.refused("missing", "report")
    client.refused("did you mean trace", "report", trce="t.rpd")
    client.refused("is not one of", "analyze", analysis="nothing", trace="t.rpd")
    client.refused("neither true nor false", "doctor", all="yes")
    client.refused("not an array", "check", traces="t.rpd")
    client.refused("empty", "check", traces=[])
    client.close()
    small = Client(bench, "--root", bench.root, "--output-limit", "1k")
    small.refused("larger than 1.0 KiB", "report", trace="t.rpd")
    small.close()


def confined(bench):
    """Nothing outside the roots is read, written or run."""
    other = bench.scratch / "project2"
    other.mkdir()
    for path in (other / "t.rpd", bench.root / "t.rpd"):
        bench.trace(path)
    (bench.root / "link.rpd").symlink_to(other / "t.rpd")
    (bench.root / "folder").symlink_to(other)
    (bench.root / "nowhere").symlink_to(other / "made.wtcap")
    (bench.root / "inner").symlink_to(bench.root / "t.rpd")
    shutil.copy("/bin/true", other / "true")
    shutil.copy("/bin/true", bench.root / "true")
    (bench.root / "plain.txt").write_text("")
    client = Client(bench, "--root", bench.root, "--allow-run")
    client.good("check", traces=["inner"])
    for path in ("../project2/t.rpd", str(other / "t.rpd"), "link.rpd", "folder/t.rpd", "/etc/passwd", "/no/such/file", "../no/such/file", "folder/none"):
        client.refused("outside the folders", "check", traces=[path])
    client.refused("zero byte", "check", traces=["t.rpd\0.rpd"])
    client.refused("No such file", "check", traces=["none.rpd"])
    client.refused("is not a name", "gpu_show", model="../../models/mi210.gpu")
    client.refused("categories is not one of", "analyze", analysis="variability", trace="t.rpd", settings=["categories=/etc/passwd"])
    run = {"gpu": "rx6800xt", "output": "x.wtcap"}
    for path in ("/bin/true", "../project2/true", "folder/true"):
        client.refused("outside the folders", "capture", program=path, **run)
    client.refused("not a program", "capture", program="plain.txt", **run)
    for path in (str(other / "x.wtcap"), "../x.wtcap", "folder/x.wtcap"):
        client.refused("outside the folders", "capture", program="true", gpu="rx6800xt", output=path)
    client.refused("a link to nowhere", "capture", program="true", gpu="rx6800xt", output="nowhere")
    # Values are values: none becomes an option.
    client.refused("", "replay", file="plain.txt", verify="--dump=" + str(other / "dump"))
    client.call("source", file="true", kernel="--json --counters=/etc/passwd")
    client.refused("", "query", trace="t.rpd", sql="--format=csv")
    expect(sorted(path.name for path in other.iterdir()) == ["t.rpd", "true"], list(other.iterdir()))
    client.close()
    two = Client(bench, "--root", bench.root, "--root", bench.root / "folder")
    two.good("check", traces=[str(other / "t.rpd"), "t.rpd", "link.rpd"])
    two.close()


def alive(marker):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            pass
    return found


def wait_until(holds, what):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise Failure(what)


def endless(bench):
    """Calls that do not end: the limit of time, a client that loses interest, a server that is stopped."""
    program, marker = bench.root / "endless", "endless-" + str(os.getpid())
    program.write_text("#!/bin/sh\ntrap '' TERM\nsleep 1000 &\nwait\nsleep 1000\n")
    program.chmod(0o755)
    run = {"name": "capture", "arguments": {"program": "endless", "arguments": [marker], "gpu": "rx6800xt", "output": "x.wtcap"}}
    client = Client(bench, "--root", bench.root, "--allow-run", "--timeout", 4)
    number = client.start("tools/call", _meta={"progressToken": "p"}, **run)
    wait_until(lambda: alive(marker), "it does not start")
    expect(client.ask("ping")["result"] == {}, "busy")
    answer = client.wait(number)["result"]
    expect(answer["isError"] and "not done after 4 seconds" in answer["content"][0]["text"], answer)
    wait_until(lambda: not alive(marker), "it goes on")  # killed is not gone yet
    told = [message["params"] for message in client.other if message.get("method") == "notifications/progress"]
    expect(told and told[0]["progressToken"] == "p" and told[0]["progress"] >= 2, told)
    client.close()
    client = Client(bench, "--root", bench.root, "--allow-run", "--jobs", 1)
    first, second = client.start("tools/call", **run), client.start("tools/call", name="gpu_list", arguments={})
    third = client.start("tools/call", name="gpu_list", arguments={})
    wait_until(lambda: alive(marker), "it does not start")
    client.send({"jsonrpc": "2.0", "id": second, "method": "tools/call", "params": run})
    expect(client.wait(second)["error"]["code"] == INVALID, "an id that is in use")
    for number in (third, first):
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    client.wait(second)
    wait_until(lambda: not alive(marker), "it goes on")
    expect(not any(message.get("id") in (first, third) for message in client.other), client.other)
    client.start("tools/call", **run)
    wait_until(lambda: alive(marker), "it does not start")
    client.process.send_signal(signal.SIGTERM)
    expect(client.process.wait(timeout=30) == 0, "SIGTERM")
    wait_until(lambda: not alive(marker), "outlives the server")


def lab(bench):
    """Capture, show, replay, sanitize, profile and tune, without a shell."""
    shutil.copy(bench.bin / "hip/lab", bench.root / "lab")
    client = Client(bench, "--root", bench.root, "--allow-run")
    client.good("capture", program="lab", arguments=["matmul"], gpu="rx6800xt", kernel="matmul", output="m.wtcap")
    shown = client.good("capture_show", file="m.wtcap")
    expect(shown["captures"][0]["kernel"].startswith("matmul("), shown["captures"][0])
    replayed = client.good("replay", file="m.wtcap", verify="bits", counters=True)
    expect(replayed["verify"]["equal"] and "counters" in json.dumps(replayed), replayed)
    other = client.good("replay", file="m.wtcap", verify="bits", grid="1", status=15)
    expect(not other["verify"]["equal"], other)
    findings = client.good("sanitize_capture", file="m.wtcap", tools="memcheck")
    expect(isinstance(findings, dict), findings)
    expect(client.good("profile", file="m.wtcap")["bottleneck"], "profile")
    expect(client.good("profile_program", program="lab", arguments=["dot"], gpu="rx6800xt")["kernel"]["name"].startswith("dot("), "profile_program")
    expect(isinstance(client.good("sanitize", program="lab", arguments=["dot"], tools="memcheck,racecheck"), dict), "sanitize")
    expect(any("matmul" in json.dumps(row) for row in [client.good("source", file="lab", kernel="matmul", target="gfx1030")]), "source")
    (bench.root / "m.toml").write_text(f"""
[build]
command = "{bench.clang} -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch=gfx1030 -nogpuinc -nogpulib -fms-extensions -mcode-object-version=4 -O2 -include {KERNELS}/plain.h {KERNELS}/matmul.inc -DUNROLL={{UNROLL}} -o {{out}}"
[parameters]
UNROLL = [1, 2, 4, 8]
[measure]
capture = "m.wtcap"
[search]
strategy = "exhaustive"
batch = 1
""")
    step = client.good("tune_step", spec="m.toml", output="m.tune", evaluations=1)
    expect(step["evaluated_configs"] == 1, step)
    step = client.good("tune_step", spec="m.toml", output="m.tune", evaluations=2)
    expect(step["evaluated_configs"] == 3 and step["best_config"]["parameters"], step)
    client.close()


def become_nobody(wavetap):
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        subprocess.run([str(wavetap), "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIP: another user cannot run it: {error}")
        sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--unprivileged", action="store_true")
    parser.add_argument("case")
    arguments = parser.parse_args()
    if arguments.unprivileged:
        become_nobody(arguments.bin / "wavetap")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            globals()[arguments.case](Bench(arguments.bin.resolve(), arguments.clang, scratch))
        except Failure as failure:
            sys.exit(f"{arguments.case}: {failure}")


if __name__ == "__main__":
    main()
