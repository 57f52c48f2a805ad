"""Questions to the user, and their answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question."""

    prompt: str
    """The text that the user reads."""
    choices: tuple[str, ...] = ()
    """The choices; may be empty with `free_text`."""
    free_text: bool = False
    """True if the user may answer with free text."""


@dataclass(frozen=True)
class Answer:
    """An answer."""

    kind: str
    """"text", "choice", "cancelled" (the user declined) or "unavailable" (no user can be asked
    here).
    """
    text: str | None = None
    """The free text, if `kind` is "text"."""
    index: int | None = None
    """The index of one of the choices, if `kind` is "choice"."""
