#!/usr/bin/env python3
"""Runs hostile guests through any MCP server that speaks over standard input and output, and prints who survived.

For each guest the server is started anew. The driver initializes it, lists its tools, calls every tool, and after each call
asks whether the server still answers. Every step has a deadline, and the memory of the server and its children is watched, so
that nothing here depends on the server's good behaviour. Needs Python 3 and Linux (/proc), and nothing else.

Exit code: 0 when the server survived every guest, 1 when it did not, 2 for a wrong command line.
"""

import argparse
import json
import os
import pathlib
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time

PROTOCOL_VERSION = "2025-06-18"
# The most tools of a guest that are called.
MAX_TOOLS = 16
# The longest accepted line, in bytes: a server may pass on any output of a guest.
MAX_LINE_BYTES = 64 * 1024 * 1024
# The most lines in the queue.
MAX_WAITING_LINES = 64
# The interval of memory checks, in seconds.
SAMPLE_SECONDS = 0.02
# How long to ask a server without tools again, in seconds: some load a component after they answer.
LOAD_SECONDS = 3.0
# The time for a server to exit once its input is closed, in seconds.
END_SECONDS = 2.0
MIB = 1024 * 1024


class Hung(Exception):
    """No answer within the deadline."""


class Died(Exception):
    """The server's process has ended, or has closed its output."""


class Garbage(Exception):
    """The server wrote something that is not a message of the protocol."""


class TooMuchMemory(Exception):
    """The server took more memory than it was allowed, and was killed."""


class Server:
    """One server process, with a thread that reads it and one that watches its memory."""

    def __init__(self, command, deadline, max_bytes):
        self.deadline = deadline
        self.max_bytes = max_bytes
        self.peak = 0
        self.over = False
        self.next_id = 0
        # Bounded, so that a flooding server waits instead of filling the driver's memory.
        self.lines = queue.Queue(MAX_WAITING_LINES)
        # A process session of its own, so that its children can be killed with it.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for work in (self._read, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def _read(self):
        while line := self.process.stdout.readline(MAX_LINE_BYTES):
            self.lines.put(line)
        self.lines.put(None)

    def _watch(self):
        while self.process.poll() is None:
            self.peak = max(self.peak, session_memory(self.process.pid))
            if self.peak > self.max_bytes:
                self.over = True
                self.kill()
            time.sleep(SAMPLE_SECONDS)

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise self._ended() from error

    def ask(self, method, params):
        """Sends a request and returns its response: an object with `result` or `error`."""
        self.next_id += 1
        request = self.next_id
        self.send({"id": request, "method": method, "params": params})
        until = time.monotonic() + self.deadline
        # A flooding server never leaves the queue empty, so the deadline is checked each time.
        while (left := until - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            if line is None:
                raise self._ended()
            message = parse(line)
            if "method" in message:
                self._answer(message)
            elif message.get("id") == request:
                return message
            # Otherwise it is the late answer to an abandoned request.
        raise Hung(f"no answer to {method} in {self.deadline:g} s")

    def _answer(self, message):
        """Declines requests of the server and ignores its notifications."""
        if "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})

    def give_up(self):
        """Cancels the last request."""
        self.send({"method": "notifications/cancelled", "params": {"requestId": self.next_id}})

    def _ended(self):
        try:
            code = self.process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return Died("it closed its output")
        if self.over:
            return TooMuchMemory(f"more than {self.max_bytes // MIB} MiB")
        return Died(f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stop(self):
        """Closes the server's input as a client does, and kills what remains of it."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=END_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.kill()
        self.process.wait()


def parse(line):
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Garbage(f"not a message: {line[:60]!r}")
    return message


def session_memory(session):
    """The resident bytes of all processes of a session."""
    total = 0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The program's name is in parentheses and may contain any character.
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total


def initialize(server):
    """Initializes the connection and returns the tools, or the server's reason to refuse the guest as text."""
    client = {"name": "agent-host-hostile-suite", "version": "0.1.0"}
    params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
    opened = server.ask("initialize", params)
    if "error" in opened:
        return told(opened)
    server.send({"method": "notifications/initialized"})
    until = time.monotonic() + LOAD_SECONDS
    while not (tools := list_tools(server)):
        if time.monotonic() > until:
            return "it offers no tool"
        time.sleep(SAMPLE_SECONDS)
    return tools


def list_tools(server):
    """Lists the tools, or returns the error as text."""
    listed = server.ask("tools/list", {})
    if "error" in listed:
        return told(listed)
    tools = listed["result"].get("tools") if isinstance(listed.get("result"), dict) else None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) and "name" in tool for tool in tools):
        raise Garbage("tools/list has no tools")
    return tools[:MAX_TOOLS]


