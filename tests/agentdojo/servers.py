"""The two local HTTP servers of a measurement: a model provider and an MCP server.

Both are one server with two paths. `/v1/chat/completions` speaks OpenAI's Chat Completions and
asks a model for its reply; `/mcp` speaks MCP over streamable HTTP and runs AgentDojo's tools. They
need no library: agent-host is the only client, one session runs at a time, and a stateless answer
to each POST is all that the protocol requires.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

Json = dict[str, Any]

MODEL_NAME = "worst-case"


class Model(Protocol):
    """Plays the model: returns an assistant message for a request."""

    def reply(self, request: Json) -> Json: ...


class Tools(Protocol):
    """Lists and runs the tools of the MCP server."""

    def definitions(self) -> list[Json]: ...

    def call(self, name: str, arguments: Json) -> Json: ...


class LocalServer(ThreadingHTTPServer):
    """Serves one model and one set of tools, both of which may be replaced between two runs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model: Model | None = None
        self.tools: Tools | None = None
        self.faults: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Returns the address without a path."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    """Answers requests to both paths."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: LocalServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            if self.path == "/mcp":
                self._mcp(request)
            else:
                self._chat(request)
        except Exception as error:  # A fault of the harness must not look like one of the host.
            self.server.faults.append(f"{self.path}: {error!r}")
            self._send(500, "application/json", json.dumps({"error": {"message": repr(error)}}))

    def do_GET(self) -> None:
        self._send(405, "text/plain", "")

    do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""

    def _send(self, status: int, media_type: str, body: str) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _chat(self, request: Json) -> None:
        assert self.server.model is not None, "no model is set"
        message = self.server.model.reply(request)
        if not request.get("stream"):
            body = _completion("chat.completion", {"message": message, **_finish(message)})
            self._send(200, "application/json", json.dumps(body))
            return
        events = "".join(f"data: {event}\n\n" for event in _stream(message))
        self._send(200, "text/event-stream", events)

    def _mcp(self, request: Json) -> None:
        if "id" not in request:
            self._send(202, "application/json", "")
            return
        answer: Json = {"jsonrpc": "2.0", "id": request["id"]}
        result = self._mcp_result(request["method"], request.get("params") or {})
        if result is None:
            answer["error"] = {"code": -32601, "message": "method not found"}
        else:
            answer["result"] = result
        self._send(200, "application/json", json.dumps(answer))

    def _mcp_result(self, method: str, params: Json) -> Json | None:
        tools = self.server.tools
        assert tools is not None, "no tools are set"
        match method:
            case "initialize":
                return {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "agentdojo", "version": "1.2.2"},
                }
            case "tools/list":
                return {"tools": tools.definitions()}
            case "tools/call":
                return tools.call(params["name"], params.get("arguments") or {})
            case "ping":
                return {}
        return None


def _finish(message: Json) -> Json:
    return {"index": 0, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}


def _completion(kind: str, choice: Json) -> Json:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 0,
        "model": MODEL_NAME,
        "choices": [choice],
        "usage": usage,
    }


def _stream(message: Json) -> Iterator[str]:
    """Yields the data of the server-sent events of a streamed reply."""
    delta = dict(message)
    if calls := message.get("tool_calls"):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    first = {"index": 0, "delta": delta, "finish_reason": None}
    yield json.dumps(_completion("chat.completion.chunk", first))
    yield json.dumps(_completion("chat.completion.chunk", {"delta": {}, **_finish(message)}))
    yield "[DONE]"
