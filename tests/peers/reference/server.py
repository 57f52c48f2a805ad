#!/usr/bin/env python3
"""A server of MCP over standard input and output without a sandbox: `server.py TOOLS.py DIRECTORY`.

The tools are functions of a file that is loaded again when it changed, as servers with hot reload do. Each runs in this
process, one after the other. It is what the suite compares with, and shows that each of its checks can fail.
"""

import inspect
import json
import os
import sys


# What was loaded, by the identity of the file.
loaded = {}


def load(path):
    """Runs the file where it is a new one, and returns its tools by name, and their descriptions."""
    found = os.stat(path)
    identity = (found.st_ino, found.st_mtime_ns)
    if identity not in loaded:
        names = {"__name__": "tools"}
        with open(path) as file:
            exec(compile(file.read(), path, "exec"), names)
        loaded.clear()
        loaded[identity] = {name.replace("_", "-"): names[name] for name in names["TOOLS"]}, names["DESCRIPTIONS"]
    return loaded[identity]


def definitions(path):
    tools, descriptions = load(path)
    types = {str: "string", int: "integer"}
    listed = []
    for name, function in tools.items():
        parameters = inspect.signature(function).parameters
        properties = {key: {"type": types[value.annotation]} for key, value in parameters.items()}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        listed.append({"name": name, "description": descriptions.get(name, name), "inputSchema": schema})
    return {"tools": listed}


def call(path, params):
    tools, _ = load(path)
    try:
        text, failed = tools[params["name"]](**params.get("arguments", {})), False
    except OSError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def result(path, method, params):
    if method == "initialize":
        information = {"name": "reference", "version": "0.1.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": information}
    if method == "tools/list":
        return definitions(path)
    return call(path, params) if method == "tools/call" else {}


def main():
    path, directory = sys.argv[1:]
    os.chdir(directory)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result(path, request["method"], request.get("params", {}))}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
