#!/usr/bin/env python3
"""An MCP server with resources and prompts, for the tests of the client. Its argument selects its behaviour."""

import base64
import json
import sys

ACT = {"name": "act", "description": "Acts.", "inputSchema": {"type": "object"}}
GIF = base64.b64encode(b"GIF89a\x01\x00\x01\x00\x00\x00\x00,").decode()
ESCAPE = "note://\u001b[2J/../etc%2Fpasswd?a=b#c d"


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def fail(message, code, words, data=None):
    send({"id": message["id"], "error": {"code": code, "message": words, "data": data}})


def capabilities(behaviour):
    match behaviour:
        case "only-resources":
            return {"resources": {}}
        case "no-capability":
            return {"tools": {}}
    return {"tools": {}, "resources": {"listChanged": True}, "prompts": {}}


def resources(behaviour, cursor):
    match behaviour:
        case "empty":
            return {"resources": []}
        case "endless-pages":
            return {"resources": [], "nextCursor": "more"}
        case "pages":
            page = int(cursor or 0)
            entries = [{"uri": f"note://{page * 60 + n}", "name": f"note {page * 60 + n}"} for n in range(60)]
            return {"resources": entries, **({"nextCursor": str(page + 1)} if page < 3 else {})}
        case "hostile":
            return {"resources": [
                {"uri": ESCAPE, "name": "a\u202eb\u001b[2J"}, {"uri": "x" * 5_000, "name": "long"}, {"name": "none"},
            ]}
    return {"resources": [{"uri": "note://one", "name": "one", "mimeType": "text/plain", "size": 7, "_meta": {"a": 1}}]}


def contents(behaviour, uri):
    match uri:
        case "note://picture":
            return [{"uri": uri, "mimeType": "image/png", "blob": GIF}]
        case "note://two":
            return [{"uri": uri, "text": "first"}, {"uri": "note://data", "blob": base64.b64encode(b"\x00\xff").decode()}]
        case "note://empty":
            return []
        case "note://broken":
            return [{"uri": uri, "mimeType": "image/png", "blob": "?"}]
        case "note://huge":
            return [{"uri": uri, "text": "x" * 10_000_000}]
    return [{"uri": uri, "text": f"content of {uri}"}]


def result(behaviour, message):
    """The result of a request; `None` if it was answered."""
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities(behaviour),
                "serverInfo": {"name": "scripted", "version": "1"},
            }
        case "tools/list" if behaviour == "same-name":
            return {"tools": [ACT, {**ACT, "name": "read_resource"}]}
        case "tools/list" if behaviour != "only-resources":
            return {"tools": [ACT]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "called"}]}
        case "resources/list" | "resources/read" | "prompts/list" | "prompts/get" if behaviour == "fails":
            return fail(message, -32603, "no database\u001b[2J")
        case "resources/list":
            return resources(behaviour, params.get("cursor"))
        case "resources/templates/list" if behaviour == "behaves":
            return {"resourceTemplates": [{"uriTemplate": "note://{name}", "name": "notes", "description": "All notes."}]}
        case "resources/read" if params["uri"] == "note://absent":
            return fail(message, -32002, "Resource not found")
        case "resources/read":
            return {"contents": contents(behaviour, params["uri"])}
        case "prompts/list" if behaviour == "empty":
            return {"prompts": []}
        case "prompts/list":
            return {"prompts": [{"name": "review", "description": "Reviews.", "arguments": [{"name": "what", "required": True}]}]}
        case "prompts/get":
            words = f"Review {json.dumps(params.get('arguments'))}."
            return {"description": "Reviews.", "messages": [
                {"role": "user", "content": {"type": "text", "text": words}},
                {"role": "assistant", "content": {"type": "image", "mimeType": "image/gif", "data": GIF}},
            ]}
    return fail(message, -32601, "Method not found")


def main():
    # Not an iterator, which would buffer lines.
    while line := sys.stdin.readline():
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer = result(sys.argv[1], message)
            if answer is not None:
                send({"id": message["id"], "result": answer})


main()
