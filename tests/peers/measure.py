#!/usr/bin/env python3
"""Measures MCP servers that offer the tools of `tools.wasm`: their speed, and which attempts of a tool they stop.

    measure.py agent-host=target/release/agent-host reference
    measure.py --only safety --require held agent-host=target/release/agent-host

A server is NAME, described by `servers/NAME.toml`; NAME=PROGRAM, the same with another program; or, without such a file,
NAME='COMMAND ...' with {component}, {granted} and {work} in it. Prints one table to stdout, and progress to stderr. Needs
Python 3.11 and Linux (/proc), and nothing else. The method: README.md.

Exit code: 0; 1 when a safety row has not the status of --require; 2 for a wrong command line.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import sys
import time

import safety
import speed
from client import printable
from surroundings import Description


def progress(text):
    print(f"measure.py: {text}", file=sys.stderr, flush=True)


def judge_all(descriptions):
    """Runs every safety row for every server."""
    found = {one.name: {} for one in descriptions}
    for title in [*safety.CHECKS, *safety.STREAM_CHECKS]:
        for one in descriptions:
            found[one.name][title] = safety.judge(one, title)
            progress(f"{one.name}: {title}: {found[one.name][title]['status']}")
    return found


def about(descriptions):
    """What a reader needs to judge and repeat the run."""
    servers = {}
    for one in descriptions:
        files = {"component": one.component} | ({"program": pathlib.Path(one.program)} if os.path.isfile(one.program) else {})
        digests = {key: hashlib.sha256(path.read_bytes()).hexdigest() for key, path in files.items()}
        servers[one.name] = {"command": one.command, "program": one.program, "sha256": digests}
    machine = {"system": platform.platform(), "processors": os.cpu_count(), "load": os.getloadavg()}
    return {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine, "servers": servers}


def table(names, measured, judged):
    """The lines of the table, in Markdown."""
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    if measured:
        for title, cell in speed.ROWS.items():
            cells = [one["failed"] if "failed" in one else cell(one) for one in (measured[name] for name in names)]
            lines.append(f"| {title} | " + " | ".join(map(escaped, cells)) + " |")
    if judged:
        for title in [*safety.CHECKS, *safety.STREAM_CHECKS]:
            lines.append(f"| {title} | " + " | ".join(judged[name][title]["status"] for name in names) + " |")
    return lines


def escaped(cell):
    return printable(cell).replace("|", "\\|")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME[=PROGRAM]", help="a server, as above")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds of the speed rows [default: 5]")
    parser.add_argument("--only", choices=("speed", "safety"), help="these rows alone")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures and the evidence there")
    parser.add_argument("--require", choices=("held", "not-held"), help="exit with 1 unless every safety row is so")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error("--runs is at least 1")
    if given.require and given.only == "speed":
        parser.error("--require is about the safety rows; leave `--only speed` out")
    try:
        given.descriptions = [Description(*(one.split("=", 1) if "=" in one else (one, None))) for one in given.servers]
    except (OSError, ValueError, KeyError) as error:
        parser.error(str(error))
    names = [one.name for one in given.descriptions]
    if len(set(names)) != len(names):
        parser.error("each server has a name of its own")
    return given


def main():
    given = arguments()
    names = [one.name for one in given.descriptions]
    run = about(given.descriptions)
    measured = speed.measure(given.descriptions, given.runs, progress) if given.only != "safety" else {}
    judged = judge_all(given.descriptions) if given.only != "speed" else {}
    print("\n".join(table(names, measured, judged)))
    if given.json:
        given.json.write_text(json.dumps({**run, "speed": measured, "safety": judged}, indent=2) + "\n")
    if not given.require:
        return 0
    required = given.require.replace("-", " ")
    others = [(name, title, row["status"]) for name in names for title, row in judged[name].items() if row["status"] != required]
    for name, title, status in others:
        progress(f"{name}: {title}: {status}, and {required} is required")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
