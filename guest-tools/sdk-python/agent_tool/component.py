"""The component: what componentize-py loads. It imports the project's module `tool`, and answers
the host's calls with it.

Code at the top of modules runs when the component is built; each call then starts with a fresh copy
of its state.
"""

from __future__ import annotations

import json
import os
import sys
from typing import NoReturn

from wit_world import exports
from wit_world.imports import types

from agent_tool._explain import explain, keep_sources, relative, sources, summary
from agent_tool._failure import DefinitionError
from agent_tool._imports import DECLARED
from agent_tool._output import Data, Output, Part, error
from agent_tool._tool import TOOLS, Call
from agent_tool._tool import Tool as Defined
from agent_tool._uses import problems_of

_EFFECTS = {
    "read-only": types.Effect.READ_ONLY,
    "idempotent": types.Effect.IDEMPOTENT,
    "effectful": types.Effect.EFFECTFUL,
}


class Tool(exports.Tool):
    """The interface `tool` of the contract."""

    def definitions(self) -> list[types.ToolDefinition]:
        """The tools in this component."""
        return [_definition(tool) for tool in TOOLS.values()]

    def call(self, call: types.ToolCall) -> types.ToolResultOutput:
        """Runs one call. An uncaught exception goes to stderr, and the call ends as a trap."""
        _reseed()
        try:
            return _lower(_run(call))
        except BaseException as exception:  # noqa: BLE001 (told, and ends in a trap)
            _fail(exception)
        finally:
            # Nothing after the call would flush the buffered output.
            sys.stdout.flush()


def _run(call: types.ToolCall) -> Output:
    tool = TOOLS.get(call.name)
    if tool is None:
        return error(f"this component has no tool `{call.name}`")
    return tool.run(Call(call.id, call.name, call.idempotency_key), call.input)


def _reseed() -> None:
    """The generator of `random` was seeded when the component was built, and would give every call
    the same numbers.
    """
    if "random" in sys.modules:
        sys.modules["random"].seed()


def _fail(exception: BaseException) -> NoReturn:
    try:
        sys.stdout.flush()
        # The host gives the line with this word to the model, and the traceback to the author.
        told = f"{explain(exception)}Uncaught {summary(exception)}"
        print(told, file=sys.stderr, flush=True)
    finally:
        # Even where there is no memory left to explain with.
        os.abort()


def _definition(tool: Defined) -> types.ToolDefinition:
    return types.ToolDefinition(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_text(tool.input.schema),
        output_schema=None if tool.output is None else _text(tool.output.schema),
        effect=_EFFECTS[tool.effect],
    )


def _lower(output: Output) -> types.ToolResultOutput:
    match output.kind:
        case "text":
            return types.ToolResultOutput_Text(output.value)
        case "json":
            return types.ToolResultOutput_Json(_text(output.value))
        case "content":
            return types.ToolResultOutput_Content([_lower_part(part) for part in output.value])
        case "error-text":
            return types.ToolResultOutput_ErrorText(output.value)
        case "error-json":
            return types.ToolResultOutput_ErrorJson(_text(output.value))
        case "execution-denied":
            return types.ToolResultOutput_ExecutionDenied(output.value)
        case kind:
            raise TypeError(
                f"there is no result of the kind {kind!r}; make one with `text`, `json` and the like"
            )


def _lower_part(part: Part) -> types.ContentPart:
    if part.data is None:
        return types.ContentPart_Text(part.text)
    file = types.FilePart(part.media_type, _lower_data(part.data), part.filename)
    return types.ContentPart_File(file)


def _lower_data(data: Data) -> types.FileData:
    match data.kind:
        case "bytes":
            return types.FileData_Bytes(data.value)
        case "url":
            return types.FileData_Url(data.value)
        case _:
            return types.FileData_Text(data.value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _load() -> None:
    """Loads the project's tools. Errors are explained in the author's terms, and end the build."""
    try:
        import tool  # noqa: F401

        if not TOOLS:
            raise DefinitionError("tool.py defines no tool: put `@tool(effect=...)` on a function")
        _check_uses()
    except BaseException as exception:  # noqa: BLE001 (told, and ends the build)
        print(explain(exception), file=sys.stderr, end="", flush=True)
        os._exit(1)
    keep_sources()


def _check_uses() -> None:
    """Refuses tools that use an interface which the component does not import."""
    problems = [
        problem
        for path, lines in sources().items()
        for problem in problems_of(relative(path), "".join(lines), DECLARED)
    ]
    if problems:
        raise DefinitionError("\n".join(problems))


_load()
