#!/usr/bin/env python3
"""`wavetap optimize --provider http` against a server that misbehaves.

  http_provider.py --bin BUILD/bin --clang clang++-19 --model MODEL

The server answers each question with the next step of a list. Whatever happens, the key must be nowhere but in the
header of the questions: not in the ledger, the outputs, a build's environment or any process's command line.
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import lab
from lab import KERNELS, STORE, TILED, TRANSPOSE, expect

KEY = "sk-test-0123456789abcdefKEEPOUT"
HALF = TRANSPOSE.replace(STORE, "if (x < 64) " + STORE)


def chat(content, **more):
    return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": more.pop("finish_reason", "stop")}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 200}, **more}


def candidate(text, **more):
    return json.dumps({"schema": "wavetap.optimize.answer/1", "kind": "file", "rationale": "faster", "files": {"transpose.inc": text}, **more})


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=(), length=None):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # the other side had enough

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server = self.server
        server.asked.append({"time": time.monotonic(), "path": self.path, "key": self.headers.get("Authorization"), "body": body})
        server.seen += who_shows_the_key()
        step = server.steps.pop(0) if server.steps else ("answer", 500, {"error": "no more"})
        if step[0] == "slow":
            server.stopped.wait(20)
            return
        self.close_connection = True
        if step[0] == "echo":
            self.answer(401, {"error": {"message": f"wrong key {self.headers['Authorization']}"}})
        elif step[0] == "truncated":
            self.answer(200, b'{"choices": [', length=5000)
        elif step[0] == "huge":
            self.answer(200, b'{"choices": "' + b"x" * (5 << 20) + b'"}')
        elif step[0] == "answer":
            self.answer(*step[1:])
        else:
            self.answer(200, chat(*step[1:]))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, steps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.steps, self.asked, self.seen, self.stopped = list(steps), [], [], threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()


def who_shows_the_key():
    """Processes but this one that show the key to whoever asks /proc."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        for name in ("cmdline", "environ"):
            try:
                if KEY.encode() in (process / name).read_bytes():
                    found.append(f"{process / name}: {(process / 'cmdline').read_bytes()}")
            except OSError:
                pass
    return found


