#!/usr/bin/env python3
"""Would the official SDKs let a request pass? Their own types say so.

Reads one JSON document a line, {"wire": .., "name": .., "request": {..}}, and writes one a line for each, in order:
{"wire": .., "name": .., "problems": ["PLACE: what is wrong", ..]}. Exit code 0: no request has a problem; 1: one has; 2: the
input is not that. `--self-test` reads nothing: it spoils good requests (malformed.py) and writes which of these changes passed.

The SDKs' types are for developers who write requests by hand, and are looser than the servers. Three things make them strict:
- sequences are looked at at once. The SDKs declare most as `Iterable`, which pydantic would check lazily, item by item, when
  somebody reads them: unread, everything passes;
- a field that the types do not have is a problem, in every object;
- no value is converted, and no name of a field or of an enumeration's value is taken in another spelling.
"""

import argparse
import copy
import functools
import json
import sys

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaValidator, ValidationError

# The most problems reported for one request. A value that fits no member of a union has one for each member.
MOST_PROBLEMS = 8

# Fields for a JSON Schema, in which Ollama's types name only some of the keywords; the server takes every one.
OPEN = ("ollama._types.Tool.Function.Parameters", "ollama._types.Tool.Function.Parameters.Property")

# A path, bytes or text for Ollama's client, which makes base64 of it.
IMAGE = "ollama._types.Image"

# The fields that compatible servers add to their replies on Chat Completions and want back: of a message, and of its calls.
EXTENSIONS = {"messages": ("reasoning_content", "reasoning", "reasoning_details", "extra_content"), "tool_calls": ("extra_content",)}


def anthropic():
    """The arguments of `messages.create`, which are the body."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return MessageCreateParamsStreaming


def openai_responses():
    """The arguments of `responses.create`, which are the body."""
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return ResponseCreateParamsStreaming


def openai_chat():
    """The arguments of `chat.completions.create`, which are the body."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return CompletionCreateParamsStreaming


def gemini():
    """The body of `generateContent`. The SDK has no type for it: it takes all fields but `contents` in one `config` and spreads it."""
    from google.genai import types

    class Request(BaseModel):
        contents: list[types.Content]
        systemInstruction: types.Content | None = None
        tools: list[types.Tool] | None = None
        toolConfig: types.ToolConfig | None = None
        generationConfig: types.GenerationConfig | None = None
        safetySettings: list[types.SafetySetting] | None = None
        cachedContent: str | None = None
        serviceTier: types.ServiceTier | None = None

    return Request


def ollama():
    """The client's request. Its own type accepts any object as a message, and converts it later."""
    from ollama._types import ChatRequest, Message

    class Request(ChatRequest):
        messages: list[Message]

    return Request


# Each is imported when a request of its wire comes: that takes longer than all the rest.
WIRES = {wire.__name__: wire for wire in (anthropic, openai_responses, openai_chat, gemini, ollama)}


