"""Questions to the user, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

F = TypeVar("F")


@dataclass(frozen=True)
class Question:
    """A question."""

    prompt: str
    """The text that the user reads."""
    choices: tuple[str, ...] = ()
    """The choices; may be empty with `free_text`."""
    free_text: bool = False
    """True if the user may answer with free text."""
    multiple: bool = False
    """True if the user may take several of the choices."""


@dataclass(frozen=True)
class Answer:
    """An answer."""

    kind: Literal["text", "choice", "choices", "cancelled", "unavailable"]
    """"text", "choice", "choices", "cancelled" (the user declined) or "unavailable" (no user can be
    asked here, or the call has already changed something).
    """
    text: str | None = None
    """The free text, if `kind` is "text"."""
    index: int | None = None
    """The index of one of the choices, if `kind` is "choice"."""
    indexes: tuple[int, ...] = ()
    """The indexes of several of the choices, ascending, if `kind` is "choices"."""


@dataclass(frozen=True)
class Form:
    """A question with several fields."""

    prompt: str
    """The text that the user reads."""
    schema: Mapping[str, object] = field(default_factory=dict)
    """The JSON Schema of the fields."""


@dataclass(frozen=True)
class FormAnswer(Generic[F]):
    """An answer to a form."""

    kind: Literal["fields", "cancelled", "unavailable"]
    """"fields", "cancelled" (the user declined) or "unavailable" (no user can be asked here, or the
    call has already changed something).
    """
    fields: F | None = None
    """The fields, if `kind` is "fields": an instance of the form's class, or a dict."""
