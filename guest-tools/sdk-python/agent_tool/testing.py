"""A stand-in for the host, for tests under plain Python. It keeps what a tool reported and hands
out what a test prepared.

A tool's function can be called as it is; `call` goes the way of a real call instead, from JSON to
the result:

    from agent_tool import testing
    import tool

    testing.prepare(answers=["Vienna"])
    assert testing.call("weather", {}) == text("Vienna: rain")
    assert testing.recorded().questions == [...]
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_tool._human import Answer, Question
from agent_tool._output import Output
from agent_tool._tool import TOOLS, Call


@dataclass
class Recorded:
    """The calls of tools to the host since `prepare`."""

    progress: list[tuple[str, float | None]] = field(default_factory=list)
    """Messages with the part that is done."""
    deltas: list[dict[str, object]] = field(default_factory=list)
    """The requested changes of the state."""
    questions: list[Question] = field(default_factory=list)
    """Questions, in order."""


_recorded = Recorded()
_state: dict[str, object] = {}
_answers: list[Answer] = []


def prepare(
    state: Mapping[str, object] | None = None, answers: Sequence[Answer | str | int] = ()
) -> None:
    """Starts over: nothing recorded, this state, and these answers, in the order of the questions.

    A string is a free-text answer and a number is the index of a choice. A question without an
    answer is answered `unavailable`.
    """
    global _recorded, _state, _answers
    _recorded = Recorded()
    _state = copy.deepcopy(dict(state or {}))
    _answers = [_answer(answer) for answer in answers]


def recorded() -> Recorded:
    """The calls recorded since `prepare`, or since the start."""
    return copy.deepcopy(_recorded)


def call(name: str, input: Mapping[str, object] | None = None) -> Output:
    """Calls a tool by its name, with its input as JSON. An error that would end a component as a
    trap is raised.
    """
    return TOOLS[name].run(
        Call(id="test", name=name, idempotency_key="test"), json.dumps(dict(input or {}))
    )


def report(message: str, fraction: float | None) -> None:
    """The host's `progress.report`."""
    _recorded.progress.append((message, fraction))


def get() -> str:
    """The host's `state.get`."""
    return json.dumps(_state)


def merge(delta: str) -> None:
    """The host's `state.merge`."""
    _recorded.deltas.append(json.loads(delta))


def ask(question: Question) -> Answer:
    """The host's `human.ask`."""
    _recorded.questions.append(question)
    return _answers.pop(0) if _answers else Answer("unavailable")


def _answer(answer: Answer | str | int) -> Answer:
    if isinstance(answer, str):
        return Answer("text", text=answer)
    return Answer("choice", index=answer) if isinstance(answer, int) else answer