def told(response):
    error = response["error"]
    return str(error.get("message", error) if isinstance(error, dict) else error)


def call(server, tool):
    """Calls a tool; returns whether it succeeded, and the beginning of the answer."""
    answer = server.ask("tools/call", {"name": tool["name"], "arguments": {}})
    if "error" in answer:
        return False, told(answer)
    result = answer.get("result")
    if not isinstance(result, dict):
        raise Garbage("tools/call has neither a result nor an error")
    texts = [part.get("text", "") for part in result.get("content", []) if isinstance(part, dict)]
    return not result.get("isError", False), " ".join(texts)


def attempt(server):
    """Runs all steps on one guest; returns the outcome, a detail, and whether the server survived."""
    try:
        tools = initialize(server)
    except Died as died:
        # A server may exit normally when it refuses a guest; a crash does not count as survival.
        code = server.process.poll()
        refused = code is not None and code > 0
        return ("refused" if refused else "died"), str(died), refused
    if isinstance(tools, str):
        return "refused", tools, True
    outcome, said = "answered-ok", ""
    for tool in tools:
        try:
            good, said = call(server, tool)
        except Hung as hung:
            server.give_up()
            outcome, said = "hung", str(hung)
            break
        if not good:
            outcome = "answered-error"
    # After any guest, the next request must be answered.
    server.ask("ping", {})
    server.ask("tools/list", {})
    return outcome, said, outcome != "hung"


def judge(command, deadline, max_bytes):
    """Runs one guest to its row of the table."""
    began = time.monotonic()
    server = Server(command, deadline, max_bytes)
    try:
        outcome, said, survived = attempt(server)
    except (Hung, Died, Garbage, TooMuchMemory) as fault:
        names = {Hung: "hung", Died: "died", Garbage: "garbage", TooMuchMemory: "memory"}
        outcome, said, survived = names[type(fault)], str(fault), False
    finally:
        server.stop()
    if server.over:
        outcome, survived = "memory", False
    return {
        "outcome": outcome,
        "said": printable(said),
        "seconds": round(time.monotonic() - began, 2),
        "peak_mib": round(server.peak / MIB, 1),
        "survived": survived,
    }


def printable(text, most=100):
    """The beginning of an untrusted text, made safe for a terminal."""
    return "".join(c if c.isprintable() else " " for c in text[:most])


def table(rows):
    lines = [("guest", "outcome", "seconds", "peak MiB", "survived", "")]
    for row in rows:
        survived = "yes" if row["survived"] else "NO"
        lines.append((row["guest"], row["outcome"], str(row["seconds"]), str(row["peak_mib"]), survived, row["said"]))
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print(f"\nsurvived {sum(row['survived'] for row in rows)} of {len(rows)}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="COMMAND", help="how the server is started; {component} stands for the guest's file")
    parser.add_argument("--guests", required=True, type=pathlib.Path, metavar="DIR", help="the directory with the guests (*.wasm)")
    parser.add_argument("--deadline", type=float, default=30.0, metavar="SECONDS", help="for each answer [default: 30]")
    parser.add_argument("--max-memory", type=int, default=2048, metavar="MIB", help="of the server and its children; above it they are killed [default: 2048]")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    given = parser.parse_args()
    if "{component}" not in given.server:
        parser.error("--server has no {component}; write it where the guest's file belongs")
    guests = sorted(given.guests.glob("*.wasm"), key=lambda guest: guest.stem)
    if not guests:
        parser.error(f"no *.wasm in {given.guests}; tests/security/hostile/README.md says how they are made")
    return given, guests


def main():
    given, guests = arguments()
    rows = []
    for guest in guests:
        # Split first and filled in after, so that no file name becomes two arguments.
        command = [word.replace("{component}", str(guest)) for word in shlex.split(given.server)]
        try:
            row = judge(command, given.deadline, given.max_memory * MIB)
        except OSError as error:
            sys.exit(f"mcp.py: the server cannot be started: {error}\n  next: check --server")
        rows.append({"guest": guest.stem, **row})
        print(f"{guest.stem}: {row['outcome']}", file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps({"server": given.server, "guests": rows}, indent=2))
    else:
        table(rows)
    return 0 if all(row["survived"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
