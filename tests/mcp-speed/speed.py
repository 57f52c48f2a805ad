#!/usr/bin/env python3
"""Measures agent-host as a server of the Model Context Protocol beside a native server, in the same run.

A raw JSON-RPC client over pipes calls a tool that does nothing: of `agent-host mcp`, where it is a component behind every
limit, the policy and the journal, and of `mcp-echo`, which is what an author of native tools would write with the official
crate. The servers take turns, round by round, so that whatever else the machine does falls on all of them, and a ratio is the
median of the rounds' ratios. `cat` takes its turns, too: what a call of it costs is what the client and the pipes cost.

Before it runs, in the root of the workspace:
    cargo build --release -p agent-host -p agent-host-test-mcp-speed
Needs Python 3 and Linux (/proc), and nothing else.

Exit code: 0, or 1 when an answer is not the expected one or, with --check, a bound does not hold; 2 for a wrong command line.
"""

import argparse
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PROTOCOL_VERSION = "2025-11-25"
# Concurrent calls in the measurement of the rate.
IN_FLIGHT = 16
# The number of calls of the memory measurement, and the calls between two samples.
MEMORY_CALLS = 200_000
MEMORY_BLOCK = 500
# The timeout of one measurement of one server, in seconds; only a server that hangs reaches it.
DEADLINE = 300
# Looping calls of one tool, beside which the calls of another are measured: one, as many as the sandbox admits by default, more
# than the transport admits. The rows without any, first and last, show how idle the machine was.
NEIGHBOURS = (0, 1, 64, 1000, 0)
# The interval of the paced calls beside them, in seconds, and the time without an answer after which the refused calls have theirs.
PACE = 0.02
SETTLED = 0.5
# The size of one read, in bytes.
READ_BYTES = 1 << 16

# The bounds: ratios to the native server on `stdio()`, the growth of memory from the first quarter of
# the calls to the last in MiB, and the time to the first answer in ms. The pages that the allocator keeps
# vary by 1 to 4 MiB from run to run; over a million calls they grow no further.
MAX_P50_RATIO = 1.5
MIN_RATE_RATIO = 0.6
MAX_GROWTH_MIB = 4.0
MAX_START_MS = 50.0

HERE = pathlib.Path(__file__).resolve().parent
HOST, NATIVE, PIPES, FLOOR = "agent-host", "native, stdio()", "native, pipes", "cat, the client itself"


class Wrong(Exception):
    """A server gave a wrong answer."""