class Bench(lab.Bench):
    def ask(self, server, ledger, *words, key=("--key-env", "MY_KEY"), status, model="test-model", repairs=0):
        """Runs it with the key, looks for the key everywhere; ledger.json and what was printed."""
        spy = "(env; cat /proc/*/environ /proc/*/cmdline) > spied.txt 2>/dev/null; "
        command = [str(self.bin / "wavetap"), "optimize", "--provider", "http", "--base-url", server.url, "--model", model, *key,
                   "--source", KERNELS / "transpose.inc", "--build", spy + self.compiler(), "--repairs", repairs, "--objective", "lines",
                   "-o", ledger, *words, "transpose.wtcap"]
        environment, fds = dict(self.environment, no_proxy="127.0.0.1"), []
        if key[0] == "--key-env":
            environment[key[1]] = KEY
        else:
            read, write = os.pipe()
            os.write(write, KEY.encode() + b"\n")
            os.close(write)
            command[command.index("--key-fd") + 1] = read
            fds = [read]
        done = subprocess.run([str(word) for word in command], cwd=self.scratch, env=environment, pass_fds=fds, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=280)
        for fd in fds:
            os.close(fd)
        if "neither bubblewrap nor namespaces work here" in done.stderr:
            raise lab.Skip(done.stderr.strip())
        expect(done.returncode == status, f"{ledger}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        expect(KEY not in done.stdout + done.stderr, f"{ledger}: the key is printed")
        shown = [path for path in self.scratch.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        expect(not shown, f"{ledger}: the key is in {shown}")
        expect((self.scratch / ledger / "attempts/000/spied.txt").read_text().count("PATH=") > 0, "the build saw nothing at all")
        expect(not server.seen, f"{ledger}: shown by {server.seen}")
        expect(all(question["key"] == f"Bearer {KEY}" for question in server.asked), "questions without the key")
        return json.loads((self.scratch / ledger / "ledger.json").read_text()), done.stdout


def storm(bench):
    """Everything goes wrong once; what is right in the end counts."""
    steps = [
        ("answer", 500, {"error": {"message": "sorry"}}),
        ("answer", 429, {"error": "too many"}, [("Retry-After", "1")]),
        ("chat", f"Here it is:\n```json\n{candidate(HALF)}\n```\n"),  # 1: a candidate, and wrong
        ("truncated",),
        ("answer", 200, b"<html>busy</html>"),
        ("chat", "I would rather not {say}."),  # 2: no candidate
        ("slow",),  # 3
        ("huge",),  # 4
        ("answer", 200, {"object": "list"}),  # 5
        ("chat", "Half a file:\n```cpp\n__global__ void transpose("),  # 6
        ("chat", f"<think>hm</think>By way of LDS.\n```cpp\n{TILED}\n```"),  # 7: right
        ("chat", candidate("", kind="declined")),
    ]
    with Server(steps) as server:
        ledger, printed = bench.ask(server, "storm", "--provider-timeout", 3, "--retries", 2, "--prompt-price", 2, "--answer-price", 10, status=0)
    wanted = [("replay", "instead of"), ("provider", "neither a JSON object"), ("provider", "no answer after 3 seconds"),
              ("provider", "larger than 4.0 MiB"), ("provider", "not a chat completion"), ("provider", "in the middle of transpose.inc"), ("accepted", "")]
    got = [(attempt["step"], attempt["reason"]) for attempt in ledger["attempts"]]
    expect(len(got) == len(wanted) and all(a == c and d in b for (a, b), (c, d) in zip(got, wanted)), got)
    expect(ledger["attempts"][-1]["rationale"] == "By way of LDS." and ledger["improvement"] > 2.4, ledger["attempts"][-1])
    usage = ledger["usage"]
    expect(usage["requests"] == 12 and usage["retries"] == 4, usage)
    expect(usage["prompt_tokens"] == 5000 and usage["answer_tokens"] == 1000 and abs(usage["cost"] - 0.02) < 1e-9 and not usage["estimated"], usage)
    expect(ledger["attempts"][0]["usage"]["retries"] == 2, ledger["attempts"][0])
    expect("asked 12 times (4 retries), 5 000 tokens in and 1 000 out, cost 0.0200" in printed, printed)
    expect(server.asked[2]["time"] - server.asked[1]["time"] >= 1, "Retry-After was not waited for")
    expect(all(question["path"] == "/v1/chat/completions" for question in server.asked), server.asked[0]["path"])
    first, second = (json.loads(server.asked[number]["body"]) for number in (0, 3))
    expect(first["model"] == "test-model" and TRANSPOSE in first["messages"][1]["content"], first)
    expect("instead of" in second["messages"][1]["content"], "the second question does not say what was wrong")


def repair(bench):
    """What the compiler said goes back with the answer that it said it of."""
    broken = TRANSPOSE.replace("in[y * n + x]", "in[nobody]")
    with Server([("chat", candidate(broken)), ("chat", candidate(TILED)), ("chat", candidate("", kind="declined"))]) as server:
        ledger, printed = bench.ask(server, "repair", repairs=1, status=0)
    expect([(attempt["step"], attempt["repairs"]) for attempt in ledger["attempts"]] == [("accepted", 1)], ledger["attempts"])
    first, second = (json.loads(server.asked[number]["body"])["messages"][1]["content"] for number in (0, 1))
    expect("in[nobody]" not in first and "build_errors" not in first, first)
    expect("undeclared identifier 'nobody'" in second and TRANSPOSE in second and "Your last answer, which does not build" in second, second)
    expect(broken in second.split("Your last answer")[1], second)


def refusals(bench):
    """What asking again cannot change ends it: a redirect, a wrong key, limits."""
    with Server([]) as other, Server([("answer", 302, {}, [("Location", other.url + "/chat/completions")])]) as server:
        ledger, printed = bench.ask(server, "redirect", status=2)
        expect(not other.asked, "asked another host")
    expect(len(ledger["attempts"]) == 1 and "redirects to http://127.0.0.1" in ledger["stopped"], ledger)
    with Server([("echo",)]) as server:
        ledger, printed = bench.ask(server, "wrong", key=("--key-fd", None), status=2)
    expect("HTTP status 401: wrong key Bearer [key]" in ledger["attempts"][0]["reason"] and len(ledger["attempts"]) == 1, ledger)
    expect("stopped: " in printed, printed)
    answer = ("chat", candidate(HALF, rationale=f"Bearer {KEY}"))
    with Server([answer] * 3) as server:
        ledger, printed = bench.ask(server, "tokens", "--max-tokens", 2400 + 600, status=2)
    expect(len(server.asked) <= 2 and "above --max-tokens 3000" in ledger["stopped"], ledger)
    with Server([("answer", 400, {"error": {"message": "use max_completion_tokens"}}), answer, answer, answer]) as server:
        ledger, printed = bench.ask(server, "cost", "--max-cost", 0.05, "--prompt-price", 10, "--answer-price", 100, "--answer-tokens", 50, status=2)
    expect("above --max-cost 0.05" in ledger["stopped"], ledger["stopped"])
    expect("max_tokens" in json.loads(server.asked[0]["body"]) and json.loads(server.asked[1]["body"])["max_completion_tokens"] == 50, "limit of an answer")
    with Server([("answer", 429, {}, [("Retry-After", "4000")])]) as server:
        ledger, printed = bench.ask(server, "later", status=2)
    expect(len(server.asked) == 1 and "no question for 4000 seconds" in ledger["stopped"], ledger)


def dry_run(bench):
    """The prompt is printed without a key and without asking."""
    asked = json.loads(bench.wavetap("optimize", "--provider", "http", "--base-url", "https://nowhere.invalid/v1", "--model", "m", "--key-env", "NO_SUCH",
                                     "--dry-run", "--source", KERNELS / "transpose.inc", "--build", bench.compiler(), "-o", "dry", "transpose.wtcap").stdout)
    expect(asked["model"] == "m" and len(asked["messages"]) == 2 and TRANSPOSE in asked["messages"][1]["content"], asked)


def optimize_http(bench):
    bench.__class__ = Bench
    bench.capture("transpose")
    storm(bench)
    repair(bench)
    refusals(bench)
    dry_run(bench)


if __name__ == "__main__":
    sys.argv.append("optimize_http")
    lab.optimize_http = optimize_http
    lab.main()
