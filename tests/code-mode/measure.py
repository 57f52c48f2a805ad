#!/usr/bin/env python3
"""Compares code mode with plain calls of tools on twenty tasks.

measure.py [--program FILE] [--latency MS]

A scripted model on loopback answers each request, after a latency if one is given, so the round
trips and the bytes are those of a model that solves each task without a detour. Each task runs both
ways in a fresh directory; the program's value, and the files of both ways, are checked. Prints a row
for each task and the totals: round trips, thousands of tokens read and written (bytes of the
requests' messages and tools, and of the replies, divided by four), and the time in milliseconds.
"""

import argparse
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from tasks import FILES, TASKS

BYTES_PER_TOKEN = 4
RULES = """
search-tools-from = 0

[[grants.dir]]
host = "."
mode = "read-write"

[[rule]]
name = "writes"
tool = "write_file"
decision = "allow"
"""


class Model:
    """A server of one run that answers from a list."""

    def __init__(self, replies, latency):
        self.replies = list(replies)
        self.latency = latency
        self.requests = []
        self.written = 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                model.requests.append(json.loads(body))
                time.sleep(model.latency)
                calls = model.replies.pop(0)
                data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks(calls))
                data = (data + "data: [DONE]\n\n").encode()
                model.written += size(calls)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tokens_read(self):
        read = [size(request["messages"]) + size(request.get("tools", [])) for request in self.requests]
        return sum(read) // BYTES_PER_TOKEN


def size(value):
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def chunks(calls):
    if not calls:
        delta = {"role": "assistant", "content": "Done."}
        reason = "stop"
    else:
        made = [
            {"index": index, "id": f"call_{index}", "type": "function",
             "function": {"name": name, "arguments": json.dumps(arguments)}}
            for index, (name, arguments) in enumerate(calls)
        ]
        delta = {"role": "assistant", "tool_calls": made}
        reason = "tool_calls"
    yield {"choices": [{"index": 0, "delta": delta}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def run(program, replies, code, latency):
    """Runs the agent, and returns the model, the time in seconds, and the files left."""
    with tempfile.TemporaryDirectory() as home:
        work = pathlib.Path(home, "work")
        for path, text in FILES.items():
            file = work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        config = pathlib.Path(home, "agent.toml")
        rules = RULES.replace('host = "."', f'host = "{work}"')
        config.write_text(f"code = {str(code).lower()}\n{rules}")
        model = Model(replies, latency)
        port = model.server.server_address[1]
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "XDG_CACHE_HOME": str(CACHE),
            "OPENAI_COMPAT_BASE_URL": f"http://127.0.0.1:{port}/v1",
        }
        command = [program, "run", "--config", str(config), "--model", "openai-compat:m", "--quiet", "go"]
        began = time.perf_counter()
        ran = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        took = time.perf_counter() - began
        model.server.shutdown()
        if ran.returncode != 0:
            sys.exit(f"exit {ran.returncode}: {ran.stderr}")
        files = {str(path.relative_to(work)): path.read_text() for path in work.rglob("*") if path.is_file()}
        return model, took, files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/release/agent-host")
    parser.add_argument("--latency", type=float, default=0)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    latency = options.latency / 1000
    # Loads the components once.
    run(program, [[]], True, 0)
    totals = [[0, 0, 0, 0.0], [0, 0, 0, 0.0]]
    print(f"{'task':36} {'plain: trips':>12} {'read':>6} {'written':>7} {'ms':>6}  {'code: trips':>11} {'read':>6} {'written':>7} {'ms':>6}")
    for name, plain, source, value in TASKS:
        left = []
        row = f"{name:36}"
        for way, replies in enumerate(([*plain, []], [[("run_javascript", {"code": source})], []])):
            model, took, files = run(program, replies, way == 1, latency)
            left.append(files)
            figures = [len(model.requests), model.tokens_read(), model.written // BYTES_PER_TOKEN, took * 1000]
            totals[way] = [old + new for old, new in zip(totals[way], figures)]
            row += f" {figures[0]:>12} {figures[1]:>6} {figures[2]:>7} {figures[3]:>6.0f} "
            if way == 1:
                result = json.loads(model.requests[-1]["messages"][-1]["content"])
                assert result.get("value") == value, f"{name}: {result}, not {value}"
        assert left[0] == left[1], f"{name}: the files differ"
        print(row)
    for way, figures in zip(("plain", "code"), totals):
        trips, read, written, took = figures
        print(f"{way:6} {trips} round trips, {read} tokens read, {written} written, {took:.0f} ms")


with tempfile.TemporaryDirectory() as cache:
    CACHE = pathlib.Path(cache)
    main()
