#!/usr/bin/env python3
"""Measures how the cost of requests to `agent-host serve` grows with the sessions that are stored, and
with the length of a session.

For few and for many stored sessions: the time of lists, rows and figures, and how many sessions 16
clients start and see the end of in a second. For a short and a long session: the time of what pages
and clients ask for. Every figure is a median, and the last column is what the large size takes of the
small one.

Before it runs, in the root of the workspace:

    cargo build --release
    cargo build --release -p agent-host-journal --example store_scale
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

TOKEN = "a-token-that-only-this-script-knows"
TIMES = 101
CLIENTS = 16


class Server:
    """`agent-host serve` on a state directory that was filled before."""

    def __init__(self, arguments, directory, sessions, questions):
        work, home = directory / "work", directory / "home"
        state = home / ".local/state/agent-host"
        for path in (work, state):
            path.mkdir(parents=True)
        state.chmod(0o700)
        fill = [arguments.fill, "make", state, work, str(sessions), str(questions)]
        made = subprocess.run(fill, check=True, capture_output=True, text=True).stdout
        self.session = made.split()[-1]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "AGENT_HOST_SERVE_TOKEN": TOKEN}
        command = [arguments.program, "serve", "--http", "127.0.0.1:0", "--model", "script:tour"]
        self.process = subprocess.Popen(
            command, cwd=work, env=environment, stderr=subprocess.PIPE, text=True
        )
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/api", line):
                self.port = int(found.group(1))
                return
        sys.exit("the server did not start")

    def client(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def end(self):
        self.process.terminate()
        self.process.wait(120)


def request(client, method, path, body=None, headers=None):
    """Sends a request and returns the text of the answer."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **(headers or {})}
    client.request(method, path, None if body is None else json.dumps(body), headers)
    response = client.getresponse()
    text = response.read()
    if response.status >= 300:
        sys.exit(f"{method} {path}: {response.status} {text.decode()}")
    return text


def median_ms(server, path, count=TIMES):
    client = server.client()
    times = []
    for _ in range(count):
        began = time.perf_counter()
        request(client, "GET", path)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def wait(client, session):
    path = f"/api/v1/sessions/{session}"
    while json.loads(request(client, "GET", path))["status"] in ("running", "new"):
        pass


def sessions_a_second(server, seconds):
    """Starts sessions of the tour by several clients, each of which polls until its own has ended."""
    end = time.monotonic() + seconds

    def run():
        client, count = server.client(), 0
        while time.monotonic() < end:
            started = request(client, "POST", "/api/v1/sessions", {"message": "hello"})
            wait(client, json.loads(started)["session"])
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        runs = [pool.submit(run) for _ in range(CLIENTS)]
        return sum(run.result() for run in runs) / seconds


def message_ms(server, headers=lambda _: {}):
    """The time in which a message to the session is accepted; each is waited for."""
    client, times = server.client(), []
    for number in range(9):
        began = time.perf_counter()
        path = f"/api/v1/sessions/{server.session}/messages"
        request(client, "POST", path, {"message": "go on"}, headers(number))
        times.append((time.perf_counter() - began) * 1000)
        wait(client, server.session)
    return statistics.median(times)


def of_stored(server, arguments):
    one = f"/api/v1/sessions/{server.session}"
    return {
        "GET /sessions/{id}, ms": median_ms(server, one),
        "GET /sessions?limit=50, ms": median_ms(server, "/api/v1/sessions?limit=50"),
        "GET /stats, ms": median_ms(server, "/api/v1/stats"),
        "GET /stats?by=tool, ms": median_ms(server, "/api/v1/stats?by=tool&since=30d"),
        "GET /metrics, ms": median_ms(server, "/metrics", 9),
        "sessions a second, 16 clients": sessions_a_second(server, arguments.seconds),
    }


def of_length(server, _):
    one = f"/api/v1/sessions/{server.session}"
    key = lambda number: {"Idempotency-Key": f"key-{number}"}
    return {
        "GET .../requests, ms": median_ms(server, f"{one}/requests"),
        "GET .../artifacts, ms": median_ms(server, f"{one}/artifacts"),
        "POST .../messages, ms": message_ms(server),
        "the same with a key, ms": message_ms(server, key),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    release = "target/release"
    parser.add_argument("--program", default=f"{release}/agent-host")
    parser.add_argument("--fill", default=f"{release}/examples/store_scale")
    parser.add_argument("--sessions", type=int, nargs=2, default=(50, 20_000))
    parser.add_argument("--questions", type=int, nargs=2, default=(22, 4_444))
    parser.add_argument("--seconds", type=int, default=10, help="of the sessions a second")
    arguments = parser.parse_args()
    arguments.program = str(pathlib.Path(arguments.program).resolve())
    for what, sizes, measured in (
        ("stored sessions", [(count, 1) for count in arguments.sessions], of_stored),
        ("events", [(1, count) for count in arguments.questions], of_length),
    ):
        columns = []
        for sessions, questions in sizes:
            with tempfile.TemporaryDirectory() as directory:
                server = Server(arguments, pathlib.Path(directory), sessions, questions)
                try:
                    columns.append(measured(server, arguments))
                finally:
                    server.end()
        heads = [sessions if what == "stored sessions" else questions * 9 + 1 for sessions, questions in sizes]
        print(f"{what:34}{heads[0]:>10}{heads[1]:>10}     ratio")
        for name in columns[0]:
            small, large = (column[name] for column in columns)
            print(f"{name:34}{small:>10.2f}{large:>10.2f}{large / small:>10.2f}")


main()
