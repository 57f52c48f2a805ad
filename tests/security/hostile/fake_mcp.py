#!/usr/bin/env python3
"""An MCP server for the tests of `mcp.py`. It runs no guest: the file's name selects its behaviour during a call."""

import json
import os
import pathlib
import signal
import sys
import time


def answer(message, content):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **content}), flush=True)


def on_call(behaviour, message):
    text = [{"type": "text", "text": f"did \x1b[31m{behaviour}"}]
    match behaviour:
        case "fails":
            answer(message, {"result": {"content": text, "isError": True}})
        case "faults":
            answer(message, {"error": {"code": -32603, "message": "trapped"}})
        case "hangs-in-a-call":
            pass
        case "hangs-for-ever":
            while True:
                time.sleep(60)
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exits":
            sys.exit(0)
        case "babbles":
            print("debug: calling the guest", flush=True)
        case "floods":
            while True:
                print('{"jsonrpc": "2.0", "method": "notifications/message"}', flush=True)
        case "grows":
            hoard = []
            while True:
                hoard.append(b"x" * (16 * 1024 * 1024))
        case "crashes-later":
            answer(message, {"result": {"content": text}})
            os.kill(os.getpid(), signal.SIGABRT)
        case _:
            answer(message, {"result": {"content": text}})


def main():
    behaviour = pathlib.Path(sys.argv[1]).stem
    if behaviour == "refuses-by-exit":
        sys.exit(3)
    for line in sys.stdin:
        message = json.loads(line)
        match message["method"]:
            case "initialize":
                answer(message, {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}})
            case "tools/list" if behaviour == "refuses-by-error":
                answer(message, {"error": {"code": -32000, "message": "not a component"}})
            case "tools/list":
                if behaviour == "asks-back":
                    print('{"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}', flush=True)
                    assert "error" in json.loads(sys.stdin.readline())
                names = [] if behaviour == "is-empty" else ["run"]
                answer(message, {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}})
            case "tools/call":
                on_call(behaviour, message)
            case "ping":
                answer(message, {"result": {}})


main()
