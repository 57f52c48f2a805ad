"""Calls functions of a plugin in Extism's own host: `calls.py PLUGIN` reads a list of [function, input] as JSON, and
writes a list of {"output": ...} and {"error": ...}. Each call has a new plugin, as in agent-host."""

import json
import sys

import extism


@extism.host_fn(namespace="extism:host/user")
def create_elicitation(form: str) -> str:
    return '{"action":"decline"}'


@extism.host_fn(namespace="extism:host/user")
def create_message(request: str) -> str:
    raise ValueError("no messages")


@extism.host_fn(namespace="extism:host/user")
def list_roots() -> str:
    return '{"roots":[]}'


@extism.host_fn(namespace="extism:host/user")
def notify_progress(progress: str):
    pass


def call(function, given):
    manifest = {"wasm": [{"path": sys.argv[1]}], "config": {"greeting": "hi"}, "allowed_hosts": ["127.0.0.1"]}
    functions = [create_elicitation, create_message, list_roots, notify_progress]
    try:
        plugin = extism.Plugin(manifest, wasi=True, functions=functions)
        return {"output": plugin.call(function, given, parse=lambda data: bytes(data).decode())}
    except Exception as error:
        return {"error": str(error).splitlines()[0]}


json.dump([call(*each) for each in json.load(sys.stdin)], sys.stdout)
