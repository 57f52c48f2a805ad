"""The tools of `component/wit/tools.wit` in plain Python, with all that the process may do, and those with streams."""

import asyncio
import io
import itertools
import os
import socket
import sys
import threading
import urllib.request

TOOLS = [
    "echo", "spin", "allocate", "flood", "print", "recurse", "crash", "read_file", "write_file", "connect", "http_get",
    "read_variable", "endless", "hoard", "nap", "stuck",
]
DESCRIPTIONS = {"echo": "Returns `peers-version-1`, a colon and the text."}
VERSION = "peers-version-1"
MIB = 1024 * 1024


def echo(text: str):
    return f"{VERSION}:{text}"


def spin():
    while True:
        pass


def allocate(mib: int):
    return f"{len(bytearray(b'x') * (mib * MIB))} bytes"


def flood(mib: int):
    return "x" * (mib * MIB)


def print(mib: int):
    return f"{sys.stdout.write(('x' * 1023 + chr(10)) * (mib * 1024))} bytes"


def recurse():
    sys.setrecursionlimit(2**31 - 1)

    def depth(at):
        return depth(at + 1) + at

    return str(depth(0))


def crash():
    os.abort()


def read_file(path: str):
    with open(path) as file:
        return file.read()


def write_file(path: str, text: str):
    with open(path, "w") as file:
        return f"{file.write(text)} bytes"


def connect(address: str):
    host, port = address.split(":")
    socket.create_connection((host, int(port))).close()
    return "connected"


def http_get(url: str, authorization: str):
    """`env:NAME` in the field is replaced by the variable, as servers with keys in their environment do."""
    if authorization.startswith("env:"):
        authorization = os.environ[authorization.removeprefix("env:")]
    request = urllib.request.Request(url, headers={"authorization": authorization} if authorization else {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return answer.read().decode()


def read_variable(name: str):
    return os.environ.get(name, "")


def endless():
    return "".join(itertools.repeat("." * 16384))


def hoard(streams: int):
    return str(len([io.BytesIO() for _ in range(streams)]))


def nap(times: int, ms: int):
    async def sleep():
        await asyncio.gather(*(asyncio.sleep(ms / 1000) for _ in range(times)))

    return str(asyncio.run(sleep()))


def stuck():
    threading.Event().wait()