class Server:
    """A process, and the ends of its pipes."""

    def __init__(self, name, command, directory):
        self.name = name
        self.next_id = 1
        self.log = open(directory / f"{name.split(',')[0]}.log", "ab")
        # As clients start servers. The home directory is beside the current one, which is granted by default.
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(directory.parent / "home")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment, cwd=directory, bufsize=0
        )
        self.input = self.process.stdin.fileno()
        self.output = self.process.stdout.fileno()

    def line(self):
        """Reads one line, the server's whole answer."""
        data = os.read(self.output, READ_BYTES)
        while not data.endswith(b"\n"):
            more = os.read(self.output, READ_BYTES)
            if not more:
                raise Wrong(f"{self.name} closed its output; it wrote to stderr: {self.said()}")
            data += more
        return data

    def initialize(self):
        """Initializes the connection and returns the protocol version."""
        client = {"name": "mcp-speed", "version": "0.1.0"}
        params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        self.send({"id": 0, "method": "initialize", "params": params})
        return json.loads(self.line())["result"]["protocolVersion"]

    def opened(self):
        """Sends the `initialized` notification."""
        self.send({"method": "notifications/initialized"})
        return self

    def send(self, message):
        os.write(self.input, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def requests(self, tool, count):
        """The request lines of `count` calls, made before the measurement."""
        params = json.dumps({"name": tool, "arguments": {"text": "How much is the fish?"}})
        first, self.next_id = self.next_id, self.next_id + count
        form = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":' + params + "}\n"
        return [(form % request).encode() for request in range(first, self.next_id)]

    def said(self):
        return pathlib.Path(self.log.name).read_text(errors="replace").strip()[-2000:] or "nothing"

    def processor_us(self):
        """The processor time of all threads so far, in microseconds."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1000

    def drain(self):
        """Reads until the server is silent; returns the number of answers."""
        answers = 0
        while select.select([self.output], [], [], SETTLED)[0]:
            answers += os.read(self.output, READ_BYTES).count(b"\n")
        return answers

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))

    def stop(self):
        """Ends the server as a client does: closes its input and waits for it to exit."""
        self.process.stdin.close()
        try:
            code = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong(f"{self.name} continues after the end of its input")
        finally:
            self.process.stdout.close()
            self.log.close()
        if code != 0:
            raise Wrong(f"{self.name} ended with {code}: {self.said()}")


def check(server, requests, answers):
    """Whether every request has its own answer, which says `ok`."""
    asked = [json.loads(line)["id"] for line in requests]
    told = [json.loads(line) for line in answers.splitlines()]
    if server.name == FLOOR:
        good = {message["id"] for message in told if "method" in message}
    else:
        ok = [{"type": "text", "text": "ok"}]
        good = {message["id"] for message in told if message.get("result", {}).get("content") == ok and not message["result"].get("isError")}
    if len(told) != len(asked) or good != set(asked):
        bad = next((message for message in told if message.get("id") not in good), "too few or too many")
        raise Wrong(f"{server.name}: {len(good)} of {len(asked)} calls were answered well; {bad}; stderr: {server.said()}")


def one_at_a_time(server, tool, count, pace=0):
    """Makes sequential calls, each after `pace` seconds; returns the time of each in microseconds."""
    requests, answers, times = server.requests(tool, count), [], []
    source, sink, clock = server.output, server.input, time.perf_counter_ns
    for request in requests:
        if pace:
            time.sleep(pace)
        begin = clock()
        os.write(sink, request)
        answer = os.read(source, READ_BYTES)
        if not answer.endswith(b"\n"):
            answer += server.line()
        times.append((clock() - begin) / 1000)
        answers.append(answer)
    check(server, requests, b"".join(answers))
    return times


def side_by_side(server, tool, count):
    """Keeps sixteen calls in flight, each sent as soon as another is answered; returns calls per second, the processor time of a
    call in microseconds, and the time of each call in microseconds."""
    requests, answers, sent_at = server.requests(tool, count), [], []
    source, sink, clock = server.output, server.input, time.perf_counter_ns
    answered, sent = 0, min(IN_FLIGHT, count)
    used = server.processor_us()
    begin = clock()
    sent_at += [begin] * sent
    os.write(sink, b"".join(requests[:sent]))
    while answered < count:
        data = os.read(source, READ_BYTES)
        if not data:
            raise Wrong(f"{server.name} closed its output; it wrote to stderr: {server.said()}")
        now = clock()
        answers.append((now, data))
        answered += data.count(b"\n")
        upto = min(answered + IN_FLIGHT, count)
        if upto > sent:
            os.write(sink, b"".join(requests[sent:upto]))
            sent_at += [now] * (upto - sent)
            sent = upto
    rate = count / (clock() - begin) * 1e9
    used = (server.processor_us() - used) / count
    check(server, requests, b"".join(data for _, data in answers))
    first, times, rest = json.loads(requests[0])["id"], [], b""
    for now, data in answers:
        *lines, rest = (rest + data).split(b"\n")
        times += [(now - sent_at[json.loads(line)["id"] - first]) / 1000 for line in lines]
    return rate, used, times


def percentiles(rounds):
    times = sorted(value for one in rounds for value in one)
    return {f"p{share}_us": round(times[min(len(times) - 1, len(times) * share // 100)], 1) for share in (50, 95, 99)}


def taking_turns(servers, rounds, measure):
    """The figures of each server in each round, by its name."""
    measured = {server.name: [] for server in servers}
    for turn in range(rounds):
        # The order rotates, since each server runs on the machine state that the one before left.
        for server in servers[turn % len(servers) :] + servers[: turn % len(servers)]:
            signal.alarm(DEADLINE)
            measured[server.name].append(measure(server))
            signal.alarm(0)
    return measured


def ratios(measured, value=lambda one: one):
    """The median of agent-host's ratios to each other server."""
    of = lambda name: statistics.median(value(ours) / value(theirs) for ours, theirs in zip(measured[HOST], measured[name]))
    return {name: round(of(name), 2) for name in measured if name != HOST}


def latency(servers, tool, rounds, count):
    for server in servers:
        one_at_a_time(server, tool, count)
    measured = taking_turns(servers, rounds, lambda server: one_at_a_time(server, tool, count))
    return {"servers": {name: percentiles(of) for name, of in measured.items()}, "ratios": ratios(measured, statistics.median)}


