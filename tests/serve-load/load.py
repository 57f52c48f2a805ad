#!/usr/bin/env python3
"""Measures `agent-host serve` from outside: how fast an event that is in the journal reaches a reader, how many sessions run at
once without a lost event, what an idle server and an idle reader cost, and what connections that say nothing cost others.

The model is a server of this script, which answers at once. An event is in the journal when another process, which only reads the
SQLite file, sees it there; it has reached the reader when its bytes came out of the socket. Both are stamped with the same
monotonic clock.

Before it runs, in the root of the workspace: cargo build --release
Needs Python 3 and Linux (/proc), and nothing else.

Exit code: 0, or 1 when a reader lost an event or saw one twice.
"""

import argparse
import http.server
import json
import multiprocessing
import os
import pathlib
import re
import selectors
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOKEN = "a-token-that-only-this-script-knows"
# The timeout of everything that is waited for, in seconds.
DEADLINE = 120
# The sessions of the measurement of latency, one after the other.
LATENCY_SESSIONS = 200
# A session's last event, and the number of its turns.
ENDED = b'"kind":"turn-ended"'
TURNS = 2
# The number of requests that are timed beside idle readers.
BESIDE = 200


class Model(http.server.BaseHTTPRequestHandler):
    """Answers a chat with a call of `list_directory`, then with a text."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if request["messages"][-1]["role"] == "tool":
            delta, reason = {"content": "Done."}, "stop"
        else:
            function = {"name": "list_directory", "arguments": '{"path": "."}'}
            call = {"index": 0, "id": "call_0", "type": "function", "function": function}
            delta, reason = {"tool_calls": [call]}, "tool_calls"
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        chunks = [
            {"choices": [{"index": 0, "delta": delta}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class Server:
    """`agent-host serve` in a directory of its own."""

    def __init__(self, program, directory, files=None):
        model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        model.request_queue_size = 1024
        model.daemon_threads = True
        threading.Thread(target=model.serve_forever, daemon=True).start()
        work, home = directory / "work", directory / "home"
        work.mkdir()
        home.mkdir()
        (work / "note.txt").write_text("hello")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AGENT_HOST_SERVE_TOKEN": TOKEN,
            "OPENAI_COMPAT_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
        }
        arguments = [program, "serve", "--http", "127.0.0.1:0", "--model", "openai-compat:m"]
        if files:
            arguments = ["prlimit", f"--nofile={files}", *arguments]
        self.process = subprocess.Popen(
            arguments, cwd=work, env=environment, stderr=subprocess.PIPE, text=True
        )
        line = ""
        while "http://127.0.0.1:" not in line:
            line = self.process.stderr.readline()
            if not line:
                sys.exit("the server did not start")
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/api", line).group(1))
        self.journal = home / ".local/state/agent-host/agent-host.db"

    def connect(self):
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def send(self, stream, method, path, body=None):
        text = "" if body is None else json.dumps(body)
        head = (
            f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n"
        )
        stream.sendall((head + text).encode())

    def request(self, method, path, body=None):
        with self.connect() as stream:
            self.send(stream, method, path, body)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += stream.recv(1 << 16)
            head, rest = answer.split(b"\r\n\r\n", 1)
            length = int(re.search(rb"content-length: (\d+)", head, re.I).group(1))
            while len(rest) < length:
                rest += stream.recv(1 << 16)
            return json.loads(rest)

    def watch(self, session):
        stream = self.connect()
        self.send(stream, "GET", f"/sessions/{session}/events")
        return stream

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024

    def end(self):
        self.process.terminate()
        self.process.wait(DEADLINE)


def new_ids(text):
    """The numbers of the events in a piece of a stream."""
    return [int(number) for number in re.findall(rb"(?m)^id: ?(\d+)\r?$", text)]


def journal_times(path, ready, stop, out):
    """Notes when the event of each session first is in the journal: `(session, seq)` to seconds."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    seen, last, times = -1, 0, []
    ready.set()
    while not stop.is_set():
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version == seen:
            continue
        seen = version
        rows = db.execute("SELECT rowid, session, seq FROM events WHERE rowid > ?", (last,))
        rows = rows.fetchall()
        now = time.monotonic()
        for rowid, session, seq in rows:
            times.append((session, seq, now))
            last = max(last, rowid)
    out.put(times)


def read_to_end(stream):
    """Reads the events of a session to its end; returns the pieces, each with the time of its arrival."""
    pieces, ends = [], 0
    while ends < TURNS:
        text = stream.recv(1 << 16)
        pieces.append((text, time.monotonic()))
        ends += text.count(ENDED)
    return pieces


