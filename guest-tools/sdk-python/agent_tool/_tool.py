"""`@tool`: a function as a tool. An invalid one raises when its module is loaded, so it stops the
build.
"""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass

from agent_tool._explain import relative
from agent_tool._failure import DefinitionError, ToolError
from agent_tool._output import Output, error, to_output
from agent_tool._prose import reflow
from agent_tool._shape import (
    Field,
    Misfit,
    Shape,
    Unsupported,
    is_record,
    object_of,
    shape_of,
    shown_default,
)

Effect = typing.Literal["read-only", "idempotent", "effectful"]
EFFECTS: tuple[Effect, ...] = typing.get_args(Effect)

# The form that the host and all providers of models take.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

F = typing.TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Call:
    """The call that a tool is answering."""

    id: str
    """The id of the call, unique in its session."""
    name: str
    """The name of the tool."""
    idempotency_key: str
    """A key that is equal for every attempt at this call: pass it on to services that support
    idempotency keys.
    """


@dataclass(frozen=True)
class Tool:
    """A tool: what `@tool` makes of a function."""

    name: str
    title: str | None
    description: str
    effect: str
    input: Shape
    output: Shape | None
    function: Callable[..., object]

    def run(self, call: Call, text: str) -> Output:
        """Runs a call with its input as JSON text. Exceptions of the function pass through, except
        `ToolError`.
        """
        global _current
        try:
            arguments = self.input.read(json.loads(text), "")
        except (Misfit, ValueError) as misfit:
            # The host has checked the input against the schema, so this is rare: a rule that a
            # schema cannot state.
            return error(
                f"the input of `{self.name}` does not fit: {misfit}; correct it and call again"
            )
        _current = call
        try:
            return to_output(self.function(**arguments))
        except ToolError as failure:
            return error(str(failure))
        finally:
            _current = None


# All tools by name, in the order of their definitions.
TOOLS: dict[str, Tool] = {}
_current: Call | None = None


def current_call() -> Call:
    """The call that is being answered: its id, and the key to pass on to services that must not act
    twice.
    """
    if _current is None:
        raise RuntimeError(
            "no call is being answered: `current_call()` belongs into a tool's function"
        )
    return _current


@typing.overload
def tool(function: F, /) -> F: ...
@typing.overload
def tool(
    *,
    effect: Effect = "effectful",
    name: str | None = None,
    title: str | None = None,
    output: object = None,
    summary: str | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    effect: str = "effectful",
    name: str | None = None,
    title: str | None = None,
    output: object = None,
    summary: str | None = None,
) -> Callable[[F], F] | F:
    """Makes a function a tool: `@tool`, or `@tool(effect="read-only")`.

    Its docstring is what the model reads, and its parameters are the fields of the input. The
    function stays a function, so a test can call it.

    - `effect` is the effect that a call may have, and the host enforces it: "read-only",
      "idempotent", or "effectful", which promises nothing and is the default.
    - `name` is what the model calls; without it, the function's name.
    - `title` is a short name to show to users.
    - `output` is the type of a JSON result that the tool promises; without it, what the function is
      said to return, if that is a dataclass or a TypedDict.
    - `summary` is a template of the line that tells users of a call, such as "Read {path}". Models
      do not see it.
    """

    def define(function: F) -> F:
        try:
            made = _define(function, effect, name, title, output, summary)
        except (Unsupported, NameError) as problem:
            raise DefinitionError(f"{_where(function)}: {problem}") from None
        if made.name in TOOLS:
            other = _where(TOOLS[made.name].function)
            raise DefinitionError(
                f"{_where(function)}: there is a tool `{made.name}` already, {other}; rename one of them"
            )
        TOOLS[made.name] = made
        return function

    return define if function is None else define(function)


def _define(
    function: Callable[..., object],
    effect: str,
    name: str | None,
    title: str | None,
    output: object,
    summary: str | None,
) -> Tool:
    name = name or function.__name__
    if not _NAME.fullmatch(name):
        raise Unsupported(f"the name `{name}` must be 1 to 64 letters, digits, `_` and `-`")
    if effect not in EFFECTS:
        raise Unsupported(
            f"the effect is {effect!r}; write @tool(effect=...) with one of {', '.join(map(repr, EFFECTS))}"
        )
    if inspect.iscoroutinefunction(function):
        raise Unsupported("a tool's function cannot be `async`")
    description = reflow(function.__doc__)
    if not description:
        raise Unsupported(
            "the docstring is missing; the model reads it to know what the tool does and when to use it"
        )
    hints = typing.get_type_hints(function, include_extras=True)
    promised = hints.get("return") if output is None else output
    shape = shape_of(promised) if output is not None or is_record(promised) else None
    fields = _input(function, hints)
    if summary is not None:
        # The host takes it out of the schema.
        fields = Shape({**fields.schema, "x-summary": summary}, fields.read)
    return Tool(name, title, description, effect, fields, shape, function)


def _input(function: Callable[..., object], hints: dict[str, object]) -> Shape:
    fields = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise Unsupported(
                f"the parameter `{parameter}` has no name in the input; give each field a parameter of its own"
            )
        if parameter.name not in hints:
            raise Unsupported(
                f"the parameter `{parameter.name}` has no type hint; the model needs one, such as `{parameter.name}: str`"
            )
        try:
            shape = shape_of(hints[parameter.name])
        except Unsupported as problem:
            raise Unsupported(f"the parameter `{parameter.name}`: {problem}") from None
        required = parameter.default is parameter.empty
        fields.append(
            Field(
                parameter.name,
                shape,
                required,
                None if required else shown_default(parameter.default),
            )
        )
    return object_of(fields, dict)


def _where(function: Callable[..., object]) -> str:
    code = function.__code__
    return f"{relative(code.co_filename)}:{code.co_firstlineno}: `{function.__name__}`"
