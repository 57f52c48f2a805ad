#!/usr/bin/env python3
"""An MCP server whose starts differ: HOW DIRECTORY. Each start adds a line to DIRECTORY/starts.

`waits`: from the second start on it waits until somebody has written to the FIFO DIRECTORY/gate.
`modern`: at its first start it takes neither `server/discover` nor `initialize`, as a server does that started while
the client gave up the former; from the second on it takes `server/discover`."""

import json
import pathlib
import sys

HOW, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
DISCOVERED = {
    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
    "cacheScope": "private",
}
INITIALIZED = {
    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "starts", "version": "1"},
}
TOOLS = {"tools": [{"name": "act", "description": "Acts.", "inputSchema": {"type": "object"}}]}
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def response(method, params, start):
    is_modern = HOW != "waits"
    extra = MODERN if is_modern else {}
    match method:
        case "server/discover" if is_modern and start > 1:
            return {"result": DISCOVERED}
        case "initialize" if is_modern:
            return {"error": {"code": -32022, "message": "Unsupported protocol version"}}
        case "initialize":
            return {"result": INITIALIZED}
        case "tools/list":
            return {"result": {**TOOLS, **extra}}
        case "tools/call":
            if params.get("arguments", {}).get("die"):
                sys.exit(3)
            return {"result": {**extra, "content": [{"type": "text", "text": "did it"}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main():
    starts = DIRECTORY / "starts"
    with starts.open("a") as file:
        file.write("started\n")
    start = len(starts.read_text().splitlines())
    if HOW == "waits" and start > 1:
        (DIRECTORY / "gate").read_text()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = response(message.get("method"), message.get("params", {}), start)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


main()
