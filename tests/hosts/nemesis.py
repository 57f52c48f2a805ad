#!/usr/bin/env python3
"""Runs several hosts on one PostgreSQL, breaks them and the server again and again, and checks what became of their sessions.

Each session calls `http_post` a number of times; a counter outside counts the requests by their idempotency keys. The hosts reach
the server through a proxy each, which cuts connections. `check.py` judges by the tables and the counts alone.

Faults: kill (SIGKILL), pause (SIGSTOP for longer than a lease), end (SIGTERM), clock (the time of day jumps, by libfaketime),
cut-before and cut-after (connections end before a statement arrives, or before its answer does), crash (the server stops at once and
starts again), failover (the server is lost, and its synchronous standby takes its place), full (its disk is full). One host has
another configuration all the time.

Before it runs, in the root of the workspace: cargo build --release
Needs Python 3, PostgreSQL's programs, libfaketime, and, for `full` and for a server of its own user, to be root in a place where a
tmpfs can be mounted. A fault whose means are missing is named, and not counted.

Exit code: 0, or 1 when a check failed.
"""

import argparse
import collections
import http.client
import http.server
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import check

TOKEN = "a-token-that-only-this-script-knows"
LEASE_SECONDS = 2
# The user and group `nobody`: the server refuses to run as root.
NOBODY = 65534
# The most sessions that a host runs.
MAX_RUNS = 8
# The time that all sessions have to end once the last fault is over, in seconds.
SETTLE = 240


def log(text):
    print(f"{time.monotonic() - STARTED:8.1f} {text}", file=sys.stderr, flush=True)


STARTED = time.monotonic()


class Counter:
    """Counts the requests by path and idempotency key, as the service would on which calls have effects."""

    def __init__(self):
        self.counts = collections.Counter()
        lock, counts = threading.Lock(), self.counts

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                with lock:
                    counts[self.headers.get("idempotency-key", "")] += 1
                self.send_response(200)
                self.send_header("content-type", "text/plain")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Proxy:
    """Passes the connections of one host to the server that is the primary now, or cuts them."""

    def __init__(self, database):
        self.database = database
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.database.primary.port), 2)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # What is not passed on any more: the client's bytes, or the server's.
            pair = {"ends": (client, server), "mute": None}
            with self.lock:
                self.pairs.append(pair)
            threading.Thread(target=self.pump, args=(pair,), daemon=True).start()

    def pump(self, pair):
        client, server = pair["ends"]
        other = {client: server, server: client}
        try:
            while True:
                for end in select.select([client, server], [], [], 60)[0]:
                    received = end.recv(65536)
                    mute = pair["mute"]
                    if not received or mute == "client" and end is client or mute == "server" and end is server:
                        return
                    other[end].sendall(received)
        except OSError:
            pass
        finally:
            with self.lock:
                self.pairs.remove(pair)
            client.close()
            server.close()

    def cut(self, mute):
        """Ends all connections at their next bytes from this side, which are lost."""
        with self.lock:
            for pair in self.pairs:
                pair["mute"] = mute


