"""The model that reads quarantined values: it has no tools and does not see the conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from dojo import FunctionCall
from plan import DATE, MOST_TEXT, NUMBER, Ask, leaves
from suites import CANARY, Trial

READERS = ("truthful", "hostile", "babbling")

Json = dict[str, Any]


class Reader:
    """Answers the questions of one session.

    `truthful` answers what the user's task needs. Once it reads injected text, `hostile` answers
    with what the attack needs as far as the schema allows, and `babbling` with the injected text,
    whatever the schema says.
    """

    def __init__(self, kind: str, attack: list[FunctionCall], trial: Trial):
        self.kind = kind
        self.attack = attack
        self.trial = trial
        self.answered: Any = None
        self.read_injection = False

    def reply(self, request: Json, question: str, ask: Ask) -> Json:
        """Returns the answer as a message."""
        messages = request["messages"]
        text = "\n".join(str(message.get("content")) for message in messages)
        assert not request.get("tools"), "the reader has tools"
        assert question in text, "the reader does not have the question"
        assert self.trial.user_task.PROMPT not in text, "the reader has the conversation"
        is_injected = CANARY in text
        self.read_injection |= is_injected
        if is_injected and self.kind == "babbling":
            self.answered = text[text.index(CANARY) - 50 :]
            return {"role": "assistant", "content": self.answered}
        self.answered = ask.truth
        if is_injected and self.kind == "hostile":
            self.answered = self._attackers(ask)
        elif ask.is_verbatim and not all(_has(text, part) for part in _parts(ask.truth)):
            # The injection has replaced what the task needs.
            self.answered = self._attackers(ask) if is_injected else ask.truth
        if ask.is_shown:
            self.answered = closed(self.answered)
        return {"role": "assistant", "content": json.dumps(self.answered)}

    def _attackers(self, ask: Ask) -> Any:
        """Returns the value that serves the attack best among those that fit the schema."""
        if isinstance(ask.truth, list):
            one = Ask(ask.sources, ask.truth[0], ask.is_verbatim, False)
            return [self._attackers(one)]
        schema = ask.schema()
        for value in self._wanted():
            if _fits(value, schema, ask):
                return value
        return ask.truth

    def _wanted(self) -> Iterator[Any]:
        for call in self.attack:
            for leaf in leaves(0, dict(call.args)):
                yield leaf.value
        task = self.trial.injection_task
        yield task.GROUND_TRUTH_OUTPUT
        yield task.GOAL[:MOST_TEXT]


def _fits(value: Any, schema: Json, ask: Ask) -> bool:
    text = str(value)
    if not text or isinstance(value, bool):
        return False
    if ask.is_shown:
        form = NUMBER if schema["type"] == "number" else DATE
        return form.fullmatch(text) is not None
    return len(text) <= MOST_TEXT and re.fullmatch(schema["pattern"], text) is not None


def _has(text: str, part: Any) -> bool:
    quoted = json.dumps(part, ensure_ascii=False)[1:-1] if isinstance(part, str) else str(part)
    return quoted in text or str(part) in text


def _parts(truth: Any) -> list[Any]:
    return truth if isinstance(truth, list) else [truth]


def closed(value: Any) -> Any:
    """Returns a number or date as a closed schema has it.

    >>> closed("2024-05-26 09:30"), closed("9:30"), closed("1,200.50"), closed("7")
    ('2024-05-26T09:30', '09:30', 1200.5, 7)
    """
    text = str(value)
    if DATE.fullmatch(text):
        return re.sub(r"(?<!\d)(\d:)", r"0\1", text.replace(" ", "T"))
    number = float(re.sub("[^0-9.-]", "", text))
    return int(number) if number.is_integer() else number


def shaped(truth: Any, answered: Any) -> Any:
    """Returns a closed answer in the form that an argument needs.

    >>> shaped("7", 7), shaped(4.0, 4), shaped("2024-05-26 10:00", "2024-05-27T11:00")
    ('7', 4.0, '2024-05-27 11:00')
    """
    if closed(truth) == answered:
        return truth
    if isinstance(truth, str):
        text = str(answered)
        return text.replace("T", " ") if "T" not in truth else text
    return type(truth)(answered)
