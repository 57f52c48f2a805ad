"""A request and its failures, apart from how it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_tool._failure import ToolError

Kind = Literal[
    "denied",
    "invalid-request",
    "request-too-large",
    "response-too-large",
    "too-many-connections",
    "unknown-host",
    "unreachable",
    "tls",
    "timeout",
    "interrupted",
    "protocol",
]

_TEXTS: dict[str, str] = {
    "denied": "the host does not allow this request",
    "invalid-request": "the request is malformed",
    "request-too-large": "the request is larger than the host allows",
    "response-too-large": "the response is larger than allowed",
    "too-many-connections": "too many responses are open; close one first",
    "unknown-host": "there is no server of this name; check the address",
    "unreachable": "the server cannot be reached; try again later",
    "tls": "no secure connection to the server can be made",
    "timeout": "the server did not answer in time; try again later",
    "interrupted": "the connection broke off; try again",
    "protocol": "the server's answer is not understood",
}


class HttpError(ToolError):
    """A request without a whole response. If the tool does not catch it, the model reads its text;
    of a request that the host refused, it reads the host's reason.
    """

    kind: Kind
    """The failure: "denied", "invalid-request", "request-too-large", "response-too-large",
    "too-many-connections", "unknown-host", "unreachable", "tls", "timeout", "interrupted" or
    "protocol".
    """

    def __init__(self, kind: Kind, subject: str, detail: str | None = None) -> None:
        super().__init__(f"{subject}: {_TEXTS[kind]}{f' ({detail})' if detail else ''}")
        self.kind = kind


@dataclass(frozen=True)
class Request:
    """A request as it is sent."""

    method: str
    """The method, in upper case."""
    scheme: str
    """The scheme, "http" or "https"."""
    authority: str
    """The host, and the port where the URL has one."""
    path: str
    """The path with the query."""
    headers: tuple[tuple[str, str], ...] = ()
    """The header fields, in order."""
    body: bytes | Iterable[bytes] | None = None
    """The body, whole or in pieces."""
    timeout: float | None = None
    """The longest wait for the server, in seconds."""

    @property
    def subject(self) -> str:
        """The method and the URL without its query, for errors."""
        path = self.path.partition("?")[0]
        return f"{self.method} {self.scheme}://{self.authority}{path}"
