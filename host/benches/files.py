#!/usr/bin/env python3
"""Compares the tools of `builtin:files` with `grep`, `rg` and `tail` on the same files.

    host/benches/files.py PROGRAM [COMPONENT]

Searches 20,000 files of 1 KB for a word beside `grep -r`, lists one directory by a glob beside
`rg --files`, and reads the last line of 10 GB beside `tail`; runs alternate. Prints processor time
and wall time in milliseconds, the least and the median of 10 runs, and their ratios. The time of a
call that lists a small directory, which is that of the program itself, is not in the figures of the
tools. Memory is that beyond such a call.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 10
DIRECTORIES, FILES = 200, 100
WORDS = [f"w{index:04}" for index in range(2000)]


def fill(directory, large):
    """Writes 20,000 files of 1 KB, 21 of which have the word, and a sparse one of 10 GB."""
    choose = random.Random(1).choices
    for number in range(DIRECTORIES * FILES):
        lines = [" ".join(choose(WORDS, k=10)) for _ in range(20)]
        if number % 997 == 0:
            lines.append("the needle is here")
        path = directory / f"dir{number // FILES:03}"
        path.mkdir(exist_ok=True)
        (path / f"f{number % FILES:03}.txt").write_text("\n".join(lines) + "\n")
    (directory / "small").mkdir()
    with (large / "large.log").open("wb") as file:
        file.write(b"first\n")
        file.seek(10_000_000_000)
        file.write(b"\nlast\n")


def run(command, directory):
    """Returns wall time and processor time in milliseconds, and the peak of memory in KiB."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = (time.perf_counter() - begin) * 1000
    if status != 0:
        sys.exit(f"{command}: {process.stderr.read().decode()}")
    return wall, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss


def compare(name, ours, theirs, idle, directory):
    """Prints the times of both and their ratios."""
    runs = {"ours": [], "theirs": [], "idle": []}
    for _ in range(ROUNDS):
        for who, command in (("ours", ours), ("theirs", theirs), ("idle", idle)):
            runs[who].append(run(command, directory))
    for index, what in enumerate(("wall", "processor")):
        times = {who: [result[index] for result in results] for who, results in runs.items()}
        for kind, pick in (("least", min), ("median", statistics.median)):
            own, other = pick(times["ours"]) - pick(times["idle"]), pick(times["theirs"])
            ratio = own / other if other else float("nan")
            print(f"{name:<8} {what:<9} {kind:<6} {own:8.1f} {other:8.1f} {ratio:6.1f}x")
    memory = {who: max(result[2] for result in results) for who, results in runs.items()}
    print(f"{name:<8} memory {(memory['ours'] - memory['idle']) / 1024:.1f} MiB")


def main():
    program = os.path.abspath(sys.argv[1])
    component = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else "builtin:files"

    def call(tool, **arguments):
        return [program, "call", component, tool, json.dumps(arguments)]

    with tempfile.TemporaryDirectory() as name:
        files, large = Path(name) / "files", Path(name) / "large"
        files.mkdir()
        large.mkdir()
        fill(files, large)
        idle = call("list_directory", path="small")
        word = call("search_files", pattern="needle")
        run(word, files)
        print(f"{'':<25} {'ours':>8} {'theirs':>8}")
        compare("word", word, ["grep", "-r", "needle", "."], idle, files)
        names = ["rg", "--files", "-g", "dir007/*.txt"]
        compare("glob", call("search_files", glob="dir007/*.txt"), names, idle, files)
        last = call("read_file", path="large.log", offset_line=-1)
        idle = call("list_directory", path=".")
        compare("last", last, ["tail", "-n", "1", "large.log"], idle, large)


main()
