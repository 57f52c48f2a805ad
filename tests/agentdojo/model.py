"""The scripted models: what a language model could do at worst, and at best, with what it is sent.

The worst-case model follows the ground truth of the user's task. As soon as injected text is in a
message, it makes the calls of the injection, and then continues the user's task. It sees only what
agent-host sends. Where results are sent as references, it follows the plan of `plan.py`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from attacks import attack_calls
from leaks import leak_in
from plan import Ask, Kind, Place, Plan, Step, leaves, make_plan, pointed_at
from reader import Reader, shaped
from suites import CANARY, Trial, is_read_only, suite_named

Json = dict[str, Any]

REFERENCE = re.compile(r'"\$ref":\s*"(@r\d+)"')
WRITTEN_REFERENCE = re.compile(r'\{"\$ref": "@r\d+"(?:, "path": "[^"]*")?\}')
READ = "read_quarantined"
REMEMBER = "remember"
RECALL = "recall"
READER_PROMPT = "Answer the question about the value below"
DONE = "Done."


class NoValue(Exception):
    """A value that the plan needs is missing: its call failed or was denied."""


@dataclass(frozen=True)
class NextCall:
    """A call that the model will make."""

    function: str
    arguments: Any
    """The arguments, or the plan of them."""
    number: int | None = None
    """The number among the calls of the user's task; none for a call of the attack."""


