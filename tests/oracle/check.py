#!/usr/bin/env python3
"""Would the official SDKs let a request pass? Their own types say so.

Reads one JSON document a line, {"wire": .., "name": .., "request": {..}}, and writes one a line for each, in order:
{"wire": .., "name": .., "problems": ["PLACE: what is wrong", ..]}. Exit code 0: no request has a problem; 1: one has; 2: the
input is not that. `--self-test` reads nothing: it spoils good requests (malformed.py) and writes which of these changes passed.

The SDKs' types are for people who write requests by hand, and are looser than the servers. Three things make them strict:
- sequences are looked at at once. The SDKs declare most as `Iterable`, which pydantic would check lazily, item by item, when
  somebody reads them: unread, everything passes;
- a field that the types do not have is a problem, in every object;
- no value is converted, no name of a field is taken in another spelling, and a warning (google-genai takes any enumeration
  value with one) is a problem.
"""

import argparse
import copy
import json
import sys
import warnings

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaValidator, ValidationError

from anthropic.types.message_create_params import MessageCreateParamsStreaming as AnthropicRequest
from google.genai import types as gemini
from ollama import Image
from ollama._types import ChatRequest, Message, Tool
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as ChatCompletionsRequest
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as ResponsesRequest

from malformed import GOOD, SPOILED

# Problems told of one request. A value that fits no member of a union has one for each member.
MOST_PROBLEMS = 8

# Places for a JSON Schema, in which these types name only some of the keywords; the server takes every one.
OPEN = (Tool.Function.Parameters, Tool.Function.Parameters.Property)


class GeminiRequest(BaseModel):
    """The body of `generateContent`. The SDK has no type for it: it takes all of these in one `config` and spreads them."""

    contents: list[gemini.Content]
    systemInstruction: gemini.Content | None = None
    tools: list[gemini.Tool] | None = None
    toolConfig: gemini.ToolConfig | None = None
    generationConfig: gemini.GenerationConfig | None = None
    safetySettings: list[gemini.SafetySetting] | None = None
    cachedContent: str | None = None


class OllamaRequest(ChatRequest):
    """What the SDK makes of its arguments. Its own type takes any object for a message, for the client to convert."""

    messages: list[Message]


TYPES = {
    "anthropic": AnthropicRequest,
    "openai_responses": ResponsesRequest,
    "openai_chat": ChatCompletionsRequest,
    "gemini": GeminiRequest,
    "ollama": OllamaRequest,
}


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
    elif kind == "typed-dict":
        changed["extra_behavior"] = "forbid"
    elif kind == "model" and issubclass(schema["cls"], Image):
        # A path, bytes or text for the client; on the wire it is text in base64.
        changed = {"type": "str", "pattern": "^[A-Za-z0-9+/]+={0,2}$", "ref": schema["ref"]}
    elif kind == "model" and not issubclass(schema["cls"], OPEN):
        changed["config"] = {**schema.get("config", {}), "extra_fields_behavior": "forbid"}
        changed["extra_behavior"] = "forbid"
    return changed


def validator(declared):
    """The strict validator of a declared type. A model's own validator, which is not strict, must not be used for its part."""
    adapter = TypeAdapter(declared)
    adapter.rebuild(force=True)
    return SchemaValidator(strict(adapter.core_schema), _use_prebuilt=False)


def place(location, request):
    """Where in the request a problem is. Of pydantic's location the names of union members are left out."""
    path, here = [], request
    for step in location:
        if isinstance(here, dict) and step in here or isinstance(here, list) and isinstance(step, int):
            here = here[step]
            path.append(str(step))
    # A missing field has no value to step into.
    if isinstance(here, dict) and isinstance(location[-1], str) and location[-1].isidentifier() and location[-1] not in path:
        path.append(location[-1])
    return ".".join(path)


def meant(errors):
    """The errors without those of union members that the value does not claim to be: their `type` or `role` is another."""
    others = {each["loc"][:-1] for each in errors if each["loc"][-1] in ("type", "role") and each["type"] in ("literal_error", "missing")}
    kept = [each for each in errors if not any(each["loc"][:length] in others for length in range(len(each["loc"])))]
    return kept or errors


def problems(validators, wire, request):
    """What the SDK's types say against a request: places with messages, the deepest first."""
    if wire not in validators:
        return [f": no such wire; there are {', '.join(validators)}"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            validators[wire].validate_json(json.dumps(request), strict=True, by_alias=True, by_name=False)
    except Warning as warning:
        return [f": {warning}"]
    except ValidationError as error:
        found = {(place(each["loc"], request), each["msg"]) for each in meant(error.errors(include_url=False, include_input=False))}
        deepest = sorted(found, key=lambda one: (-one[0].count("."), one))
        return [f"{where}: {message}" for where, message in deepest[:MOST_PROBLEMS]]
    return []


def spoiled(good, path, value):
    """A copy of a good request with another value at one place; `None` takes the field away."""
    request = copy.deepcopy(good)
    here, steps = request, [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps[:-1]:
        here = here[step]
    if value is None:
        del here[steps[-1]]
    else:
        here[steps[-1]] = value
    return request


def self_test(validators):
    """Every good request passes, and every spoiled one has a problem at the place of the change. Writes what is otherwise."""
    wrong = [f"{wire}: a good request has problems: {found}" for wire, good in GOOD.items() if (found := problems(validators, wire, good))]
    for wire, path, value in SPOILED:
        found = problems(validators, wire, spoiled(GOOD[wire], path, value))
        if not any(problem.startswith((f"{path}:", f"{path}.")) for problem in found):
            wrong.append(f"{wire}: {path} = {json.dumps(value)} was let pass; problems: {found}")
    wrong.extend(f"{wire}: nothing malformed is tried" for wire in TYPES if all(row[0] != wire for row in SPOILED))
    print("\n".join([*wrong, f"{len(SPOILED)} malformed requests of {len(GOOD)} wires"]))
    return 1 if wrong else 0


def main():
    arguments = argparse.ArgumentParser(description="Check requests to model providers against the official SDKs' types.")
    arguments.add_argument("--self-test", action="store_true", help="show that malformed requests are rejected, and read nothing")
    options = arguments.parse_args()
    validators = {wire: validator(declared) for wire, declared in TYPES.items()}
    if options.self_test:
        return self_test(validators)
    code = 0
    for number, line in enumerate(sys.stdin, 1):
        try:
            document = json.loads(line)
            wire, name, request = document["wire"], document["name"], document["request"]
        except (ValueError, KeyError, TypeError) as error:
            print(f"line {number} is not {{\"wire\", \"name\", \"request\"}}: {error!r}", file=sys.stderr)
            return 2
        found = problems(validators, wire, request)
        code = 1 if found else code
        print(json.dumps({"wire": wire, "name": name, "problems": found}))
    return code


if __name__ == "__main__":
    sys.exit(main())
