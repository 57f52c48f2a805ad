"""HTTP in a component, over wasi:http. Only components whose `uses` names `http` have it.

The host counts what is still in use of a message, and ends a call that drops the whole of something
before its part: a stream before its body, and what waits before what it waits for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import NoReturn

from componentize_py_types import Err

from agent_tool._http import HttpError, Kind, Request
from agent_tool._uses import how_to_declare


def _find(interface: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"wit_world.imports.{interface}")
    except ImportError:
        return None


_types = _find("wasi_http_types")
_handler = _find("outgoing_handler")
_streams = _find("streams")

# Methods whose requests without a body say so (RFC 9110, section 8.6).
_WITH_BODY = ("POST", "PUT", "PATCH")

# The most bytes of one write to a stream (`blocking-write-and-flush` of wasi:io).
_WRITE_BYTES = 4096

_KINDS: dict[str, Kind] = {
    "DnsTimeout": "timeout",
    "DnsError": "unknown-host",
    "DestinationNotFound": "unknown-host",
    "DestinationUnavailable": "unreachable",
    "DestinationIpProhibited": "denied",
    "DestinationIpUnroutable": "unreachable",
    "ConnectionRefused": "unreachable",
    "ConnectionTerminated": "interrupted",
    "ConnectionTimeout": "timeout",
    "ConnectionReadTimeout": "timeout",
    "ConnectionWriteTimeout": "timeout",
    "ConnectionLimitReached": "too-many-connections",
    "TlsProtocolError": "tls",
    "TlsCertificateError": "tls",
    "TlsAlertReceived": "tls",
    "HttpRequestDenied": "denied",
    "HttpRequestLengthRequired": "invalid-request",
    "HttpRequestBodySize": "request-too-large",
    "HttpRequestMethodInvalid": "invalid-request",
    "HttpRequestUriInvalid": "invalid-request",
    "HttpRequestUriTooLong": "request-too-large",
    "HttpRequestHeaderSectionSize": "request-too-large",
    "HttpRequestHeaderSize": "request-too-large",
    "HttpRequestTrailerSectionSize": "request-too-large",
    "HttpRequestTrailerSize": "request-too-large",
    "HttpResponseIncomplete": "interrupted",
    "HttpResponseHeaderSectionSize": "response-too-large",
    "HttpResponseHeaderSize": "response-too-large",
    "HttpResponseBodySize": "response-too-large",
    "HttpResponseTrailerSectionSize": "response-too-large",
    "HttpResponseTrailerSize": "response-too-large",
    "HttpResponseTimeout": "timeout",
}


def send(request: Request) -> tuple[int, list[tuple[str, str]], Incoming]:
    """Sends a request, and returns the status, the header fields and the body of its response."""
    if _handler is None:
        raise RuntimeError(f"the component was built without `http`: {how_to_declare('http')}")
    outgoing = _outgoing(request)
    body = outgoing.body() if request.body is not None else None
    try:
        pending = _handler.handle(outgoing, _options(request.timeout))
    except Err as failure:
        _fail(request, failure.value)
    with pending:
        # The other end may answer before it has read everything, so a failed write is not yet a
        # failed request.
        unsent = None if body is None else _write(body, request.body)
        with pending.subscribe() as event:
            event.block()
        got = pending.get()
    if isinstance(got.value, Err):
        _fail(request, got.value.value)
    response = got.value.value
    if unsent is not None:
        _fail(request, unsent)
    with response:
        with response.headers() as fields:
            headers = [(name, value.decode("utf-8", "replace")) for name, value in fields.entries()]
        return response.status(), headers, Incoming(request, response.consume())


class Incoming:
    """The body of a response."""

    def __init__(self, request: Request, body: object) -> None:
        self._request = request
        self._body = body
        self._stream = body.stream()

    def read(self, size: int) -> bytes:
        """Waits for bytes, and returns at most `size` of them; none at the end."""
        while self._stream is not None:
            try:
                if piece := self._stream.blocking_read(size):
                    return piece
            except Err as failure:
                ended = failure.value
                if isinstance(ended, _streams.StreamError_Closed):
                    break
                code = _types.http_error_code(ended.value)
                if code is None:
                    raise HttpError("interrupted", self._request.subject) from None
                _fail(self._request, code)
        return b""

    def close(self) -> None:
        """Drops the body."""
        stream, body, self._stream, self._body = self._stream, self._body, None, None
        if stream is not None:
            stream.__exit__(None, None, None)
            body.__exit__(None, None, None)

    def __del__(self) -> None:
        self.close()


def _outgoing(request: Request) -> object:
    fields = _types.Fields()
    headers = list(request.headers)
    if isinstance(request.body, bytes):
        headers.append(("content-length", str(len(request.body))))
    elif request.body is None and request.method in _WITH_BODY:
        headers.append(("content-length", "0"))
    for name, value in headers:
        try:
            fields.append(name, value.encode())
        except Err:
            why = f"the header field {name!r} cannot be sent"
            raise HttpError("invalid-request", request.subject, why) from None
    outgoing = _types.OutgoingRequest(fields)
    try:
        outgoing.set_method(_method(request.method))
        outgoing.set_scheme(getattr(_types, f"Scheme_{request.scheme.capitalize()}")())
        outgoing.set_authority(request.authority)
        outgoing.set_path_with_query(request.path)
    except Err:
        why = "the method or the URL is malformed"
        raise HttpError("invalid-request", request.subject, why) from None
    return outgoing


def _method(name: str) -> object:
    known = getattr(_types, f"Method_{name.capitalize()}", None)
    return known() if known and name != "OTHER" else _types.Method_Other(name)


def _options(timeout: float | None) -> object | None:
    if timeout is None:
        return None
    options = _types.RequestOptions()
    nanoseconds = max(1, int(timeout * 1e9))
    options.set_connect_timeout(nanoseconds)
    options.set_first_byte_timeout(nanoseconds)
    options.set_between_bytes_timeout(nanoseconds)
    return options


def _write(body: object, content: bytes | Iterable[bytes]) -> object | None:
    """Writes the body and ends it. Returns the code with which the host refused it, if it did."""
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        with body.write() as stream:
            for piece in pieces:
                view = memoryview(piece)
                for at in range(0, len(view), _WRITE_BYTES):
                    stream.blocking_write_and_flush(bytes(view[at : at + _WRITE_BYTES]))
        _types.OutgoingBody.finish(body, None)
    except Err as failure:
        ended = failure.value
        if isinstance(ended, _streams.StreamError_LastOperationFailed):
            ended = _types.http_error_code(ended.value)
        return ended if type(ended).__name__.startswith("ErrorCode_HttpRequest") else None
    return None


def _fail(request: Request, code: object) -> NoReturn:
    name = type(code).__name__.removeprefix("ErrorCode_")
    kind = _KINDS.get(name, "protocol")
    raise HttpError(kind, request.subject, name if kind == "protocol" else None) from None
