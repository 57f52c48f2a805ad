"""The conformance tools in Python. Their behaviour is the same in every language; `../cases.toml`
defines it.
"""

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count as numbers_from
from typing import Annotated, Any, Literal

from agent_tool import (
    ArtifactError,
    Output,
    Part,
    Schema,
    ToolError,
    artifacts,
    ask,
    ask_form,
    content,
    context,
    current_call,
    denied,
    error,
    error_json,
    file,
    file_url,
    halt,
    image,
    json,
    partial,
    progress,
    state,
    tool,
)

import web  # noqa: F401 (its tools)

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

calls = 0


@tool(effect="read-only")
def give_text(text: Annotated[str, "The text to give back."]) -> str:
    """Gives a text back as it is."""
    return text


@tool(effect="read-only")
def give_json(value: Annotated[Any, "The value to give back."]) -> Output:
    """Gives a JSON value back as it is."""
    return json(value)


@tool(effect="read-only")
def give_content() -> Output:
    """Gives five parts: texts, and files by bytes, by text and by URL."""
    return content(
        [
            "before",
            image(DOT, filename="dot.png"),
            "between ☃",
            file("inline", "text/plain"),
            file_url("https://example.com/page", "text/html"),
        ]
    )


@tool(effect="read-only")
def give_image() -> Part:
    """Gives an image of one pixel."""
    return image(DOT)


