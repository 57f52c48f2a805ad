#!/usr/bin/env python3
"""Times code from its start to its result: `code`, Node.js, Python, and Python in a container.

measure.py [--program FILE] [--runs N]

The commands take turns, so that a busy machine is as busy for all. The container is made by runc
from this machine's /usr, without a network; it is left out where runc is not installed. Prints a
row for each with the median and the 95th percentile, in milliseconds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPT = "[1, 2, 3].map((n) => n * n).reduce((a, b) => a + b)"
PYTHON = "print(sum(n * n for n in [1, 2, 3]))"
CALL = json.dumps({"code": SCRIPT})


def bundle(directory):
    """Writes a bundle of an OCI container that runs the script in Python."""
    os.mkdir(os.path.join(directory, "rootfs"))
    subprocess.run(["runc", "spec"], cwd=directory, check=True)
    path = os.path.join(directory, "config.json")
    with open(path) as file:
        config = json.load(file)
    config["process"].update(terminal=False, args=["/usr/bin/python3", "-c", PYTHON])
    for mount in ["usr", "lib", "lib64", "bin", "etc"]:
        source = {"source": f"/{mount}", "destination": f"/{mount}"}
        config["mounts"].append({**source, "type": "bind", "options": ["rbind", "ro"]})
    with open(path, "w") as file:
        json.dump(config, file)


class Server:
    """A running `agent-host mcp` with the tool."""

    def __init__(self, program, directory):
        command = [program, "mcp", "--tool", "builtin:code"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=directory, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.count = 0
        client = {"name": "measure", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.count:
                return answer["result"]

    def run(self):
        result = self.ask("tools/call", {"name": "run_javascript", "arguments": {"code": SCRIPT}})
        text = result["content"][0]["text"]
        assert not result.get("isError") and json.loads(text) == {"value": 14}, result


def command(expected, *args, **options):
    """Returns a function that runs a command and checks what it prints."""

    def run():
        ran = subprocess.run(args, capture_output=True, text=True, check=True, **options)
        assert expected(ran.stdout), ran

    return run


def measure(contestants, runs):
    times = {name: [] for name in contestants}
    for turn in range(runs + 3):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            # The first turns fill caches.
            if turn >= 3:
                times[name].append((time.perf_counter() - began) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/release/agent-host")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as directory:
        server = Server(program, directory)
        called = [program, "call", "builtin:code", "run_javascript", CALL]
        contestants = {
            "a call in a running host": server.run,
            "agent-host call": command(
                lambda out: json.loads(out) == {"value": 14}, *called, cwd=directory
            ),
            "node -e": command(lambda out: out == "14\n", "node", "-e", f"console.log({SCRIPT})"),
            "python3 -c": command(lambda out: out == "14\n", "python3", "-c", PYTHON),
        }
        if shutil.which("runc"):
            container = os.path.join(directory, "container")
            os.mkdir(container)
            bundle(container)
            run = ["runc", "run", "--bundle", container, f"measure-{os.getpid()}"]
            contestants["python3 -c in a container (runc)"] = command(
                lambda out: out == "14\n", *run
            )
        for name, times in measure(contestants, options.runs).items():
            p95 = statistics.quantiles(times, n=20)[-1]
            print(f"{name:36} {statistics.median(times):8.2f} {p95:8.2f}")
        server.process.stdin.close()
        server.process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
