"""Calls from a tool to its host: progress, partial results, state, context, artifacts, questions to the user, and
the end of the run.

In a component these are the imports that the project's `uses` names. Under plain Python, `testing`
stands in for them.
"""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TypeVar, overload

from agent_tool._artifacts import Artifact
from agent_tool._form import form_of
from agent_tool._human import Answer, Form, FormAnswer, Question
from agent_tool._output import plain

if sys.platform == "wasi":
    from agent_tool import _imports as host
else:
    from agent_tool import testing as host

F = TypeVar("F")


def progress(message: str, fraction: float | None = None) -> None:
    """Shows the progress of a call to the waiting user; `fraction` is between 0 and 1."""
    host.report(message, None if fraction is None else float(fraction))


def ask(
    prompt: str,
    choices: Sequence[str] = (),
    free_text: bool | None = None,
    multiple: bool = False,
) -> Answer:
    """Asks the user and waits for the answer, for days if needed.

    Without choices the answer is free text; with choices, only if `free_text` is set. With
    `multiple` the user may take several of the choices. The call is run again from its start once
    the answer is there, with earlier answers given again, so a tool must ask before its first
    effect, and ask the same questions in the same order.
    """
    if isinstance(choices, str):
        raise TypeError("`choices` is a list of strings and not one string")
    may_write = not choices if free_text is None else free_text
    return host.ask(Question(prompt, tuple(choices), may_write, multiple))


@overload
def ask_form(prompt: str, form: type[F]) -> FormAnswer[F]: ...
@overload
def ask_form(prompt: str, form: Mapping[str, object]) -> FormAnswer[dict[str, object]]: ...
def ask_form(prompt: str, form: object) -> FormAnswer:
    """Asks the user for several fields at once, under the rules of `ask`.

    `form` is a dataclass or a TypedDict whose fields are `str`, `int`, `float`, `bool`, `Literal`
    or `Enum`, and the answer's `fields` is an instance of it. Or it is a JSON Schema of one flat
    object, and the fields are a dict.
    """
    shape = form_of(form)
    answer = host.ask_form(Form(prompt, shape.schema))
    if answer.kind != "fields":
        return answer
    return FormAnswer("fields", shape.read(answer.fields, ""))


def halt(message: str) -> None:
    """Asks to end the whole run with a message for the user once this call has succeeded: the model
    is not asked again.

    A call that fails or is denied ends nothing. The last message counts.
    """
    host.halt(message)


class Context:
    """What the operator's program says of the request that the session serves: a user, a tenant, a
    request id. The model neither sees nor sets it.
    """

    def get(self) -> dict[str, object]:
        """The context of the session when the call began; `{}` where none was given."""
        return json.loads(host.get_context())


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


class Partial:
    """The result of a call, piece by piece, as the pieces are ready: users see the text while the
    call runs.

    When the tool returns text or content, the pieces come first in the result, and text continues
    the text before it; an empty string adds nothing. Anything else is the whole result. Each
    function returns `False` once the result is full: what is left out is not part of it, and a note
    at its end says so.
    """

    def text(self, text: str) -> bool:
        """Adds text."""
        return host.add_text(text)

    def file(self, media_type: str, filename: str | None = None) -> bool:
        """Begins a file; `bytes` adds its content, which the media type must agree with."""
        return host.begin_file(media_type, filename)

    def bytes(self, data: builtins.bytes) -> bool:
        """Adds bytes to the file that the call has just begun or continued."""
        return host.add_bytes(builtins.bytes(data))


class Artifacts:
    """The artifacts of the session: named files that calls left, and results that are too large for
    the conversation. They need a grant. Every function raises `ArtifactError` when it fails.
    """

    def list(self) -> builtins.list[Artifact]:
        """The artifacts as they were when the call began, with this call's changes, by name."""
        return host.list_artifacts()

    def get(self, name: str) -> bytes:
        """The bytes of an artifact."""
        return host.get_artifact(name)

    def put(self, name: str, data: bytes | str, media_type: str) -> None:
        """Stores an artifact, in place of one with its name. A string is stored as UTF-8.

        It is kept once the call has succeeded, and not at all otherwise.
        """
        content = data.encode() if isinstance(data, str) else bytes(data)
        host.put_artifact(name, media_type, content)

    def delete(self, name: str) -> None:
        """Deletes an artifact, once the call has succeeded."""
        host.delete_artifact(name)


artifacts = Artifacts()
context = Context()
partial = Partial()
state = State()