class Server:
    """A server of PostgreSQL in a directory."""

    def __init__(self, programs, directory, port):
        self.programs, self.directory, self.port = programs, directory, port
        self.data = directory / "data"

    def run(self, *command, check_it=True, timeout=120):
        demote = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        program = [str(self.programs / command[0]), *map(str, command[1:])]
        return subprocess.run(demote + program, cwd="/", check=check_it, timeout=timeout,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def make(self):
        self.run("initdb", "--no-sync", "--auth=trust", "--username=host", "-D", self.data)
        with open(self.data / "postgresql.conf", "a") as file:
            file.write("listen_addresses='127.0.0.1'\nmax_connections=300\n"
                       "wal_level=replica\nmax_wal_senders=8\nwal_keep_size=64MB\nmax_wal_size=128MB\nmin_wal_size=32MB\n")

    def start(self):
        """Starts the server and waits until it answers."""
        for _ in range(30):
            self.run("pg_ctl", "-D", self.data, "-l", self.directory / "log", "-o", f"-p {self.port} -k {self.directory}", "-w", "start", check_it=False)
            if self.run("pg_isready", "-h", "127.0.0.1", "-p", self.port, check_it=False).returncode == 0:
                return
            time.sleep(0.5)
        raise SystemExit("the server does not start:\n" + (self.directory / "log").read_text()[-2000:])

    def stop(self, mode):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop", check_it=False)

    def sql(self, statement, database="sessions"):
        program = [str(self.programs / "psql"), "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(self.port), "-U", "host",
                   "-d", database, "-v", "ON_ERROR_STOP=1", "-c", statement]
        return subprocess.run(program, check=True, timeout=120, capture_output=True, text=True).stdout


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Database:
    """The primary, and its synchronous standby once there was a failover."""

    def __init__(self, root, mebibytes):
        versions = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not versions:
            raise SystemExit("there is no PostgreSQL; `apt-get install postgresql`")
        self.programs, self.root, self.number = versions[-1].parent, root, 0
        self.disk = root / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0777", "tmpfs", str(self.disk)],
                                 stderr=subprocess.DEVNULL)
        self.is_mounted = mounted.returncode == 0
        self.primary = Server(self.programs, self.place(), free_port())
        self.primary.make()
        self.primary.start()
        self.primary.sql("CREATE DATABASE sessions", "postgres")

    def place(self):
        directory = self.disk / f"server-{self.number}"
        directory.mkdir(mode=0o700)
        if os.getuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        self.number += 1
        return directory

    def crash(self):
        self.primary.stop("immediate")
        self.primary.start()

    def failover(self):
        """Makes a synchronous standby, loses the primary, and promotes the standby."""
        old = self.primary
        standby = Server(self.programs, self.place(), free_port())
        slot = f"application_name=standby host=127.0.0.1 port={old.port} user=host"
        standby.run("pg_basebackup", "-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-d", slot, timeout=300)
        standby.start()
        old.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        old.sql("SELECT pg_reload_conf()")
        streams = "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'standby' AND sync_state = 'sync'"
        deadline = time.monotonic() + 60
        while old.sql(streams).strip() != "1":
            if time.monotonic() > deadline:
                raise SystemExit("the standby does not follow:\n" + (standby.directory / "log").read_text()[-2000:])
            time.sleep(0.05)
        # Each backend learns of it with its next statement, and from then on waits for the standby.
        time.sleep(1)
        old.stop("immediate")
        standby.run("pg_ctl", "-D", standby.data, "-w", "promote")
        standby.sql("ALTER SYSTEM RESET synchronous_standby_names")
        standby.sql("SELECT pg_reload_conf()")
        self.primary = standby
        shutil.rmtree(old.directory, ignore_errors=True)

    def fill(self):
        filler = self.disk / "filler"
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
        time.sleep(1)
        filler.unlink()
        # A log that could not be written ends the server.
        if self.primary.run("pg_isready", "-h", "127.0.0.1", "-p", self.primary.port, check_it=False).returncode != 0:
            self.primary.start()

    def close(self):
        self.primary.stop("immediate")
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.disk)])