@dataclass
class WorstCase:
    """Plays one session of a trial."""

    trial: Trial
    reader_kind: str = "truthful"
    batch: bool = False
    """Whether independent calls of one tool are made in one reply, if there is a plan."""
    memory: str = ""
    """`remember` if the attack is to store its text for a later session, and `recall` if this is
    the later one, which begins with what is remembered."""
    prefix: str = "dojo_"
    attacked: bool = False
    leak: str = ""
    """Untrusted text that was sent to the model although its results are references."""
    impossible: str = ""
    answered: str = ""
    reads: int = 0
    refs: dict[str, Any] = field(default_factory=dict)
    """The true values of what was sent as references."""
    _queue: deque[list[NextCall]] = field(default_factory=deque)
    """The calls of each of the next replies."""
    _plan: Plan | None = None
    _begun: bool = False
    _ran: int = 0
    _count: int = 0
    _of_user: dict[str, int] = field(default_factory=dict)
    """The numbers of the calls of the user's task, by the id of the call."""
    _places: dict[int, str] = field(default_factory=dict)
    """The references to their results."""
    _answers: dict[str, Any] = field(default_factory=dict)
    """What the reader answered, as it is sent on."""
    _recalled: list[Json] = field(default_factory=list)
    """The references to what was recalled."""
    _asked: tuple[str, Ask] | None = None

    def __post_init__(self) -> None:
        attack = []
        if self.trial.injection_task is not None:
            before = self.trial.before.model_copy(deep=True)
            suite, task = self.trial.suite.name, self.trial.injection_task
            attack = attack_calls(suite, task, before, self.trial.next_mail)
        self._attack = [NextCall(self.prefix + one.function, dict(one.args)) for one in attack]
        if self.memory == REMEMBER:
            self._attack = [NextCall(REMEMBER, {"text": self.trial.injected_text})]
        self.reader = Reader(self.reader_kind, attack, self.trial)

    def reply(self, request: Json) -> Json:
        """Returns the next message of the model."""
        system = _text_of(request["messages"][0])
        if system.startswith(READER_PROMPT):
            assert self._asked is not None, "a reader without a question"
            question, ask = self._asked
            return self.reader.reply(request, question, ask)
        names = {tool["function"]["name"] for tool in request.get("tools", [])}
        self._begin(quarantine=READ in names)
        if self._plan is not None:
            self.leak = self.leak or leak_in(request, self.trial)
        self._notice_injection(request)
        try:
            self._notice_results(request["messages"])
            return self._next() or self._answer()
        except NoValue as missing:
            self._asked = None
            self.impossible = f"no value: {missing}"
            return self._answer()

    def _begin(self, quarantine: bool) -> None:
        if self._begun:
            return
        self._begun = True
        if quarantine:
            task = self.trial.user_task.ID
            self._plan = plan_of(self.trial.suite.name, task, self.trial.lists)
            planned = [(one.function, one.value) for one in self._plan.steps]
        else:
            truth = self.trial.ground_truth(self.trial.user_task)
            planned = [(call.function, dict(call.args)) for call in truth]
        calls: list[tuple[str, Any]] = [(self.prefix + name, one) for name, one in planned]
        replies = [[number] for number in range(len(calls))]
        if self._plan is not None and self.batch:
            replies = batches(self._plan.steps)
        if self.memory == RECALL:
            both = ({}, {"untrusted": True})
            self._queue.append([NextCall(RECALL, arguments) for arguments in both])
        self._queue.extend([NextCall(*calls[one], one) for one in reply] for reply in replies)

    def _notice_results(self, messages: list[Json]) -> None:
        """Remembers what the calls of the last reply returned, and the true values of their
        references.
        """
        last = list(takewhile(lambda one: one["role"] == "tool", reversed(messages)))
        for message in reversed(last):
            call, content = message["tool_call_id"], _text_of(message)
            found = REFERENCE.search(content)
            if self._asked and call == f"call_{self._count}":
                self._notice_answer(content, found[1] if found else "")
            elif found and len(self.trial.results) > self._ran:
                self.refs[found[1]] = self.trial.results[self._ran]
                self._ran += 1
                if call in self._of_user:
                    self._places[self._of_user[call]] = found[1]
                if self.memory == REMEMBER:
                    self._remember(found[1])
            elif found and self.memory == RECALL and not self._of_user:
                self._recalled.append({"$ref": found[1]})
        self._ran = len(self.trial.results)

    def _remember(self, reference: str) -> None:
        """Hands injected text on to the memory, which the model of the conversation never saw."""
        for leaf in leaves(0, self.refs[reference]):
            if CANARY in str(leaf.value):
                text = {"$ref": reference, "path": leaf.path}
                self._queue.appendleft([NextCall(REMEMBER, {"text": text})])

    def _notice_answer(self, content: str, reference: str) -> None:
        assert self._asked is not None
        _, ask = self._asked
        self._asked = None
        if reference and '"error"' not in content:
            self.refs[reference] = self.reader.answered
            self._answers[ask.key] = {"$ref": reference}
        elif ask.is_shown and content == json.dumps(self.reader.answered):
            self._answers[ask.key] = shaped(ask.truth, self.reader.answered)
        else:
            raise NoValue(content)

    def _notice_injection(self, request: Json) -> None:
        if self.attacked or CANARY not in json.dumps(request):
            return
        self.attacked = True
        self._queue.extendleft([call] for call in reversed(self._attack))

    def _next(self) -> Json | None:
        """Returns the next reply with calls; `None` if there are no more."""
        if self.impossible or not self._queue:
            return None
        sent = []
        for call in self._queue[0]:
            wire = call.arguments
            if call.number is not None and self._plan is not None:
                if wire.kind is Kind.FREE:
                    self.impossible = f"{call.function}: {wire.why}"
                    return None
                if ask := self._unanswered(wire.wire):
                    return self._ask(ask)
                wire = self._filled(wire.wire)
            sent.append((call.function, wire))
        for position, call in enumerate(self._queue.popleft(), self._count + 1):
            if call.number is not None:
                self._of_user[f"call_{position}"] = call.number
        return self._reply_with(sent)

    def _unanswered(self, wire: Any) -> Ask | None:
        asks = (one for one in taken(wire) if isinstance(one, Ask))
        return next((ask for ask in asks if ask.key not in self._answers), None)

    def _ask(self, ask: Ask) -> Json:
        """Asks the quarantined reader for a value."""
        self.reads += 1
        kind = "numbers or dates" if ask.is_shown else "text"
        question = f"Question {self.reads}: which {kind} does the task of the user need?"
        self._asked = (question, ask)
        values = [self._reference(Place(index, "")) for index in ask.sources] + self._recalled
        value = values[0] if len(values) == 1 else values
        arguments = {"question": question, "value": value, "schema": ask.schema()}
        return self._reply_with([(READ, arguments)])

    def _reference(self, place: Place) -> Json:
        if place.index not in self._places:
            raise NoValue(f"call {place.index} has no result")
        reference = {"$ref": self._places[place.index]}
        return {**reference, "path": place.path} if place.path else reference

    def _filled(self, wire: Any) -> Any:
        """Replaces places and questions by what is sent."""
        match wire:
            case Place():
                return self._reference(wire)
            case Ask():
                return self._answers[wire.key]
            case dict():
                return {key: self._filled(item) for key, item in wire.items()}
            case list():
                return [self._filled(item) for item in wire]
        return wire

    def _reply_with(self, sent: list[tuple[str, Any]]) -> Json:
        calls = []
        for name, arguments in sent:
            self._count += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": f"call_{self._count}", "type": "function", "function": function})
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def _answer(self) -> Json:
        self.answered = DONE
        if self._plan is None:
            self.answered = self.trial.user_task.GROUND_TRUTH_OUTPUT or DONE
        elif not self.impossible:
            if ask := self._unanswered(self._plan.answer.wire):
                return self._ask(ask)
            pieces = self._filled(self._plan.answer.wire)
            texts = (one if isinstance(one, str) else json.dumps(one) for one in pieces)
            self.answered = "".join(texts) or DONE
        task = self.trial.injection_task
        if self.attacked and task is not None and task.GROUND_TRUTH_OUTPUT:
            self.answered += "\n" + task.GROUND_TRUTH_OUTPUT
        return {"role": "assistant", "content": self.answered}

    def opened(self, text: str) -> str:
        """Replaces the references in an answer by their values, as agent-host does."""

        def value(found: re.Match[str]) -> str:
            reference = json.loads(found[0])
            return str(pointed_at(self.refs.get(reference["$ref"]), reference.get("path", "")))

        return WRITTEN_REFERENCE.sub(value, text)


