"""Calls from a tool to its host: progress, the shared state, and questions to the user.

In a component these are the imports that the project's `uses` names. Under plain Python, `testing`
stands in for them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from agent_tool._human import Answer, Question
from agent_tool._output import plain

if sys.platform == "wasi":
    from agent_tool import _imports as host
else:
    from agent_tool import testing as host


def progress(message: str, fraction: float | None = None) -> None:
    """Shows the progress of a call to the waiting user; `fraction` is between 0 and 1."""
    host.report(message, None if fraction is None else float(fraction))


def ask(prompt: str, choices: Sequence[str] = (), free_text: bool | None = None) -> Answer:
    """Asks the user and waits for the answer, for days if needed.

    Without choices the answer is free text; with choices, only if `free_text` is set. The call is
    run again from its start once the answer is there, with earlier answers given again, so a tool
    must ask before its first effect, and ask the same questions in the same order.
    """
    if isinstance(choices, str):
        raise TypeError("`choices` is a list of strings and not one string")
    return host.ask(
        Question(prompt, tuple(choices), not choices if free_text is None else free_text)
    )


class State:
    """The state that the tools of a session share: one JSON object."""

    def get(self) -> dict[str, object]:
        """The state as it was when the call began."""
        return json.loads(host.get())

    def merge(self, delta: Mapping[str, object]) -> None:
        """Asks for a change: objects merge deeply, lists and other values replace.

        It is applied when the call settles, and not at all if it does not.
        """
        host.merge(json.dumps(plain(dict(delta)), ensure_ascii=False))


state = State()