class Host:
    """A host behind its proxy. One in two serves nothing."""

    def __init__(self, program, root, database, number, config, is_worker, faketime):
        self.number, self.root, self.program, self.config = number, root, program, config
        self.proxy, self.is_worker, self.faketime = Proxy(database), is_worker, faketime
        self.clock = root / f"clock-{number}"
        self.clock.write_text("+0")
        self.port, self.process, self.is_paused = None, None, False
        self.start()

    def start(self):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.root / f"state-{self.number}"), "HOME": str(self.root),
                       "XDG_CACHE_HOME": str(self.root / "cache"), "AGENT_HOST_SERVE_TOKEN": TOKEN,
                       "DATABASE_URL": f"host=127.0.0.1 port={self.proxy.port} user=host dbname=sessions"}
        if self.faketime:
            environment |= {"LD_PRELOAD": self.faketime, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.port = None if self.is_worker else free_port()
        serving = ["--worker"] if self.is_worker else ["--http", f"127.0.0.1:{self.port}"]
        errors = open(self.root / f"host-{self.number}.log", "ab")
        self.process = subprocess.Popen([self.program, "serve", "--config", self.config, *serving], cwd=self.root / "work",
                                        env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        self.is_paused = False

    def is_up(self):
        return self.process.poll() is None and not self.is_paused

    def keep(self):
        """Starts it again if it ended, as an operator's supervisor does."""
        if self.process.poll() is not None:
            self.start()

    def create(self, key, prompt):
        """Returns the session that was accepted; `None` if that is not known."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "idempotency-key": key}
            connection.request("POST", "/api/v1/sessions", json.dumps({"message": prompt}), headers)
            response = connection.getresponse()
            body = json.loads(response.read())
            return body["session"] if response.status == 201 else None
        except (OSError, ValueError, http.client.HTTPException):
            return None


class Nemesis:
    def __init__(self, args, root):
        self.args, self.root, self.random = args, root, random.Random(args.seed)
        self.counter, self.database = Counter(), Database(root, args.disk)
        (root / "work").mkdir()
        script = (f"[[turn]]\n[[turn.call]]\ntool = \"http_post\"\n"
                  f"input = {{ url = \"http://127.0.0.1:{self.counter.port}/effect\", body = \"step\" }}\n")
        (root / "script.toml").write_text(script * args.steps + "[[turn]]\ntext = \"done\"\n")
        common = (f"model = \"script:{root}/script.toml\"\nmax-turns = 100000\n"
                  "[store]\nurl = \"env:DATABASE_URL\"\n"
                  f"[hosts]\nlease-seconds = {LEASE_SECONDS}\nmax-runs = {MAX_RUNS}\n"
                  f"[[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {self.counter.port}\n"
                  "[[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\napproval = \"never\"\n")
        other = common + "[[rule]]\nname = \"other\"\ntool = \"fetch\"\ndecision = \"deny\"\n"
        (root / "agent.toml").write_text(common)
        (root / "other.toml").write_text(other)
        found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        self.faketime = str(found[0]) if found else None
        program = str(args.program)
        configs = [("agent.toml", number % 2 == 1) for number in range(args.hosts - 1)] + [("other.toml", False)]
        self.hosts = [Host(program, root, self.database, number, str(root / config), is_worker, self.faketime)
                      for number, (config, is_worker) in enumerate(configs)]
        self.accepted, self.wanted, self.faults = {}, 0, collections.Counter()
        self.is_over = threading.Event()
        self.lock = threading.Lock()
        self.audit()

    def audit(self):
        """Has the server write down each claim, independent of the hosts."""
        while True:
            try:
                self.database.primary.sql(
                    "CREATE TABLE audit (at timestamptz, session text, epoch bigint, host text);"
                    "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                    " INSERT INTO audit VALUES (clock_timestamp(), NEW.session, NEW.epoch, NEW.host); RETURN NULL; END $$;"
                    "CREATE TRIGGER audit_insert AFTER INSERT ON leases FOR EACH ROW EXECUTE FUNCTION audit();"
                    "CREATE TRIGGER audit_update AFTER UPDATE ON leases FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch)"
                    " EXECUTE FUNCTION audit();")
                return
            except subprocess.CalledProcessError:
                # The hosts have not made the tables yet.
                time.sleep(0.2)

    def feed(self):
        """Keeps a number of sessions going: each is sent again under its key until a host accepted it."""
        while not self.is_over.is_set():
            try:
                active = int(self.database.primary.sql("SELECT count(*) FROM runs"))
            except (subprocess.SubprocessError, ValueError):
                time.sleep(0.2)
                continue
            for _ in range(max(0, self.args.active - active)):
                key = f"session-{self.wanted}"
                self.wanted += 1
                self.insist(key)
            time.sleep(0.05)

    def insist(self, key):
        is_other = self.wanted % 16 == 0
        while key not in self.accepted:
            hosts = [host for host in self.hosts if host.port and host.is_up() and host.config.endswith("other.toml") == is_other]
            session = self.random.choice(hosts).create(key, key) if hosts else None
            if session:
                with self.lock:
                    self.accepted[key] = session
            else:
                time.sleep(0.05)

    def break_something(self):
        host = self.random.choice(self.hosts)
        kinds = ["kill"] * 6 + ["pause"] * 4 + ["end"] * 2 + ["cut-before"] * 4 + ["cut-after"] * 4 + ["crash"]
        kinds += ["clock"] * 3 if self.faketime else []
        kinds += ["full"] if self.database.is_mounted else []
        kinds += ["failover"] if self.args.failovers and self.random.random() < 0.25 else []
        kind = self.random.choice(kinds)
        log(f"{kind} {host.number if kind not in ('crash', 'failover', 'full') else ''}")
        if kind in ("kill", "end", "pause") and not host.is_up():
            return
        self.faults[kind] += 1
        if kind == "kill":
            host.process.kill()
            host.process.wait()
        elif kind == "end":
            host.process.send_signal(signal.SIGTERM)
        elif kind == "pause":
            host.is_paused = True
            host.process.send_signal(signal.SIGSTOP)
            process = host.process

            def wake():
                time.sleep(LEASE_SECONDS * self.random.uniform(0.5, 2))
                process.send_signal(signal.SIGCONT)
                host.is_paused = False
            threading.Thread(target=wake, daemon=True).start()
        elif kind == "clock":
            host.clock.write_text(self.random.choice(["+0", "+1h", "-1h", "+400d", "-400d", "+3s", "-3s"]))
        elif kind.startswith("cut"):
            host.proxy.cut("client" if kind == "cut-before" else "server")
        elif kind == "crash":
            self.database.crash()
        elif kind == "failover":
            self.database.failover()
        elif kind == "full":
            self.database.fill()

    def run(self):
        feeder = threading.Thread(target=self.feed, daemon=True)
        feeder.start()
        while sum(self.faults.values()) < self.args.faults:
            for host in self.hosts:
                host.keep()
            time.sleep(self.random.uniform(0, 2 * self.args.every))
            self.break_something()
        log("the last fault is over")
        self.is_over.set()
        deadline = time.monotonic() + SETTLE
        while True:
            for host in self.hosts:
                host.keep()
            feeder.join(0.5)
            left = self.database.primary.sql("SELECT count(*) FROM runs WHERE state <> 'stopped'").strip()
            if left == "0" and not feeder.is_alive() or time.monotonic() > deadline:
                break
        for host in self.hosts:
            host.process.kill()
            host.process.wait()
        return check.check(self.database.primary.sql, self.accepted, self.counter.counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/agent-host")
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help="calls of a session")
    parser.add_argument("--active", type=int, default=24, help="sessions that run or wait at once")
    parser.add_argument("--disk", type=int, default=1500, help="MiB of the server's disk; 100,000 calls take 1,400")
    parser.add_argument("--every", type=float, default=0.8, help="mean seconds between two faults")
    parser.add_argument("--failovers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the logs")
    args = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-host-nemesis-"))
    directory.chmod(0o755)
    nemesis = Nemesis(args, directory)
    try:
        figures, problems = nemesis.run()
    finally:
        for host in nemesis.hosts:
            host.process.kill()
        nemesis.database.close()
        if args.keep:
            shutil.copytree(directory, args.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("disk", "cache"))
        shutil.rmtree(directory, ignore_errors=True)
    figures |= {"faults": sum(nemesis.faults.values()), "by kind": dict(sorted(nemesis.faults.items())),
                "missing": [name for name, has in [("clock", nemesis.faketime), ("full", nemesis.database.is_mounted)] if not has],
                "seconds": round(time.monotonic() - STARTED)}
    print(json.dumps(figures, indent=2))
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