@tool(effect="read-only")
def give_file(
    size: Annotated[int, "The number of bytes.", Schema(minimum=0, maximum=1048576)],
) -> Part:
    """Gives a file whose bytes count from 0 to 255 and over again."""
    data = bytes(range(256)) * (size // 256 + 1)
    return file(data[:size], "application/octet-stream", "data.bin")


@tool(effect="read-only")
def give_error(message: Annotated[str, "The error message."]) -> str:
    """Fails with a message."""
    raise ToolError(message)


@tool(effect="read-only")
def give_error_json(value: Annotated[Any, "The error message."]) -> Output:
    """Fails with a JSON value."""
    return error_json(value)


@tool(effect="read-only")
def deny(reason: Annotated[str | None, "The reason for the refusal."] = None) -> Output:
    """Refuses to run."""
    return denied(reason)


@tool(effect="read-only")
def repeat(
    text: Annotated[str, "The text to repeat."],
    times: Annotated[int, "The number of repetitions.", Schema(minimum=0, maximum=1000000)],
) -> str:
    """Repeats a text."""
    return text * times


@dataclass
class Total:
    """A sum, and of how many numbers."""

    sum: Annotated[int, "The sum."]
    count: Annotated[int, "The number of numbers."]


@tool(effect="read-only")
def add(numbers: Annotated[list[int], "The numbers to add."]) -> Total:
    """Adds integers of 64 bits."""
    total = sum(numbers)
    if not -(2**63) <= total < 2**63:
        raise ToolError("overflow")
    return Total(total, len(numbers))


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Place:
    x: Annotated[int, "The distance to the right."]
    y: Annotated[int, "The distance down."]


@tool(effect="read-only")
def typed(
    name: Annotated[str, "A name."],
    size: Annotated[Size, "A size."],
    ratio: Annotated[float | None, "A ratio."] = None,
    tags: Annotated[Sequence[str], "Some tags."] = (),
    place: Annotated[Place | None, "A place."] = None,
) -> dict[str, Any]:
    """Gives its typed input back."""
    return {"name": name, "size": size, "ratio": ratio, "tags": tags, "place": place}


@tool(effect="read-only")
def who() -> dict[str, str]:
    """Says which call this is."""
    call = current_call()
    return {"id": call.id, "name": call.name, "idempotency_key": call.idempotency_key}


@tool(effect="read-only")
def report(steps: Annotated[int, "The number of steps.", Schema(minimum=0, maximum=10)]) -> str:
    """Reports each of its steps."""
    for step in range(1, steps + 1):
        progress(f"step {step} of {steps}", step / steps)
    return "done"


@tool(effect="read-only")
def report_unmeasured() -> str:
    """Reports that it is at work, and not how far."""
    progress("working")
    return "done"


@tool(effect="read-only")
def give_pieces(
    end: Annotated[str, "The end: `text`, `parts`, `json` or `error`."],
) -> Output | str:
    """Gives its result piece by piece, with a file unless the end is `text`."""
    partial.text("one ")
    partial.text("two ")
    if end != "text":
        partial.file("text/plain", "abc.txt")
        partial.bytes(b"ab")
        partial.bytes(b"c")
    match end:
        case "json":
            return json({"whole": True})
        case "error":
            return error("whole")
        case _:
            return "☃"


@tool(effect="read-only")
def ask_question(
    prompt: Annotated[str, "The text of the question."],
    choices: Annotated[list[str], "The choices."],
    free_text: Annotated[bool, "True if free text is allowed."],
    multiple: Annotated[bool, "True if several choices are allowed."] = False,
) -> str:
    """Asks the user and returns the answer."""
    answer = ask(prompt, choices, free_text, multiple)
    match answer.kind:
        case "text":
            return f"text: {answer.text}"
        case "choice":
            return f"choice: {answer.index}"
        case "choices":
            return f"choices: {', '.join(map(str, answer.indexes))}"
        case kind:
            return kind


@tool(effect="read-only")
def fill_form(
    prompt: Annotated[str, "The text of the form."],
    schema: Annotated[dict[str, Any], "The schema of its fields."],
) -> Output | str:
    """Asks the user for the fields of a form and returns them."""
    answer = ask_form(prompt, schema)
    return json(answer.fields) if answer.kind == "fields" else answer.kind


@tool(effect="read-only")
def read_context() -> dict[str, Any]:
    """Gives the context of the session."""
    return context.get()


@tool(effect="effectful")
def remember(
    key: Annotated[str, "The name to remember it by."],
    value: Annotated[Any, "The value to remember."],
) -> dict[str, Any]:
    """Puts a value into the shared state, and gives the state as it was before."""
    before = state.get()
    state.merge({key: value})
    return before


@tool
def change_and_end(
    end: Annotated[Literal["success", "error", "error_json", "denied"], "How the call ends."],
) -> Output | str:
    """Changes the session in every way, and ends as it is told."""
    state.merge({"touched": True})
    halt("too early")
    halt("enough")
    try:
        artifacts.put("out.txt", "changed", "text/plain")
    except ArtifactError as failure:
        raise ToolError(failure.code) from None
    match end:
        case "error":
            raise ToolError("failed")
        case "error_json":
            return error_json({"code": "failed"})
        case "denied":
            return denied("refused")
        case _:
            return "changed"


@tool
def artifact(
    action: Annotated[Literal["list", "get", "put", "delete"], "What to do."],
    name: Annotated[str, "The name of the artifact."] = "",
    media_type: Annotated[str, "Its media type."] = "",
    text: Annotated[str, "Its content."] = "",
) -> Output | str:
    """Reads, lists, stores or deletes artifacts."""
    try:
        match action:
            case "get":
                return artifacts.get(name).decode()
            case "put":
                artifacts.put(name, text, media_type)
            case "delete":
                artifacts.delete(name)
        return json([(one.name, one.media_type, one.size) for one in artifacts.list()])
    except ArtifactError as failure:
        raise ToolError(failure.code) from None


@tool(effect="read-only")
def count() -> dict[str, int]:
    """Counts the calls of this instance of the component."""
    global calls
    calls += 1
    return {"count": calls}


@tool(effect="read-only")
def spin() -> str:
    """Never ends."""
    while True:
        pass


@tool(effect="read-only")
def crash(message: Annotated[str, "The message of the exception."]) -> str:
    """Raises an uncaught exception."""
    raise ValueError(message)


@tool(effect="read-only", name="raise")
def raise_exception(name: Annotated[str, "The failure: `lookup`, or another one."]) -> str:
    """Fails as a program with a mistake does."""
    if name == "lookup":
        return {}["wheel"]
    raise ValueError(f"no wheel\nin {__file__}")


@tool(effect="read-only")
def grow() -> str:
    """Takes memory until there is none."""
    return str(sum(len(block) for block in [bytes([n % 256]) * 2**20 for n in numbers_from()]))


@tool(effect="read-only")
def recurse() -> str:
    """Calls itself without an end."""
    return recurse() + "."


@tool(effect="read-only", name="print")
def print_text(text: Annotated[str, "The text to write."]) -> str:
    """Writes a text to stdout and to stderr."""
    print(text)
    print(text, file=sys.stderr)
    return "printed"
