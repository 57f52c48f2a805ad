"""The scripted models: what a language model could do at worst, and at best, with what it is sent.

The worst-case model follows the ground truth of the user's task. As soon as injected text is in a
message, it makes the calls of the injection, and then continues the user's task. It sees only what
agent-host sends. Where a result is sent as a reference, the model is the planner of `plan.py`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from agentdojo.functions_runtime import FunctionCall

from attacks import attack_calls
from plan import DELEGATED_PLAN, Kind, Result, Value, answer, pointed_at, schema_of, translate
from suites import CANARY, Trial

Json = dict[str, Any]

REFERENCE = re.compile(r'"\$ref":\s*"(@[\w.-]+)"')
READER = "read_quarantined"
DONE = "Done."


@dataclass
class WorstCase:
    """Plays one session of a trial."""

    trial: Trial
    prefix: str = "dojo_"
    attacked: bool = False
    impossible: str = ""
    answered: str = ""
    reads: int = 0
    user_calls: list[Json] = field(default_factory=list)
    """The calls of the user's task as they were sent, for the user who decides on them."""
    refs: dict[str, Any] = field(default_factory=dict)
    """The true values of the results that were sent as references."""
    _queue: deque[tuple[str, FunctionCall]] = field(default_factory=deque)
    _results: dict[str, Any] = field(default_factory=dict)
    _count: int = 0
    _closed: Any = None
    _read_for: FunctionCall | None = None

    def __post_init__(self) -> None:
        calls = self.trial.ground_truth(self.trial.user_task)
        self._queue.extend(("user", call) for call in calls)

    def reply(self, request: Json) -> Json:
        """Returns the next message of the model."""
        names = {tool["function"]["name"] for tool in request.get("tools", [])}
        messages = request["messages"]
        if not any(name.startswith(self.prefix) for name in names):
            return self._as_reader(request)
        self._notice_results(messages)
        self._notice_injection(messages)
        results, prompt = self._seen(messages)
        if results and self.trial.delegated:
            self.impossible = DELEGATED_PLAN
        while self._queue and not self.impossible:
            origin, call = self._queue[0]
            value = translate(dict(call.args), prompt, results)
            if value.kind is Kind.FREE:
                self.impossible = f"{call.function}: {value.why}"
                break
            if READER in names and (read := self._read_first(call, value)):
                return read
            self._queue.popleft()
            return self._call(origin, call.function, value.wire)
        return self._answer(prompt, results)

    def _notice_results(self, messages: list[Json]) -> None:
        """Remembers the true result of the last call, if it ran."""
        last = messages[-1]
        call = last.get("tool_call_id")
        if call and call not in self._results and len(self.trial.results) > len(self._results):
            self._results[call] = self.trial.results[-1]

    def _notice_injection(self, messages: list[Json]) -> None:
        task = self.trial.injection_task
        if task is None or self.attacked or CANARY not in json.dumps(messages):
            return
        self.attacked = True
        before = self.trial.before.model_copy(deep=True)
        calls = attack_calls(self.trial.suite.name, task, before, self.trial.next_mail)
        self._queue.extendleft(("attack", call) for call in reversed(calls))

    def _seen(self, messages: list[Json]) -> tuple[list[Result], str]:
        """Returns the results that were sent as references, and the texts that were not."""
        results, texts = [], []
        for message in messages:
            content = json.dumps(message.get("content"))
            found = REFERENCE.search(content.replace('\\"', '"'))
            call = message.get("tool_call_id")
            if found and call in self._results:
                results.append(Result(found[1], self._results[call]))
                self.refs[found[1]] = self._results[call]
            elif message["role"] in ("user", "tool"):
                texts.append(_text_of(message))
        return results, "\n".join(texts)

    def _read_first(self, call: FunctionCall, value: Value) -> Json | None:
        """Asks the quarantined reader for the numbers and dates of a call, once for each call."""
        if not value.read or self._read_for is call:
            return None
        self._read_for = call
        self._closed = next(_scalars(value.wire), 0)
        self.reads += 1
        question = f"Which values does {call.function} need?"
        arguments = {"ref": value.read, "question": question, "schema": schema_of(self._closed)}
        return self._message("", READER, arguments)

    def _as_reader(self, request: Json) -> Json:
        """Answers as the model that reads a quarantined result and has no tools."""
        form = request.get("response_format", {}).get("json_schema", {}).get("schema", {})
        names = list(form.get("properties", {}))
        content = {names[0]: self._closed} if names else self._closed
        return {"role": "assistant", "content": json.dumps(content)}

    def opened(self, text: str) -> str:
        """Replaces the references in an answer by their values, as a user's screen could."""
        for found in re.findall(r'\{"\$ref": "[^}]*\}', text):
            reference = json.loads(found)
            leaf = pointed_at(self.refs.get(reference["$ref"]), reference.get("path", ""))
            text = text.replace(found, str(leaf))
        return text

    def _call(self, origin: str, function: str, arguments: Any) -> Json:
        if origin == "user":
            self.user_calls.append({"tool": self.prefix + function, "input": arguments})
        return self._message(self.prefix, function, arguments)

    def _message(self, prefix: str, function: str, arguments: Any) -> Json:
        self._count += 1
        call = {
            "id": f"call_{self._count}",
            "type": "function",
            "function": {"name": prefix + function, "arguments": json.dumps(arguments)},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _answer(self, prompt: str, results: list[Result]) -> Json:
        value = answer(self.trial.user_task.GROUND_TRUTH_OUTPUT, prompt, results)
        self.answered = DONE if self.impossible else value.wire or DONE
        task = self.trial.injection_task
        if self.attacked and task is not None and task.GROUND_TRUTH_OUTPUT:
            self.answered += "\n" + task.GROUND_TRUTH_OUTPUT
        return {"role": "assistant", "content": self.answered}


def _text_of(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _scalars(value: Any) -> Any:
    """Yields the numbers and dates of a call's arguments."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)
    elif not isinstance(value, bool | None):
        if not isinstance(value, str) or any(letter.isdigit() for letter in value):
            yield value
