#!/usr/bin/env python3
"""Measures how many sessions and barriers 1, 2 and 4 hosts on one PostgreSQL do a second, all on this machine.

Each session calls `http_post` a number of times, at a server of this script. `host/adapters/journal/examples/postgres_barriers.rs` measures
the barriers alone.

Before it runs, in the root of the workspace: cargo build --release
"""

import argparse
import pathlib
import shutil
import tempfile
import threading
import time

import nemesis

# The clients of each measurement.
CLIENTS = 16


class Direct:
    """Stands in the place of a proxy."""

    def __init__(self, database):
        self.port = database.primary.port


def measure(args, hosts):
    args.hosts, args.seed, args.disk = hosts + 1, 1, 2000
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-host-throughput-"))
    directory.chmod(0o755)
    nemesis.Proxy, nemesis.MAX_RUNS, nemesis.LEASE_SECONDS = Direct, 256, 15
    bench = nemesis.Nemesis(args, directory)
    try:
        # The last one has another configuration; half of the others would be workers.
        for host in bench.hosts:
            host.process.kill()
            host.process.wait()
        serving = bench.hosts[:hosts]
        for host in serving:
            host.is_worker, host.faketime = False, None
            host.start()
        sql = bench.database.primary.sql
        while int(sql("SELECT count(*) FROM hosts WHERE reported > clock_timestamp() - interval '4 seconds'")) < hosts:
            time.sleep(0.2)
        is_over, number, lock = threading.Event(), [0], threading.Lock()

        def send(client):
            while not is_over.is_set():
                with lock:
                    number[0] += 1
                    key = f"session-{number[0]}"
                serving[client % hosts].create(key, key)

        def counts():
            done = int(sql("SELECT count(*) FROM progress WHERE outcome = 'done'"))
            return time.monotonic(), done, int(sql("SELECT last_value FROM writes"))

        clients = [threading.Thread(target=send, args=(client,), daemon=True) for client in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(3)
        before = counts()
        time.sleep(args.seconds)
        after = counts()
        is_over.set()
        took, sessions, barriers = (last - first for first, last in zip(before, after))
        print(f"| {hosts} | {sessions / took:.0f} | {sessions * args.steps / took:.0f} | {barriers / took:.0f} |", flush=True)
    finally:
        for host in bench.hosts:
            host.process.kill()
        bench.database.close()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/agent-host")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    print("| hosts | sessions a second | calls a second | barriers a second |\n|---|---|---|---|", flush=True)
    for hosts in (1, 2, 4):
        measure(args, hosts)


if __name__ == "__main__":
    main()