def strict(schema):
    """A pydantic schema with every lazy sequence as a list, and closed to fields that it does not name."""
    if isinstance(schema, (list, tuple)):
        return type(schema)(strict(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    changed = {key: strict(part) for key, part in schema.items()}
    kind = schema.get("type")
    if kind == "generator":
        changed["type"] = "list"
    elif kind == "enum":
        # google-genai's enums accept any text as a further value.
        return {"type": "literal", "expected": [member.value for member in schema["members"]], "ref": schema["ref"]}
    elif kind == "typed-dict":
        changed["extra_behavior"] = "forbid"
    elif kind == "model":
        name = f"{schema['cls'].__module__}.{schema['cls'].__qualname__}"
        if name == IMAGE:
            return {"type": "str", "pattern": "^[A-Za-z0-9+/]+={0,2}$", "ref": schema["ref"]}
        if name not in OPEN:
            changed["config"] = {**schema.get("config", {}), "extra_fields_behavior": "forbid"}
            changed["extra_behavior"] = "forbid"
    return changed


@functools.cache
def validator(wire):
    """The strict validator of a wire. A model's own validator, which is not strict, must not be used for its part."""
    adapter = TypeAdapter(WIRES[wire]())
    adapter.rebuild(force=True)
    return SchemaValidator(strict(adapter.core_schema), _use_prebuilt=False)


def place(error, request):
    """The path of a problem in the request: pydantic's location without the names of union members."""
    path, here = [], request
    for step in error["loc"]:
        if isinstance(here, dict) and step in here or isinstance(here, list) and isinstance(step, int):
            here = here[step]
            path.append(str(step))
    if error["type"] == "missing":
        path.append(error["loc"][-1])
    return ".".join(path)


def meant(errors):
    """The errors without those of union members that the value does not claim to be: their `type` or `role` is another."""
    others = {each["loc"][:-1] for each in errors if each["loc"][-1] in ("type", "role") and each["type"] in ("literal_error", "missing")}
    kept = [each for each in errors if not any(each["loc"][:length] in others for length in range(len(each["loc"])))]
    return kept or errors


def without_extensions(part, inside=None):
    """A part of a request without the fields that compatible servers add where it is."""
    if isinstance(part, list):
        return [without_extensions(item, inside) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: without_extensions(value, key) for key, value in part.items() if key not in EXTENSIONS.get(inside, ())}


def problems(wire, request):
    """Validates a request against the SDK's types; returns paths with messages, the deepest first."""
    if wire not in WIRES:
        return [f": no such wire; there are {', '.join(WIRES)}"]
    if wire == "openai_chat":
        request = without_extensions(request)
    check = validator(wire)
    try:
        check.validate_json(json.dumps(request), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        found = {(place(each, request), each["msg"]) for each in meant(error.errors(include_url=False, include_input=False))}
        deepest = sorted(found, key=lambda one: (-one[0].count("."), one))
        return [f"{where}: {message}" for where, message in deepest[:MOST_PROBLEMS]]
    return []


def spoiled(good, path, value):
    """A copy of a good request with another value at one path; `None` removes the field."""
    request = copy.deepcopy(good)
    here, steps = request, [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps[:-1]:
        here = here[step]
    if value is None:
        del here[steps[-1]]
    else:
        here[steps[-1]] = value
    return request


def self_test():
    """Checks that every good request passes, and every spoiled one has a problem at the changed path. Prints exceptions."""
    from malformed import GOOD, SPOILED

    wrong = [f"{wire}: a good request has problems: {found}" for wire, good in GOOD.items() if (found := problems(wire, good))]
    for wire, path, value in SPOILED:
        found = problems(wire, spoiled(GOOD[wire], path, value))
        if not any(problem.startswith((f"{path}:", f"{path}.")) for problem in found):
            wrong.append(f"{wire}: {path} = {json.dumps(value)} was let pass; problems: {found}")
    wrong.extend(f"{wire}: nothing malformed is tried" for wire in WIRES if all(row[0] != wire for row in SPOILED))
    print("\n".join([*wrong, f"{len(SPOILED)} malformed requests of {len(GOOD)} wires"]))
    return 1 if wrong else 0


def main():
    arguments = argparse.ArgumentParser(description="Check requests to model providers against the official SDKs' types.")
    arguments.add_argument("--self-test", action="store_true", help="show that malformed requests are rejected, and read nothing")
    options = arguments.parse_args()
    if options.self_test:
        return self_test()
    code = 0
    for number, line in enumerate(sys.stdin, 1):
        try:
            document = json.loads(line)
            wire, name, request = document["wire"], document["name"], document["request"]
        except (ValueError, KeyError, TypeError) as error:
            print(f"line {number} is not {{\"wire\", \"name\", \"request\"}}: {error!r}", file=sys.stderr)
            return 2
        found = problems(wire, request)
        code = 1 if found else code
        print(json.dumps({"wire": wire, "name": name, "problems": found}))
    return code


if __name__ == "__main__":
    sys.exit(main())