def rate(servers, tool, rounds, count):
    for server in servers:
        side_by_side(server, tool, count)
    measured = taking_turns(servers, rounds, lambda server: side_by_side(server, tool, count))
    found = {
        name: {
            "calls_per_s": round(statistics.median(rate for rate, _, _ in of)),
            "cpu_us": round(statistics.median(used for _, used, _ in of), 1),
            **percentiles(times for _, _, times in of),
        }
        for name, of in measured.items()
    }
    return {"servers": found, "ratios": ratios(measured, lambda one: one[0])}


def neighbours(command, directory, count):
    """The times of a tool's calls beside looping calls of another tool, one after the other and paced."""
    server, rows, looping = Server(f"{HOST} beside loops", command, directory), {}, []
    try:
        server.initialize()
        server.opened()
        one_at_a_time(server, "noop", count)
        for row, wanted in enumerate(NEIGHBOURS):
            signal.alarm(DEADLINE)
            for request in looping if wanted == 0 else ():
                server.send({"method": "notifications/cancelled", "params": {"requestId": request}})
            calls = server.requests("endless", max(0, wanted - len(looping)))
            looping += [json.loads(call)["id"] for call in calls]
            for call in calls:
                os.write(server.input, call)
            refused = server.drain()
            sequential = percentiles([one_at_a_time(server, "noop", count)])
            paced = percentiles([one_at_a_time(server, "noop", count // 4, PACE)])
            figures = {"p50_us": sequential["p50_us"], "p99_us": sequential["p99_us"], "paced p50_us": paced["p50_us"], "paced p99_us": paced["p99_us"]}
            rows[f"{wanted} looping{', again' if row and not wanted else ''}"] = {**figures, "refused": refused}
            signal.alarm(0)
        server.stop()
    finally:
        server.process.kill()
    return {"servers": rows}


def memory(server, count):
    """The resident memory over many calls: the median of the first quarter and of the last, and the most."""
    seen = []
    for _ in range(count // MEMORY_BLOCK):
        signal.alarm(DEADLINE)
        side_by_side(server, "noop", MEMORY_BLOCK)
        signal.alarm(0)
        seen.append(server.resident_bytes() / (1 << 20))
    quarter = max(1, len(seen) // 4)
    first, last = statistics.median(seen[:quarter]), statistics.median(seen[-quarter:])
    return {"first_mib": round(first, 2), "last_mib": round(last, 2), "growth_mib": round(last - first, 2), "most_mib": round(max(seen), 2)}


def start(name, command, directory, times):
    """From the start of the process to the answer of `initialize`, in ms: the median and the worst."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        server = Server(name, command, directory)
        server.initialize()
        taken.append((time.perf_counter() - begin) * 1000)
        server.stop()
    return {"median_ms": round(statistics.median(taken), 1), "worst_ms": round(max(taken), 1)}


def prepare(directory, programs):
    """Creates the directory of tools and configuration; returns the command of each server."""
    tools = directory / "tools"
    tools.mkdir()
    subprocess.run([programs / "mcp-tools", tools], check=True)
    lines = ['state-dir = "state"']
    limits = {"endless": "\n[tool.limits]\ndeadline-ms = 600000"}
    for component in sorted(tools.glob("*.wasm")):
        # The effectful tool is measured, too, and no user can be asked.
        approval = '\napproval = "never"' if component.stem == "change" else ""
        lines.append(f'\n[[tool]]\nname = "{component.stem}"\ncomponent = "tools/{component.name}"{approval}{limits.get(component.stem, "")}')
    (directory / "agent.toml").write_text("\n".join(lines) + "\n")
    native = str(programs / "mcp-echo")
    return {
        HOST: [str(programs / "agent-host"), "mcp", "--config", str(directory / "agent.toml")],
        NATIVE: [native],
        PIPES: [native, "pipes"],
        FLOOR: ["cat"],
    }


def measure(directory, given):
    commands = prepare(directory, given.programs)
    # Compiles the tools and accepts them.
    start(HOST, commands[HOST], directory, 1)
    found = {"start": {name: start(name, commands[name], directory, given.starts) for name in (HOST, NATIVE)}}
    servers = [Server(name, command, directory) for name, command in commands.items()]
    try:
        agreed = {server.name: server.initialize() for server in servers if server.name != FLOOR}
        if len(set(agreed.values())) != 1:
            raise Wrong(f"the servers do not speak the same version of the protocol: {agreed}")
        for server in servers:
            if server.name != FLOOR:
                server.opened()
        found["read_only_one_at_a_time"] = latency(servers, "noop", given.rounds, given.calls)
        found["read_only_16_in_flight"] = rate(servers, "noop", given.rounds, given.calls * 4)
        ours = servers[:1]
        # Each waits for the disk twice.
        found["effectful_one_at_a_time"] = latency(ours, "change", 2, max(1, given.calls // 10))
        found["effectful_16_in_flight"] = rate(ours, "change", 2, max(IN_FLIGHT, given.calls // 2))
        found["memory"] = {server.name: memory(server, given.memory_calls) for server in servers[:2]}
        for server in servers:
            server.stop()
        found["read_only_one_at_a_time_beside_looping_calls"] = neighbours(commands[HOST], directory, given.calls)
    finally:
        for server in servers:
            server.process.kill()
    return found


def bounds(found):
    """The bounds, each with its figure and whether it holds."""
    p50 = found["read_only_one_at_a_time"]["ratios"][NATIVE]
    calls = found["read_only_16_in_flight"]["ratios"][NATIVE]
    growth = found["memory"][HOST]["growth_mib"]
    first = found["start"][HOST]["median_ms"]
    return [
        ("p50, one call at a time", f"at most {MAX_P50_RATIO} of the native server's", p50, p50 <= MAX_P50_RATIO),
        ("calls per second, 16 in flight", f"at least {MIN_RATE_RATIO} of the native server's", calls, calls >= MIN_RATE_RATIO),
        ("memory, last quarter of the calls over the first", f"at most {MAX_GROWTH_MIB} MiB", growth, growth <= MAX_GROWTH_MIB),
        ("start to the answer of `initialize`, ten tools", f"under {MAX_START_MS:g} ms", first, first < MAX_START_MS),
    ]


def table(found):
    for title, section in found.items():
        print(title.replace("_", " "))
        for name, values in section.get("servers", section).items():
            print(f"  {name:24}", "".join(f"{key.rsplit('_', 1)[0]:>12} {value:<9}" for key, value in values.items()).rstrip())
        for name, ratio in section.get("ratios", {}).items():
            print(f"  ratio to {name:15} {ratio:>12}")
        print()
    for what, bound, value, holds in bounds(found):
        print(f"{'holds' if holds else 'FAILS'}  {what}: {value} ({bound})")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=HERE.parent.parent / "target/release", metavar="DIR", help="where the built programs are [default: target/release]")
    parser.add_argument("--rounds", type=int, default=9, help="how often each server has its turn [default: 9]")
    parser.add_argument("--calls", type=int, default=1000, help="in a turn; four times as many with 16 in flight [default: 1000]")
    parser.add_argument("--memory-calls", type=int, default=MEMORY_CALLS, metavar="CALLS", help=f"over which the memory is watched [default: {MEMORY_CALLS}]")
    parser.add_argument("--starts", type=int, default=20, help="of which the median is taken [default: 20]")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.add_argument("--check", action="store_true", help="fail when a bound does not hold")
    given = parser.parse_args()
    given.programs = given.programs.resolve()
    missing = [name for name in ("agent-host", "mcp-echo", "mcp-tools") if not (given.programs / name).is_file()]
    if missing:
        parser.error(f"no {', '.join(missing)} in {given.programs}; --help says how they are built")
    if min(given.rounds, given.calls, given.starts) < 1 or given.memory_calls < MEMORY_BLOCK:
        parser.error(f"--rounds, --calls and --starts are at least 1, and --memory-calls {MEMORY_BLOCK}")
    return given


def out_of_time(_signal, _frame):
    raise Wrong(f"a server has not answered for {DEADLINE} s")


def main():
    given = arguments()
    signal.signal(signal.SIGALRM, out_of_time)
    with tempfile.TemporaryDirectory(prefix="mcp-speed-") as directory:
        try:
            work, home = (pathlib.Path(directory) / name for name in ("work", "home"))
            work.mkdir()
            home.mkdir()
            found = measure(work, given)
        except (Wrong, OSError, subprocess.CalledProcessError) as error:
            print(f"speed.py: {error}", file=sys.stderr)
            return 1
    judged = bounds(found)
    if given.json:
        keys = ("what", "bound", "found", "holds")
        print(json.dumps({**found, "bounds": [dict(zip(keys, row)) for row in judged]}, indent=2))
    else:
        table(found)
    return 1 if given.check and not all(holds for *_, holds in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
