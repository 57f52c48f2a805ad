#!/usr/bin/env python3
"""Measures how much later an event reaches a reader at another host than one at the host that runs the session.

Two hosts on one PostgreSQL run sessions one after the other, each with a number of calls; one reader is at each. Both stamp the
arrival of each event with the same clock.

Before it runs, in the root of the workspace: cargo build --release
"""

import argparse
import http.client
import json
import pathlib
import shutil
import statistics
import tempfile
import threading
import time

import nemesis


def read(host, session, arrived, ready):
    """Reads the events of a session until its run is over."""
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    connection.request("GET", f"/api/v1/sessions/{session}/events", headers={"authorization": f"Bearer {nemesis.TOKEN}"})
    response = connection.getresponse()
    ready.set()
    number = None
    while True:
        line = response.readline()
        now = time.monotonic()
        if line.startswith(b"id: "):
            number = int(line[4:])
        elif line.startswith(b"data: ") and number is not None:
            arrived[number] = now
            event = json.loads(line[6:])["event"]
            number = None
            if event["kind"] == "turn-ended" and event["outcome"]["type"] != "needs-more-turns":
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/agent-host")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    args.hosts, args.seed, args.disk = 3, 1, 1500
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-host-across-"))
    directory.chmod(0o755)
    bench = nemesis.Nemesis(args, directory)
    # One serves, one is a worker, and one has another configuration: any host reads any session.
    near, far = bench.hosts[0], bench.hosts[2]
    bench.hosts[1].process.kill()
    later = []
    try:
        for number in range(args.sessions):
            session = None
            while session is None:
                session = near.create(f"across-{number}", f"across-{number}")
            readers, times = [], [{}, {}]
            for host, arrived in zip((near, far), times):
                ready = threading.Event()
                reader = threading.Thread(target=read, args=(host, session, arrived, ready))
                reader.start()
                ready.wait()
                readers.append((reader, time.monotonic()))
            for reader, _ in readers:
                reader.join()
            # What was there before both read is not measured.
            begun = readers[1][1]
            later += [far_at - times[0][number] for number, far_at in times[1].items() if times[0][number] > begun]
    finally:
        for host in bench.hosts:
            host.process.kill()
        bench.database.close()
        shutil.rmtree(directory, ignore_errors=True)
    later.sort()
    milliseconds = [round(1000 * later[int(len(later) * part)], 2) for part in (0.5, 0.9, 0.99)]
    print(json.dumps({"events": len(later), "p50, p90, p99 in ms": milliseconds, "mean in ms": round(1000 * statistics.mean(later), 2)}))


if __name__ == "__main__":
    main()
