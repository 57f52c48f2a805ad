#!/usr/bin/env python3
"""Times the two commands of the README on fresh clones of two commits.

    host/benches/build.py BASE [OTHER] [--rounds N] [--tests]

BASE and OTHER (HEAD by default) are commits. Each round clones both in turn and runs, with an empty
target directory and an empty cache of crates, the README's `cargo run`, and then its `cargo test`
compiled only; with --tests, the tests run as well, and AGENT_HOST_INTEROP is as you set it.

Prints for each step wall time and processor time in seconds (the median of the rounds), the peak of
resident memory of its largest process, the crates compiled, the size of the program, and what OTHER
takes of BASE. A mirror of crates in cargo's configuration is used by both.
"""

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def readme_commands(clone):
    """Returns the commands of the README that run the main job and the tests."""
    text = (clone / "README.md").read_text() + (clone / "CONTRIBUTING.md").read_text()
    run = re.search(r"^\$? ?(cargo run .*)$", text, re.MULTILINE)
    test = re.search(r"^\$? ?(cargo test\b[^#\n]*?)\s*(?:#.*|  .*)?$", text, re.MULTILINE)
    if not run or not test:
        sys.exit(f"the README of {clone} names no `cargo run` or no `cargo test`")
    return shlex.split(run[1]), shlex.split(test[1])


def timed(command, clone, cargo_home):
    """Runs a command and returns its figures."""
    # A home of its own: what another version of the program stored there may be newer than this one.
    home = cargo_home.with_name("home")
    home.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "HOME": str(home),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_HOME": str(cargo_home),
        "CARGO_TARGET_DIR": "target",
    }
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=clone, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        output.seek(0)
        text = output.read()
    if status:
        sys.exit(f"`{shlex.join(command)}` failed in {clone}:\n{text[-4000:]}")
    return {
        "wall": wall,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / 1024 / 1024,
        "crates": len(re.findall(r"^ *Compiling ", text, re.MULTILINE)),
    }


def measure(commit, directory, with_tests):
    """Clones a commit and runs its commands; returns the figures of each step."""
    clone, cargo_home = directory / "clone", directory / "cargo"
    for path in (clone, cargo_home, directory / "home"):
        shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", "--no-checkout", REPOSITORY, clone], check=True)
    subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=clone, check=True)
    cargo_home.mkdir()
    known = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for name in ("config.toml", "config", "credentials.toml"):
        if (known / name).exists():
            shutil.copy(known / name, cargo_home)
    run, test = readme_commands(clone)
    steps = {"run": timed(run, clone, cargo_home)}
    programs = [*clone.glob("target/*/agent-host")]
    steps["run"]["program"] = programs[0].stat().st_size / 1e6
    steps["test: compile"] = timed([*test, "--no-run"], clone, cargo_home)
    if with_tests:
        steps["test: run"] = timed(test, clone, cargo_home)
    return steps


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("base")
    parser.add_argument("other", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tests", action="store_true")
    arguments = parser.parse_args()
    names = (arguments.base, arguments.other)
    commits = [
        subprocess.check_output(["git", "rev-parse", name], cwd=REPOSITORY, text=True).strip()
        for name in names
    ]
    rounds = []
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(arguments.rounds):
            rounds.append([measure(one, Path(directory), arguments.tests) for one in commits])
    print(f"{'':28}{names[0][:12]:>12}{names[1][:12]:>12}{'ratio':>8}")
    for step, figures in rounds[0][0].items():
        for figure in figures:
            base, other = (
                statistics.median(one[side][step][figure] for one in rounds) for side in (0, 1)
            )
            ratio = f"{other / base:.2f}" if base else ""
            print(f"{step + ' ' + figure:28}{base:>12.1f}{other:>12.1f}{ratio:>8}")


main()
