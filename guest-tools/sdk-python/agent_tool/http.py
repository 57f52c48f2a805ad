"""HTTP requests, to the servers that the host grants.

    from agent_tool import http

    with http.request("GET", "https://api.example/items") as response:
        items = response.json()

Every request passes the host's policy. Redirects are responses as any other, and are not followed.
A secret that the tool was granted is written as `secret://NAME` in the value of a header field: the
host puts the value in, and the tool never has it.
"""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlsplit

from agent_tool._http import HttpError, Request

if sys.platform == "wasi":
    from agent_tool import _http_wasi as host
else:
    from agent_tool import testing as host

__all__ = ["DEFAULT_MAX_BYTES", "Headers", "HttpError", "Response", "request"]

DEFAULT_MAX_BYTES = 8 * 1024 * 1024
"""The largest body that `content`, `text` and `json` read unless told otherwise, in bytes. It is
the host's default for all responses of a call together.
"""

_CHUNK_BYTES = 64 * 1024

# What RFC 3986 allows in a path and a query, and `%`, since they may be encoded already.
_URL_CHARACTERS = "%/:=&?~+!$,;'@()*[]"


def request(
    method: str,
    url: str,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    body: bytes | str | Iterable[bytes] | None = None,
    timeout: float | None = None,
) -> Response:
    """Sends a request, and returns the response once its head is there.

    `body` is bytes, a string (sent as UTF-8) or an iterable of bytes, whose pieces are sent one by
    one and never held together. It is sent before the response is read. `timeout` is the longest
    wait for the connection, the head and each piece of the body, in seconds; the host has limits of
    its own. Raises `HttpError`.
    """
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    split = _split(method, url)
    sent = Request(
        method=method.upper(),
        scheme=split.scheme,
        authority=split.netloc,
        path=quote(split.path or "/", _URL_CHARACTERS)
        + (f"?{quote(split.query, _URL_CHARACTERS)}" if split.query else ""),
        headers=tuple((str(name), str(value)) for name, value in pairs),
        body=body.encode() if isinstance(body, str) else body,
        timeout=timeout,
    )
    status, fields, incoming = host.send(sent)
    return Response(sent.subject, url, status, Headers(fields), incoming)


def _split(method: str, url: str):
    try:
        split = urlsplit(url)
        # Reading the port checks it.
        _ = split.port
    except ValueError as problem:
        raise HttpError("invalid-request", f"{method} {url}", str(problem)) from None
    if split.scheme not in ("http", "https") or not split.hostname:
        why = "the URL does not begin with http:// or https:// and a host"
        raise HttpError("invalid-request", f"{method} {url}", why)
    return split


class Headers:
    """The header fields of a response. Names are compared without regard to case."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields = tuple(fields)

    def __getitem__(self, name: str) -> str:
        """The value of a field, of several joined by `, `; a `KeyError` without one."""
        values = self.get_all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get_all(name))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """All fields as name and value; those of one name are in the server's order."""
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({self._fields!r})"

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of a field, of several joined by `, `."""
        return self[name] if name in self else default

    def get_all(self, name: str) -> list[str]:
        """The values of all fields of this name, in the server's order."""
        return [value for field, value in self._fields if field.lower() == name.lower()]


class Response:
    """A response. Its body comes in pieces as it is read, so a large one needs no large memory.

    Read to its end, it closes itself. Otherwise close it, or use it in `with`: the host bounds the
    number of open ones.
    """

    def __init__(
        self, subject: str, url: str, status: int, headers: Headers, incoming: host.Incoming
    ) -> None:
        self.status = status
        """The status, such as 200."""
        self.headers = headers
        """The header fields."""
        self.url = url
        """The URL of the request."""
        self._subject = subject
        self._incoming = incoming

    def read(self, size: int = _CHUNK_BYTES) -> bytes:
        """Waits for bytes of the body and returns at most `size` of them; `b""` at its end."""
        if size <= 0:
            return b""
        piece = self._incoming.read(size)
        if not piece:
            self.close()
        return piece

    def __iter__(self) -> Iterator[bytes]:
        """The rest of the body in pieces of at most 64 KiB."""
        while piece := self.read():
            yield piece

    def content(self, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """The rest of the body. A larger one is the `HttpError` `response-too-large`."""
        content = bytearray()
        for piece in self:
            content += piece
            if len(content) > max_bytes:
                self.close()
                why = f"its body has more than {max_bytes} bytes"
                raise HttpError("response-too-large", self._subject, why)
        return bytes(content)

    def text(self, max_bytes: int = DEFAULT_MAX_BYTES) -> str:
        """The rest of the body in the encoding that `content-type` names, or else UTF-8. Bytes that
        are none of it become U+FFFD.
        """
        _, _, rest = (self.headers.get("content-type") or "").lower().partition("charset=")
        encoding = rest.partition(";")[0].strip("\"' ") or "utf-8"
        content = self.content(max_bytes)
        try:
            return content.decode(encoding, "replace")
        except LookupError:
            return content.decode("utf-8", "replace")

    def json(self, max_bytes: int = DEFAULT_MAX_BYTES) -> builtins.object:
        """The rest of the body as JSON. One that is none is the `HttpError` `protocol`."""
        try:
            return json.loads(self.content(max_bytes))
        except ValueError as problem:
            raise HttpError("protocol", self._subject, f"no JSON: {problem}") from None

    def close(self) -> None:
        """Gives up the rest of the body."""
        self._incoming.close()

    def __enter__(self) -> Response:
        return self

    def __exit__(self, *_: builtins.object) -> None:
        self.close()
