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
from dataclasses import dataclass, field, replace

from agent_tool._artifacts import Artifact, ArtifactError
from agent_tool._http import HttpError, Kind, Request
from agent_tool._human import Answer, Form, FormAnswer, Question
from agent_tool._output import Data, Output, Part, file
from agent_tool._tool import TOOLS, Call

# The kinds of a result that a failed or refused call has.
_FAILURES = ("error-text", "error-json", "execution-denied")


@dataclass
class Recorded:
    """The calls of tools to the host since `prepare`."""

    progress: list[tuple[str, float | None]] = field(default_factory=list)
    """Messages with the part that is done."""
    partial: list[Part] = field(default_factory=list)
    """The parts of results that were added while calls ran."""
    deltas: list[dict[str, object]] = field(default_factory=list)
    """The requested changes of the state."""
    questions: list[Question | Form] = field(default_factory=list)
    """Questions and forms, in order."""
    halt: str | None = None
    """The message with which the run ends, if it does."""
    artifacts: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """The artifacts as the calls left them: media types and bytes by name."""
    requests: list[Request] = field(default_factory=list)
    """The HTTP requests, in order; their bodies are whole."""


@dataclass(frozen=True)
class Reply:
    """A prepared response to an HTTP request."""

    status: int = 200
    """The status."""
    headers: Sequence[tuple[str, str]] = ()
    """The header fields."""
    body: bytes = b""
    """The body."""


_recorded = Recorded()
_state: dict[str, object] = {}
_context: dict[str, object] = {}
_answers: list[Answer | FormAnswer] = []
_may_use_artifacts = False
_replies: list[Reply | Kind] = []


def prepare(
    state: Mapping[str, object] | None = None,
    answers: Sequence[Answer | FormAnswer | str | int | Sequence[int] | Mapping[str, object]] = (),
    context: Mapping[str, object] | None = None,
    artifacts: Mapping[str, tuple[str, bytes]] | None = None,
    replies: Sequence[Reply | Kind] = (),
) -> None:
    """Starts over: nothing recorded, this state, this context, and these answers, in the order of
    the questions.

    A string is a free-text answer, a number is the index of a choice, a list of numbers are the
    indexes of several, and a mapping has the fields of a form. A question without an answer is
    answered `unavailable`. `artifacts` has a media type and bytes for each name; without it the
    tools have no grant for artifacts. `replies` answer the HTTP requests, in order: a response, or
    the kind of an `HttpError`. A request without one is denied.
    """
    global _recorded, _state, _context, _answers, _may_use_artifacts, _replies
    _recorded = Recorded(artifacts=dict(artifacts or {}))
    _state = copy.deepcopy(dict(state or {}))
    _context = copy.deepcopy(dict(context or {}))
    _answers = [_answer(answer) for answer in answers]
    _may_use_artifacts = artifacts is not None
    _replies = list(replies)


def recorded() -> Recorded:
    """The calls recorded since `prepare`, or since the start."""
    return copy.deepcopy(_recorded)


def call(name: str, input: Mapping[str, object] | None = None) -> Output:
    """Calls a tool by its name, with its input as JSON. An error that would end a component as a
    trap is raised. A call that fails or is denied changes no state and no artifacts, and does not
    end the run.
    """
    before = recorded()
    failed = True
    try:
        output = TOOLS[name].run(
            Call(id="test", name=name, idempotency_key="test"), json.dumps(dict(input or {}))
        )
        failed = output.kind in _FAILURES
        return output
    finally:
        if failed:
            _recorded.deltas = before.deltas
            _recorded.halt = before.halt
            _recorded.artifacts = before.artifacts


def add_text(text: str) -> bool:
    """Stands in for `partial.text`."""
    if _recorded.partial and (last := _recorded.partial[-1]).text is not None:
        _recorded.partial[-1] = replace(last, text=last.text + text)
    else:
        _recorded.partial.append(Part(text=text))
    return True


