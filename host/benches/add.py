#!/usr/bin/env python3
"""Times `agent-host add` of a signed component of 400 KB from Debian's registry on this machine.

    host/benches/add.py PROGRAM [OTHER_PROGRAM]

Prints the least and the median of 20 runs in milliseconds, for whole processes: with an empty
cache of components, with the component in the cache, and of a command that loads one component and
asks no registry. Runs of several programs alternate. Machine code is compiled once before.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 20
COMPONENT = Path(__file__).resolve().parents[2] / "guest-tools/dist/files.wasm"


def registry(directory):
    """Starts a registry; returns its process and its address."""
    storage = {"filesystem": {"rootdirectory": f"{directory}/registry"}}
    config = {"version": 0.1, "storage": storage, "http": {"addr": "127.0.0.1:0"}}
    (directory / "registry.json").write_text(json.dumps(config))
    log = directory / "registry.log"
    with log.open("w") as file:
        command = ["docker-registry", "serve", directory / "registry.json"]
        process = subprocess.Popen(command, stdout=file, stderr=file)
    while process.poll() is None:
        if found := re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text()):
            return process, found[1]
        time.sleep(0.01)
    sys.exit("the registry does not start")


class Bench:
    def __init__(self, directory, program, host, key):
        self.program, self.directory = program, directory
        self.work, self.cache = directory / "work", directory / "cache"
        self.work.mkdir(parents=True)
        self.reference = f"oci://{host}/acme/files:1"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "XDG_CACHE_HOME": str(self.cache),
            "AGENT_HOST_SYSTEM_CONFIG": "",
        }
        publisher = f'[[publisher]]\nname = "acme"\ncomponents = ["{host}/acme/*"]\n'
        self.config = f'{publisher}keys = ["{key}"]\n'
        self.times = {"cold": [], "cached": [], "call": []}

    def run(self, *arguments):
        """Returns the time in milliseconds."""
        begin = time.perf_counter()
        subprocess.run(
            [self.program, *arguments],
            cwd=self.work,
            env=self.environment,
            check=True,
            capture_output=True,
        )
        return (time.perf_counter() - begin) * 1000

    def reset(self):
        (self.work / "agent.toml").write_text(self.config)
        (self.work / "agent.lock").unlink(missing_ok=True)
        self.run("trust", "--yes")

    def round(self):
        self.reset()
        shutil.rmtree(self.cache / "agent-host/components", ignore_errors=True)
        self.times["cold"].append(self.run("add", self.reference))
        self.reset()
        self.times["cached"].append(self.run("add", self.reference))
        self.times["call"].append(self.run("call", "builtin:files"))


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        private, public = directory / "key", directory / "key.pub"
        openssl = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", private]
        subprocess.run(openssl, check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
        process, host = registry(directory)
        try:
            benches = [
                Bench(directory / str(index), os.path.abspath(program), host, public)
                for index, program in enumerate(sys.argv[1:])
            ]
            first = benches[0]
            first.run("push", str(COMPONENT), first.reference, "--sign", str(private))
            for index in range(ROUNDS + 1):
                for bench in benches:
                    bench.round()
            for bench in benches:
                for what, times in bench.times.items():
                    # The first round compiled.
                    times = times[1:]
                    least, median = min(times), statistics.median(times)
                    print(f"{bench.program}  {what:<7} {least:6.1f} {median:6.1f}")
        finally:
            process.kill()


main()