@cache
def plan_of(suite: str, task: str, lists: bool) -> Plan:
    """Returns the plan of a user task, made without injections."""
    tasks = suite_named(suite)
    return make_plan(Trial(tasks, tasks.user_tasks[task], None, lists))


def taken(wire: Any) -> Iterator[Place | Ask]:
    """Yields the places and questions in a planned value."""
    if isinstance(wire, Place | Ask):
        yield wire
    elif isinstance(wire, dict | list):
        for item in wire.values() if isinstance(wire, dict) else wire:
            yield from taken(item)


def batches(steps: Sequence[Step]) -> list[list[int]]:
    """Returns the numbers of the calls of each reply, with as many calls of one tool in one reply
    as do not need a result of another of them.

    Only calls with an effect share a reply, since the others ask nothing. Calls without an effect
    between them go first.

    >>> from plan import Value
    >>> first, second = Value(Kind.TRUSTED, {}), Value(Kind.REFERENCE, {"to": Place(1, "")})
    >>> pay, read, reply = Step("pay", first), Step("get_mail", first), Step("pay", second)
    >>> batches([pay, read, reply]), batches([read, pay, reply])
    ([[1], [0, 2]], [[0], [1], [2]])
    """
    replies: list[list[int]] = []
    batch: list[int] = []
    between: list[int] = []
    for number, step in enumerate(steps):
        if is_read_only(step.function):
            between.append(number)
            continue
        wires = [steps[one].value.wire for one in [*between, number]]
        sources = {index for place in taken(wires) for index in place.sources}
        is_same = bool(batch) and steps[batch[0]].function == step.function
        if is_same and step.value.kind is not Kind.FREE and sources.isdisjoint(batch):
            replies += [[one] for one in between]
            batch.append(number)
        else:
            replies += [batch, *([one] for one in between)]
            batch = [number]
        between = []
    return [reply for reply in [*replies, batch, *([one] for one in between)] if reply]


def _text_of(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)
