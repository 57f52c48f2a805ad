"""The conformance tools for HTTP."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from agent_tool import Schema, ToolError, http, tool

# A byte of a streamed body says in which block of this size it is.
BLOCK_BYTES = 4096
PIECE_BYTES = 16 * BLOCK_BYTES


@tool(name="http")
def send(
    method: Annotated[str, "The method."],
    url: Annotated[str, "The URL."],
    name: Annotated[str, "The name of header fields."] = "",
    values: Annotated[Sequence[str], "Their values."] = (),
    body: Annotated[str | None, "The body."] = None,
) -> dict[str, Any]:
    """Sends a request and gives the response."""
    try:
        with http.request(method, url, [(name, value) for value in values], body) as response:
            answer = response.headers.get("x-answer")
            return {"status": response.status, "answer": answer, "body": response.text()}
    except http.HttpError as failure:
        raise ToolError(failure.kind) from None


@tool
def stream_http(
    url: Annotated[str, "The URL."],
    size: Annotated[int, "The size of a body to send, in bytes.", Schema(minimum=0)] = 0,
    whole: Annotated[bool, "True if the response is to be held as a whole."] = False,
) -> dict[str, Any]:
    """Sends and receives a body in pieces, and counts what it receives."""
    method, body = ("POST", made(size)) if size else ("GET", None)
    try:
        with http.request(method, url, body=body) as response:
            pieces = [response.content(2**31)] if whole else response
            count, total = measured(pieces)
            return {"bytes": count, "sum": total, "answer": response.headers.get("x-answer")}
    except http.HttpError as failure:
        raise ToolError(failure.kind) from None


def made(size: int) -> Iterator[bytes]:
    """A body of this size."""
    for start in range(0, size, PIECE_BYTES):
        blocks = range(start // BLOCK_BYTES, (start + PIECE_BYTES) // BLOCK_BYTES)
        yield b"".join(bytes([block % 251]) * BLOCK_BYTES for block in blocks)[: size - start]


def measured(pieces: Sequence[bytes] | Iterator[bytes]) -> tuple[int, int]:
    """The size of a body, and the sum of the first bytes of its blocks, each times its number."""
    count = total = 0
    for piece in pieces:
        for at in range(-count % BLOCK_BYTES, len(piece), BLOCK_BYTES):
            total += piece[at] * ((count + at) // BLOCK_BYTES + 1)
        count += len(piece)
    return count, total
