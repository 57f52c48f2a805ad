"""The speed rows. The servers take turns, round by round, so that other load of the machine falls on all of them."""

import pathlib
import statistics
import tempfile
import time

from client import MIB, Failed
from surroundings import Surroundings

# The calls of a round: one after the other, in flight, and beside a loop.
SEQUENTIAL_CALLS = 500
FLIGHT_CALLS = 1000
BESIDE_CALLS = 100
# The time for one call, and for one beside a loop, in seconds.
CALL_SECONDS = 30.0
BESIDE_SECONDS = 2.0


def start(around):
    """Starts the server up to its first result; returns it, and the time in milliseconds."""
    began = time.perf_counter()
    server = around.start()
    try:
        if around.description.tool("echo") not in server.initialize():
            raise Failed("no tool `echo`")
        echo(server, around, 0)
    except Failed:
        server.stop()
        raise
    return server, (time.perf_counter() - began) * 1000


def echo(server, around, number, seconds=CALL_SECONDS):
    """Calls `echo`, checks the answer, and returns the time in milliseconds."""
    answer = server.call(around.description.tool("echo"), {"text": f"text {number}"}, seconds)
    expect(answer, number)
    return answer.seconds * 1000


def expect(answer, number):
    if not answer.ok or f":text {number}" not in answer.text:
        raise Failed(f"a wrong answer: {answer.evidence()}")


def in_flight(server, around, width):
    """Keeps `width` calls in flight; returns the calls per second."""
    tool = around.description.tool("echo")
    waiting, begun = {}, time.perf_counter()
    for number in range(FLIGHT_CALLS + width):
        if number >= width:
            request = next(iter(waiting))
            expect(server.wait(request, CALL_SECONDS), waiting.pop(request))
        if number < FLIGHT_CALLS:
            waiting[server.start_call(tool, {"text": f"text {number}"})] = number
    return FLIGHT_CALLS / (time.perf_counter() - begun)


def beside_loop(around):
    """Calls `echo` while another call loops; returns the times in milliseconds, of a server that answers."""
    server, _ = start(around)
    try:
        looping = server.start_call(around.description.tool("spin"), {})
        times = [echo(server, around, number, BESIDE_SECONDS) for number in range(BESIDE_CALLS)]
        if looping in server.answers:
            raise Failed("the loop ended before the calls beside it did")
        return times
    finally:
        server.stop()


def quantiles(times):
    times = sorted(times)
    return statistics.median(times), times[int(len(times) * 0.95)]


def one_round(around):
    """Measures one server once."""
    server, first = start(around)
    try:
        times = [echo(server, around, number) for number in range(SEQUENTIAL_CALLS)]
        p50, p95 = quantiles(times)
        found = {"start-ms": first, "p50-ms": p50, "p95-ms": p95}
        found |= {f"calls-per-second-{width}": in_flight(server, around, width) for width in (8, 32)}
        found["memory-mib"] = server.resident_bytes() / MIB
    finally:
        server.stop()
    try:
        found["beside-p50-ms"], found["beside-p95-ms"] = quantiles(beside_loop(around))
    except Failed as failure:
        found["beside-failed"] = str(failure)
    return found


def measure(descriptions, rounds, progress):
    """Measures the servers in turn; returns for each the medians, or why it was not measured."""
    with tempfile.TemporaryDirectory(prefix="peers-") as directory:
        around = {one.name: Surroundings(one, pathlib.Path(directory) / one.name, "speed") for one in descriptions}
        found, failed = {name: [] for name in around}, {}
        # The first round fills caches.
        for number in range(rounds + 1):
            for name, one in around.items():
                progress(f"speed, round {number} of {rounds}: {name}")
                try:
                    if name not in failed:
                        found[name].append(one_round(one))
                except (Failed, OSError) as failure:
                    failed[name] = str(failure)
        for one in around.values():
            one.close()
    return {name: {"failed": failed[name]} if name in failed else medians(all_rounds[1:]) for name, all_rounds in found.items()}


def medians(rounds):
    keys = {key: None for one in rounds for key in one}
    summary = {}
    for key in keys:
        values = [one[key] for one in rounds if key in one]
        summary[key] = values[0] if isinstance(values[0], str) else round(statistics.median(values), 3)
    return summary


def count_of_calls():
    """The calls that a server has answered when its memory is measured."""
    return 1 + SEQUENTIAL_CALLS + 2 * FLIGHT_CALLS


# The rows of the table: a title, and the cell of a server.
ROWS = {
    "start to the first result": lambda found: f"{found['start-ms']:.0f} ms",
    "`echo`, one after the other: p50, p95": lambda found: f"{found['p50-ms']:.2f}, {found['p95-ms']:.2f} ms",
    "`echo`, 8 in flight": lambda found: f"{found['calls-per-second-8']:,.0f}/s",
    "`echo`, 32 in flight": lambda found: f"{found['calls-per-second-32']:,.0f}/s",
    "`echo` beside a loop: p50, p95": lambda found: f"{found['beside-p50-ms']:.2f}, {found['beside-p95-ms']:.2f} ms"
    if "beside-p50-ms" in found
    else found["beside-failed"],
    f"memory after {count_of_calls():,} calls": lambda found: f"{found['memory-mib']:.0f} MiB",
}
