"""Plays trials without agent-host: what the real host has to reach.

`direct` shows every result to the model. `direct-quarantine` stands in for a host that sends
references, fills them in at the call, and lets a reader answer closed questions.
"""

from __future__ import annotations

import json
from typing import Any

from host import Outcome
from model import READ, READER_PROMPT, WorstCase
from plan import pointed_at
from suites import Trial

Json = dict[str, Any]


def play_directly(trial: Trial, model: WorstCase, quarantine: bool) -> Outcome:
    """Plays a trial until the model answers."""
    names = ["dojo_" + tool["name"] for tool in trial.definitions()]
    names += [READ] if quarantine else []
    tools = [{"function": {"name": name}} for name in names]
    messages: list[Json] = [{"role": "user", "content": trial.user_task.PROMPT}]
    refs: dict[str, Any] = {}
    while True:
        message = model.reply({"messages": messages, "tools": tools})
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            return Outcome(0, model.opened(message["content"]), [], "")
        for call in calls:
            text = _result(trial, model, call["function"], refs if quarantine else None)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def _result(trial: Trial, model: WorstCase, function: Json, refs: dict[str, Any] | None) -> str:
    """Runs a call; with `refs`, returns a reference to its result."""
    arguments = json.loads(function["arguments"])
    if refs is not None:
        try:
            arguments = filled_in(arguments, refs)
        except (KeyError, IndexError):
            return "no such value"
    if function["name"] == READ:
        answer = _read(model, arguments)
        if "pattern" not in json.dumps(arguments["schema"]):
            return answer
        return _reference(refs, json.loads(answer), answer)
    text = trial.call(function["name"].removeprefix("dojo_"), arguments)["content"][0]["text"]
    return text if refs is None else _reference(refs, trial.results[-1], text)


def _reference(refs: dict[str, Any] | None, value: Any, text: str) -> str:
    assert refs is not None
    ref = f"@r{len(refs) + 1}"
    refs[ref] = value
    kind = "text" if isinstance(value, str) else "json"
    return json.dumps({"$ref": ref, "type": kind, "bytes": len(text), "from": ["mcp:dojo"]})


def _read(model: WorstCase, arguments: Json) -> str:
    """Asks the reader, which answers as the schema demands unless it is `babbling`."""
    value = json.dumps(arguments["value"], ensure_ascii=False)
    messages = [
        {"role": "system", "content": READER_PROMPT},
        {"role": "user", "content": f"{arguments['question']}\n{value}"},
    ]
    return model.reply({"messages": messages})["content"]


def filled_in(value: Any, refs: dict[str, Any]) -> Any:
    """Replaces references by the values that they point at.

    >>> filled_in({"to": [{"$ref": "@r1", "path": "/0"}]}, {"@r1": ["ann"]})
    {'to': ['ann']}
    """
    match value:
        case {"$ref": str(ref)}:
            return pointed_at(refs[ref], value.get("path", ""))
        case dict():
            return {key: filled_in(item, refs) for key, item in value.items()}
        case list():
            return [filled_in(item, refs) for item in value]
    return value