def begin_file(media_type: str, filename: str | None) -> bool:
    """Stands in for `partial.file`."""
    _recorded.partial.append(file(b"", media_type, filename))
    return True


def add_bytes(data: bytes) -> bool:
    """Stands in for `partial.bytes`."""
    if _recorded.partial and (last := _recorded.partial[-1]).data is not None:
        _recorded.partial[-1] = replace(last, data=Data("bytes", last.data.value + data))
    else:
        _recorded.partial.append(file(data, "application/octet-stream"))
    return True


def report(message: str, fraction: float | None) -> None:
    """The host's `progress.report`."""
    _recorded.progress.append((message, fraction))


def get() -> str:
    """The host's `state.get`."""
    return json.dumps(_state)


def merge(delta: str) -> None:
    """The host's `state.merge`."""
    _recorded.deltas.append(json.loads(delta))


def get_context() -> str:
    """The host's `context.get`."""
    return json.dumps(_context)


def halt(message: str) -> None:
    """The host's `control.halt`."""
    _recorded.halt = message


def ask(question: Question) -> Answer:
    """The host's `human.ask`."""
    answer = _next_answer(question)
    if isinstance(answer, FormAnswer):
        # A test fails with it; the type of the answer is no fault of the tool.
        raise AssertionError(  # noqa: TRY004
            f"the next prepared answer is one to a form, and not to {question}"
        )
    return answer


def ask_form(form: Form) -> FormAnswer:
    """The host's `human.ask-form`."""
    answer = _next_answer(form)
    if isinstance(answer, FormAnswer):
        return answer
    if answer.kind in ("cancelled", "unavailable"):
        return FormAnswer(answer.kind)
    raise AssertionError(f"the next prepared answer is {answer}, which is none to a form")


def list_artifacts() -> list[Artifact]:
    """The host's `artifacts.list`."""
    _allow("artifacts")
    kept = sorted(_recorded.artifacts.items())
    return [Artifact(name, media_type, len(data)) for name, (media_type, data) in kept]


def get_artifact(name: str) -> bytes:
    """The host's `artifacts.get`."""
    _allow(name)
    if name not in _recorded.artifacts:
        raise ArtifactError("not-found", name)
    return _recorded.artifacts[name][1]


def put_artifact(name: str, media_type: str, data: bytes) -> None:
    """The host's `artifacts.put`. It checks no media type, and has no quota."""
    _allow(name)
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or parts[0] == "results":
        raise ArtifactError("invalid-name", name)
    _recorded.artifacts[name] = (media_type, data)


def delete_artifact(name: str) -> None:
    """The host's `artifacts.delete`."""
    get_artifact(name)
    del _recorded.artifacts[name]


def send(request: Request) -> tuple[int, Sequence[tuple[str, str]], Incoming]:
    """The host's HTTP."""
    body = request.body
    whole = body if body is None or isinstance(body, bytes) else b"".join(body)
    _recorded.requests.append(replace(request, body=whole))
    reply = _replies.pop(0) if _replies else "denied"
    if not isinstance(reply, Reply):
        raise HttpError(reply, request.subject)
    return reply.status, reply.headers, Incoming(reply.body)


class Incoming:
    """The body of a prepared response."""

    def __init__(self, body: bytes) -> None:
        self._rest = body

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def close(self) -> None:
        """Drops the rest."""
        self._rest = b""


def _allow(name: str) -> None:
    if not _may_use_artifacts:
        raise ArtifactError("denied", name)


def _next_answer(question: Question | Form) -> Answer | FormAnswer:
    _recorded.questions.append(question)
    return _answers.pop(0) if _answers else Answer("unavailable")


def _answer(answer: object) -> Answer | FormAnswer:
    match answer:
        case Answer() | FormAnswer():
            return answer
        case str():
            return Answer("text", text=answer)
        case int():
            return Answer("choice", index=answer)
        case Mapping():
            return FormAnswer("fields", dict(answer))
        case Sequence():
            return Answer("choices", indexes=tuple(sorted(answer)))
        case _:
            raise TypeError(f"{answer!r} is no answer")
