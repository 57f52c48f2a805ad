"""The imports of the component. Only those that the project's `uses` names are there."""

from __future__ import annotations

from types import ModuleType

from agent_tool._human import Answer, Question

try:
    from wit_world.imports import progress
except ImportError:
    progress = None
try:
    from wit_world.imports import state
except ImportError:
    state = None
try:
    from wit_world.imports import human
except ImportError:
    human = None


def report(message: str, fraction: float | None) -> None:
    """`progress.report` of the contract."""
    _declared(progress, "progress").report(message, fraction)


def get() -> str:
    """`state.get` of the contract."""
    return _declared(state, "state").get()


def merge(delta: str) -> None:
    """`state.merge` of the contract."""
    _declared(state, "state").merge(delta)


def ask(question: Question) -> Answer:
    """`human.ask` of the contract."""
    asked = _declared(human, "ask")
    match asked.ask(asked.Question(question.prompt, list(question.choices), question.free_text)):
        case asked.Answer_Text(value):
            return Answer("text", text=value)
        case asked.Answer_Choice(value):
            return Answer("choice", index=value)
        case asked.Answer_Cancelled():
            return Answer("cancelled")
        case _:
            return Answer("unavailable")


def _declared(module: ModuleType | None, name: str) -> ModuleType:
    if module is None:
        raise RuntimeError(
            f'the component was built without `{name}`: add "{name}" to `uses` in [tool.agent-host] of pyproject.toml, '
            "and build again"
        )
    return module
