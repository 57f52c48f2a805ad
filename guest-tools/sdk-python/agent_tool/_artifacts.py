"""Artifacts of the session, and the failures of their functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tool._failure import ToolError

Code = Literal[
    "not-found", "denied", "invalid-name", "invalid-media-type", "too-large", "quota-exceeded"
]

_TEXTS: dict[str, str] = {
    "not-found": "there is no artifact `{}`",
    "denied": "`{}` is denied: the tool has no grant for artifacts, or only one to read",
    "invalid-name": (
        "`{}` cannot be the name of an artifact: it must be a relative path such as "
        "`plots/one.png`, and not in `results/`"
    ),
    "invalid-media-type": (
        "the media type of the artifact `{}` is malformed, or does not agree with its bytes"
    ),
    "too-large": "the artifact `{}` is larger than one call may move",
    "quota-exceeded": (
        "the artifact `{}` cannot be kept: the artifacts of the session have used up their quota"
    ),
}


@dataclass(frozen=True)
class Artifact:
    """An artifact of the session."""

    name: str
    """The name, a relative path such as `plots/one.png`."""
    media_type: str
    """The media type, such as `text/csv`."""
    size: int
    """The size, in bytes."""


class ArtifactError(ToolError):
    """A failure of one of the functions of `artifacts`. If the tool does not catch it, the model
    reads its text.
    """

    code: Code
    """The failure: "not-found", "denied", "invalid-name", "invalid-media-type", "too-large" or
    "quota-exceeded".
    """

    def __init__(self, code: Code, name: str = "artifacts") -> None:
        super().__init__(_TEXTS[code].format(name))
        self.code = code