def latency(server):
    """The time from an event in the journal to its bytes at a reader, in ms."""
    context = multiprocessing.get_context("fork")
    ready, stop, out = context.Event(), context.Event(), context.Queue()
    poller = context.Process(target=journal_times, args=(server.journal, ready, stop, out))
    poller.start()
    ready.wait(DEADLINE)
    read = {}
    for _ in range(LATENCY_SESSIONS):
        session = server.request("POST", "/sessions", {"message": "hello"})["session"]
        with server.watch(session) as stream:
            for text, now in read_to_end(stream):
                read.update(((session, seq), now) for seq in new_ids(text))
    stop.set()
    written = {(session, seq): at for session, seq, at in out.get(timeout=DEADLINE)}
    poller.join()
    # What was written before the reader came is in neither.
    return sorted((read[key] - written[key]) * 1000 for key in read if key in written)


def sessions(server, count):
    """Runs sessions at once, each with a reader; returns the seconds, and the events of each."""
    began = time.monotonic()
    readers = selectors.DefaultSelector()
    texts, peak = {}, 0
    for _ in range(count):
        session = server.request("POST", "/sessions", {"message": "hello"})["session"]
        stream = server.watch(session)
        texts[stream] = b""
        readers.register(stream, selectors.EVENT_READ)
    open_count = count
    while open_count:
        peak = max(peak, server.resident_mib())
        for key, _ in readers.select(DEADLINE):
            stream = key.fileobj
            texts[stream] += stream.recv(1 << 16)
            if texts[stream].count(ENDED) == TURNS:
                readers.unregister(stream)
                stream.close()
                open_count -= 1
    seconds = time.monotonic() - began
    return seconds, peak, [new_ids(text) for text in texts.values()]


def idle_readers(server, count):
    """Opens streams of one session; returns MiB before and with them, and ms of requests beside."""
    session = server.request("POST", "/sessions", {"message": "hello"})["session"]
    with server.watch(session) as stream:
        read_to_end(stream)
    before = server.resident_mib()
    streams = []
    for _ in range(count):
        stream = server.watch(session)
        streams.append(stream)
        if len(streams) % 500 == 0:
            # So that none waits in the kernel's queue.
            stream.recv(1)
    for stream in streams:
        stream.recv(1)
    with_them = server.resident_mib()
    beside = []
    for _ in range(BESIDE):
        began = time.monotonic()
        server.request("GET", "/health")
        beside.append((time.monotonic() - began) * 1000)
    for stream in streams:
        stream.close()
    return before, with_them, sorted(beside)


def idle_connections(server, count):
    """Opens connections that say nothing; returns ms of requests beside them, and how many are left."""
    connections = []
    for _ in range(count):
        connections.append(server.connect())
    beside = []
    for _ in range(BESIDE):
        began = time.monotonic()
        server.request("GET", "/health")
        beside.append((time.monotonic() - began) * 1000)
    left = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            left += connection.recv(1) != b""
        except BlockingIOError:
            left += 1
        except ConnectionError:
            pass
        connection.close()
    return sorted(beside), left


def percentile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="target/release/agent-host", help="the program to measure")
    parser.add_argument("--sessions", type=int, default=200, help="sessions at once [default: 200]")
    parser.add_argument("--readers", type=int, default=1000, help="idle readers [default: 1000]")
    parser.add_argument(
        "--connections", type=int, default=1000, help="connections that say nothing [default: 1000]"
    )
    parser.add_argument("--files", help="limit of open files of the server, as SOFT:HARD")
    parser.add_argument("--only-connections", action="store_true", help="measure nothing but those")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    with tempfile.TemporaryDirectory() as directory:
        server = Server(program, pathlib.Path(directory), arguments.files)
        try:
            return measure(server, arguments)
        finally:
            server.end()


def measure(server, arguments):
    beside, left = idle_connections(server, arguments.connections)
    print(
        f"{arguments.connections} connections that say nothing, {left} of them kept; a request beside them: "
        f"p50 {percentile(beside, 0.5):.2f} ms, p99 {percentile(beside, 0.99):.2f} ms, at most {beside[-1]:.2f} ms"
    )
    if arguments.only_connections:
        return 0
    print(f"idle: {server.resident_mib():.1f} MiB")
    took = latency(server)
    print(
        f"event in the journal to its bytes at the reader, {len(took)} events, one session at a time: "
        f"p50 {percentile(took, 0.5):.3f} ms, p99 {percentile(took, 0.99):.3f} ms"
    )
    seconds, peak, events = sessions(server, arguments.sessions)
    numbers = sum(len(ids) for ids in events)
    is_whole = all(ids == list(range(len(ids))) for ids in events)
    print(
        f"{arguments.sessions} sessions at once: {seconds:.2f} s, {numbers} events, "
        f"{'none lost or doubled' if is_whole else 'SOME LOST OR DOUBLED'}, at most {peak:.0f} MiB"
    )
    before, with_them, beside = idle_readers(server, arguments.readers)
    each = (with_them - before) * 1024 / arguments.readers
    print(
        f"{arguments.readers} idle readers: {each:.1f} KiB each ({before:.0f} to {with_them:.0f} MiB); "
        f"a request beside them: p50 {percentile(beside, 0.5):.2f} ms, p99 {percentile(beside, 0.99):.2f} ms"
    )
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
