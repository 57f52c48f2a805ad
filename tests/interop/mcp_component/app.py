"""An MCP server in Python, as a program."""

import json
import sys
import wit_world.exports

TOOLS = [
    {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
    {
        "name": "read",
        "description": "Reads a file.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
    {"name": "exit", "description": "Ends the server.", "inputSchema": {"type": "object"}},
]


def call(name, arguments):
    """Returns the text of a result, and whether it is an error."""
    if name == "add":
        return str(arguments["a"] + arguments["b"]), False
    if name == "exit":
        sys.exit(3)
    try:
        with open(arguments["path"], encoding="utf-8") as file:
            return file.read(), False
    except OSError as error:
        return error.strerror, True


def answer(method, params):
    """Returns the result of a request; None for an unknown method."""
    if method == "initialize":
        info = {"name": "python", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text, is_error = call(params["name"], params.get("arguments", {}))
        return {"content": [{"type": "text", "text": text}], "isError": is_error}
    return None


class Run(wit_world.exports.Run):
    """The main function."""

    def run(self):
        for line in sys.stdin:
            message = json.loads(line)
            if "id" not in message:
                continue
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            result = answer(message["method"], message.get("params", {}))
            if result is None:
                reply["error"] = {"code": -32601, "message": "no such method"}
            else:
                reply["result"] = result
            print(json.dumps(reply), flush=True)
