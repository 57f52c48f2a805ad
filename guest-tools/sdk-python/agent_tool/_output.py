"""Tool results: the union of the contract as plain values, and the conversions to its variants.

The variant is chosen here, by type, and never by looking into a value.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Data:
    """The content of a file: `bytes`, or text that `kind` calls `text` or `url`."""

    kind: str
    value: bytes | str


@dataclass(frozen=True)
class Part:
    """One part of a result with several: text, or a file."""

    text: str | None = None
    media_type: str | None = None
    data: Data | None = None
    filename: str | None = None


@dataclass(frozen=True)
class Output:
    """The result of a call. `kind` is the variant of the contract, and `value` its value."""

    kind: str
    value: object = None


def text(value: str) -> Output:
    """Success, as text. A tool may return the string itself."""
    return Output("text", _string(value, "text"))


def json(value: object) -> Output:
    """Success, as JSON. Needed for a string or `None`; other values may be returned directly."""
    return Output("json", plain(value))


def content(parts: Iterable[Part | str]) -> Output:
    """Success, as several parts: strings, images and files."""
    return Output("content", tuple(_part(part) for part in parts))


def image(data: bytes, media_type: str = "image/png", filename: str | None = None) -> Part:
    """An image. The media type must agree with the bytes: the host sniffs them."""
    return _file(Data("bytes", bytes(data)), media_type, filename)


def file(data: bytes | str, media_type: str, filename: str | None = None) -> Part:
    """A file by its content, bytes or text."""
    if isinstance(data, str):
        return _file(Data("text", _string(data, "file")), media_type, filename)
    return _file(Data("bytes", bytes(data)), media_type, filename)


def file_url(url: str, media_type: str, filename: str | None = None) -> Part:
    """A file by its absolute URL, from which the host fetches it if the tool may reach it."""
    return _file(Data("url", _string(url, "file_url")), media_type, filename)


def error(message: str) -> Output:
    """A failure: what went wrong, and what the model should do next. `raise ToolError(message)` is
    the same.
    """
    return Output("error-text", _string(message, "error"))


def error_json(value: object) -> Output:
    """A failure, as JSON."""
    return Output("error-json", plain(value))


def denied(reason: str | None = None) -> Output:
    """The call did not run, because a user or a rule did not allow it."""
    return Output("execution-denied", None if reason is None else _string(reason, "denied"))


def to_output(value: object) -> Output:
    """Converts the value that a tool's function returned to a variant."""
    if isinstance(value, Output):
        return value
    if isinstance(value, Part):
        return content([value])
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return text(value)
    if value is None:
        raise TypeError(
            "the tool returned None; return text or a value, or `json(None)` for a JSON null"
        )
    return json(value)


def plain(value: object, path: str = "") -> object:
    """A value as JSON has it: dataclasses become objects, enums their values, tuples lists. `path`
    is a JSON pointer.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value, path)
    if isinstance(value, str):
        return _string(value, path or "/")
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{_place(path)} is {value}, which JSON has no number for")
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Part, Output)):
        names = (field.name for field in dataclasses.fields(value))
        return {name: plain(getattr(value, name), f"{path}/{name}") for name in names}
    if isinstance(value, Mapping):
        return {_key(key, path): plain(item, f"{path}/{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{path}/{index}") for index, item in enumerate(value)]
    hint = "; put parts into `content([...])`" if isinstance(value, (Part, Output)) else ""
    raise TypeError(
        f"{_place(path)} is of type {type(value).__name__}, which has no JSON form{hint}"
    )


def _place(path: str) -> str:
    return f"the result's {path}" if path else "the result"


def _key(key: object, path: str) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if not isinstance(key, str):
        raise TypeError(
            f"{_place(path)} has the key {key!r}; the keys of a JSON object are strings"
        )
    return _string(key, path or "/")


def _string(value: object, place: str) -> str:
    """A string that has a UTF-8 form, which one with half of a surrogate pair has not."""
    if not isinstance(value, str):
        raise TypeError(f"{place} takes a string and not {type(value).__name__}")
    value.encode()
    return value


def _file(data: Data, media_type: str, filename: str | None) -> Part:
    _string(media_type, "media_type")
    if filename is not None:
        _string(filename, "filename")
    return Part(media_type=media_type, data=data, filename=filename)


def _part(part: Part | str) -> Part:
    return part if isinstance(part, Part) else Part(text=_string(part, "content"))
