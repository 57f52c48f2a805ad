"""The imports of the component. Only those that the project's `uses` names are there."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from componentize_py_types import Err

from agent_tool._artifacts import Artifact, ArtifactError
from agent_tool._human import Answer, Form, FormAnswer, Question
from agent_tool._uses import how_to_declare

T = TypeVar("T")

# The interfaces of the contract and of WASI, by their names in `uses`.
INTERFACES = {
    "progress": "progress",
    "partial": "partial",
    "state": "state",
    "ask": "human",
    "context": "context",
    "control": "control",
    "artifacts": "artifacts",
    "http": "outgoing_handler",
}


def _find(interface: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"wit_world.imports.{interface}")
    except ImportError:
        return None


DECLARED = {use: module for use, name in INTERFACES.items() if (module := _find(name))}


def report(message: str, fraction: float | None) -> None:
    """`progress.report` of the contract."""
    _declared("progress").report(message, fraction)


def add_text(text: str) -> bool:
    """`partial.text` of the contract."""
    return _declared("partial").text(text)


def begin_file(media_type: str, filename: str | None) -> bool:
    """`partial.file` of the contract."""
    return _declared("partial").file(media_type, filename)


def add_bytes(data: bytes) -> bool:
    """`partial.bytes` of the contract."""
    return _declared("partial").bytes(data)


def get() -> str:
    """`state.get` of the contract."""
    return _declared("state").get()


def merge(delta: str) -> None:
    """`state.merge` of the contract."""
    _declared("state").merge(delta)


def get_context() -> str:
    """`context.get` of the contract."""
    return _declared("context").get()


def halt(message: str) -> None:
    """`control.halt` of the contract."""
    _declared("control").halt(message)


def ask(question: Question) -> Answer:
    """`human.ask` of the contract."""
    human = _declared("ask")
    asked = human.Question(
        question.prompt, list(question.choices), question.free_text, question.multiple
    )
    match human.ask(asked):
        case human.Answer_Text(value):
            return Answer("text", text=value)
        case human.Answer_Choice(value):
            return Answer("choice", index=value)
        case human.Answer_Choices(value):
            return Answer("choices", indexes=tuple(value))
        case human.Answer_Cancelled():
            return Answer("cancelled")
        case _:
            return Answer("unavailable")


def ask_form(form: Form) -> FormAnswer:
    """`human.ask-form` of the contract."""
    human = _declared("ask")
    match human.ask_form(form.prompt, json.dumps(form.schema, ensure_ascii=False)):
        case human.FormAnswer_Fields(value):
            return FormAnswer("fields", json.loads(value))
        case human.FormAnswer_Cancelled():
            return FormAnswer("cancelled")
        case _:
            return FormAnswer("unavailable")


def list_artifacts() -> list[Artifact]:
    """`artifacts.list` of the contract."""
    listed = _artifact(_declared("artifacts").list)
    return [Artifact(one.name, one.media_type, one.size) for one in listed]


def get_artifact(name: str) -> bytes:
    """`artifacts.get` of the contract."""
    return _artifact(_declared("artifacts").get, name)


def put_artifact(name: str, media_type: str, data: bytes) -> None:
    """`artifacts.put` of the contract."""
    _artifact(_declared("artifacts").put, name, media_type, data)


def delete_artifact(name: str) -> None:
    """`artifacts.delete` of the contract."""
    _artifact(_declared("artifacts").delete, name)


def _artifact(function: Callable[..., T], *arguments: object) -> T:
    """Calls a function of `artifacts`, and raises its failure as an `ArtifactError`."""
    try:
        return function(*arguments)
    except Err as failure:
        code = failure.value.name.lower().replace("_", "-")
        raise ArtifactError(code, *arguments[:1]) from None


def _declared(use: str) -> ModuleType:
    module = DECLARED.get(use)
    if module is None:
        raise RuntimeError(f"the component was built without `{use}`: {how_to_declare(use)}")
    return module
