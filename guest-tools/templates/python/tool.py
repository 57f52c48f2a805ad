"""The tools of my-tool.

Each is a function: its docstring is what the model reads, and its type hints are what the host
checks every call against.
"""

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Annotated, Literal

from agent_tool import Part, ToolError, image, state, tool

# The width and the height of a swatch, in pixels.
SIDE = 64


@tool(effect="read-only")
def greet(
    name: Annotated[str, "The name of the user to greet."],
    tone: Annotated[Literal["friendly", "formal"], "The tone of the greeting."] = "friendly",
) -> str:
    """Greets a user by name."""
    return f"Good day, {name}." if tone == "formal" else f"Hello, {name}!"


@dataclass
class Count:
    words: Annotated[int, "The number of words."]
    characters: Annotated[int, "The number of characters."]


@tool(effect="read-only")
def count_words(text: Annotated[str, "The text to count in."]) -> Count:
    """Counts the words and the characters of a text. Words are separated by white space."""
    return Count(words=len(text.split()), characters=len(text))


@tool(effect="read-only")
def swatch(colour: Annotated[str, "The colour, as #rrggbb."]) -> Part:
    """Shows a colour as a small image."""
    return image(png(parse(colour)))


@tool(effect="idempotent")
def keep_note(
    title: Annotated[str, "The subject of the note."],
    text: Annotated[str, "The note itself."],
) -> str:
    """Keeps a note for the rest of the session. A note with the same title is replaced."""
    state.merge({"notes": {title: text}})
    return f"Kept the note on {title}."


def parse(colour: str) -> bytes:
    """Red, green and blue of `#rrggbb`."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise ToolError(f"`{colour}` is no colour; write it as #rrggbb, such as #1e90ff")
    return bytes.fromhex(colour[1:])


def png(colour: bytes) -> bytes:
    """A square of one colour as a PNG."""
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    # Each row begins with its filter: none.
    rows = (b"\0" + colour * SIDE) * SIDE
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
