"""Plans the calls of a task for a model that sees untrusted results only as references.

The planner stands for a competent model. It knows the results of a session without injections, as
an oracle, and uses them only to decide where a value comes from:

- `TRUSTED`: written as it is, because the user's prompt contains it or the model makes it up;
- `CLOSED`: a number or a date that `read_quarantined` answers visibly;
- `REFERENCE`: exactly the value at a JSON pointer of an earlier result, passed as `$ref`;
- `PART`: a part of a text, or a key of an object, that `read_quarantined` returns as a reference;
- `WRITTEN`: a text of at most 200 characters that the reader writes about results, as a reference;
- `FREE`: a longer text about results. Not possible.

>>> mail = {"id_": "7", "sender": "ann@a.example", "body": "Meet at the old mill."}
>>> mails = Result(0, [mail])
>>> translate("ann@a.example", "Reply to the last mail", [mails]).wire
Place(index=0, path='/0/sender')
>>> mill = translate("the old mill", "Where do we meet?", [mails])
>>> mill.kind.name, mill.wire.sources, mill.wire.schema()["maxLength"]
('PART', (0,), 200)
>>> translate("Lunch", "Create an event 'Lunch'", [mails]).kind.name
'TRUSTED'
>>> translate("7", "Delete the last mail", [mails]).wire.schema()
{'type': 'number'}
>>> translate({"to": ["ann@a.example"]}, "Reply", [mails]).wire
{'to': [Place(index=0, path='/0/sender')]}
>>> translate("Re: ann@a.example", "Reply", [mails]).why
"'Re: ann@a.example' contains the value at result 0/0/sender"
>>> translate(["Rome", "Paris"], "Which cities?", [Result(2, {"Paris": 1, "Rome": 2})]).wire.truth
['Rome', 'Paris']
"""

from __future__ import annotations

import enum
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

# Texts that the ground truth of AgentDojo has in place of a text that the model writes about what
# it read.
PLACEHOLDERS = frozenset({"<summary>", "<feedback>", "..."})

DELEGATED_PLAN = "the prompt delegates the plan to an untrusted text"

# The fewest characters of a result's text whose occurrence in a value is not chance.
LEAST_TEXT = 4

# The bounds of `read_quarantined`.
MOST_TEXT = 200
MOST_ITEMS = 100

# What a model asks for, from the narrowest to any text.
EMAIL = r"^[\w.+-]+@[\w.-]+$"
ANY_TEXT = r"^[^\x00]+$"
PATTERNS = (
    r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{6,30}$",  # An IBAN.
    EMAIL,
    r"^(https?://)?[\w-]+(\.[\w-]+)+(/\S*)?$",  # An address of a page.
    r"^[^\n]+$",
)

NUMBER = re.compile(r"[£$€]?-?\d[\d,]*(?:\.\d+)?%?")
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\d\d?:\d\d")
SCALAR = re.compile(rf"(?<!\w)(?:{DATE.pattern}|{NUMBER.pattern})(?!\w)")
# What no common word has inside it: a digit, a capital letter or a sign.
IDENTIFIER = re.compile(r"[\d@./_]|[a-z][A-Z]")
WORD = re.compile(r"[^\W_](?:[\w@./'-]*\w)?")


class Obstacle(enum.StrEnum):
    """Why a value is `FREE`: what a host would have to do for the model."""

    PART = "cut a part out of a text"
    KEY = "name a key of an object"
    JOINED = "join a value with other text"
    ABOUT = "write about what was read"
    PLAN = "plan from what was read"


class Kind(enum.IntEnum):
    """The origin of a value; the greatest of a call is that of the call."""

    TRUSTED = 0
    CLOSED = 1
    REFERENCE = 2
    PART = 3
    WRITTEN = 4
    FREE = 5


@dataclass(frozen=True)
class Result:
    """An earlier result, by the number of its call, and what the model does not see of it."""

    index: int
    value: Any


@dataclass(frozen=True)
class Place:
    """A value inside a result, which is sent as a reference."""

    index: int
    path: str

    @property
    def sources(self) -> tuple[int, ...]:
        """Returns the number of the result, as the sources of a question."""
        return (self.index,)


@dataclass(frozen=True)
class Ask:
    """A value that `read_quarantined` takes out of results."""

    sources: tuple[int, ...]
    """The numbers of the results that it is asked about."""
    truth: Any
    is_verbatim: bool
    """Whether the results contain the value as it is."""
    is_shown: bool
    """Whether the model sees the answer: a number or a date."""

    @property
    def key(self) -> str:
        """Returns one string for equal questions."""
        return json.dumps([self.sources, self.truth])

    def schema(self) -> Json:
        """Returns the schema of the answer."""
        if self.is_shown:
            return schema_of(self.truth)
        if isinstance(self.truth, list):
            items = {"type": "string", "pattern": pattern_of(self.truth), "maxLength": MOST_TEXT}
            return {"type": "array", "items": items, "maxItems": MOST_ITEMS}
        return {"type": "string", "pattern": pattern_of([self.truth]), "maxLength": MOST_TEXT}


@dataclass(frozen=True)
class Value:
    """A translated value, with `Place` and `Ask` in it; and why it is not `TRUSTED`."""

    kind: Kind
    wire: Any
    why: str = ""
    obstacles: frozenset[Obstacle] = frozenset()


@dataclass(frozen=True)
class Step:
    """A call of a plan."""

    function: str
    value: Value


@dataclass(frozen=True)
class Plan:
    """The calls of a task and its answer, whose wire is a list of texts and values."""

    steps: tuple[Step, ...]
    answer: Value


@dataclass(frozen=True)
class Leaf:
    """A string, number or flag inside a result."""

    index: int
    path: str
    value: Any

    def place(self) -> Place:
        """Returns what is passed as an argument."""
        return Place(self.index, self.path)

    def __str__(self) -> str:
        return f"result {self.index}{self.path}"


def make_plan(trial: Any) -> Plan:
    """Plays the ground truth of a trial and translates each call before it runs."""
    prompt, results, steps = trial.user_task.PROMPT, [], []
    for call in trial.ground_truth(trial.user_task):
        value = translate(dict(call.args), prompt, results)
        if results and trial.delegated:
            value = Value(Kind.FREE, None, DELEGATED_PLAN, frozenset({Obstacle.PLAN}))
        steps.append(Step(call.function, value))
        trial.call(call.function, dict(call.args))
        results.append(Result(len(results), trial.results[-1]))
    return Plan(tuple(steps), answer(trial.user_task.GROUND_TRUTH_OUTPUT, prompt, results))


def leaves(index: int, value: Any, path: str = "") -> Iterator[Leaf]:
    """Yields the scalar values below `value` with their JSON pointers (RFC 6901)."""
    match value:
        case dict():
            for key, item in value.items():
                step = str(key).replace("~", "~0").replace("/", "~1")
                yield from leaves(index, item, f"{path}/{step}")
        case list():
            for position, item in enumerate(value):
                yield from leaves(index, item, f"{path}/{position}")
        case _:
            yield Leaf(index, path, value)


def pointed_at(value: Any, path: str) -> Any:
    """Returns the value at a JSON pointer.

    >>> pointed_at({"a/b": ["x", "y"]}, "/a~1b/1")
    'y'
    """
    for step in path.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def keys(value: Any) -> Iterator[str]:
    """Yields the keys of all objects below `value`."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from keys(item)


def translate(value: Any, prompt: str, results: Sequence[Result]) -> Value:
    """Translates an argument, or one of its parts."""
    match value:
        case dict():
            parts = {key: translate(item, prompt, results) for key, item in value.items()}
            return _joined(list(parts.values()), {key: part.wire for key, part in parts.items()})
        case list():
            items = [translate(item, prompt, results) for item in value]
            sources = {item.wire.sources if item.kind is Kind.PART else () for item in items}
            if len(items) > 1 and len(sources) == 1 and () not in sources:
                return _joined(items, Ask(sources.pop(), value, True, False))
            return _joined(items, [item.wire for item in items])
        case str():
            return _text(value, prompt, results)
        case None | bool():
            return Value(Kind.TRUSTED, value)
        case _:
            return _scalar(value, str(value), prompt, results)


def answer(text: str, prompt: str, results: Sequence[Result]) -> Value:
    """Translates the final answer, in which references may stand between words.

    An answer that needs more than whole values and numbers is written by the reader, in pieces.

    >>> mail = Result(0, {"body": "Take the ferry at noon.", "from": "ann@a.example"})
    >>> answer("ann@a.example wrote to you", "Who wrote?", [mail]).wire
    [Place(index=0, path='/from'), ' wrote to you']
    >>> [piece.truth for piece in answer("the ferry", "How do we get there?", [mail]).wire]
    ['the ferry']
    """
    if not results or not text:
        return Value(Kind.TRUSTED, [text])
    found = [
        leaf
        for leaf in _texts(results)
        if leaf.value in text and not SCALAR.fullmatch(leaf.value) and not _in(leaf.value, prompt)
    ]
    named = {leaf.value: leaf for leaf in _long_first(found)}
    exact = re.compile("|".join(map(re.escape, named)) or r"(?!)")
    rest = " ".join(SCALAR.sub(" ", exact.sub(" ", text)).split()).strip(" ,.-")
    other = _text(rest, prompt, results)
    if other.kind > Kind.CLOSED:
        kind = Kind.WRITTEN if other.kind is Kind.FREE else other.kind
        sources = tuple(result.index for result in results)
        pieces = [Ask(sources, piece, False, False) for piece in _pieces(text)]
        return Value(kind, pieces, other.why, other.obstacles)
    values = [
        Value(Kind.REFERENCE, named[piece].place()) if piece in named else value
        for piece in _cut(text, exact)
        for value in ([None] if piece in named else _numbers(piece, prompt, results))
    ]
    return _joined(values, [value.wire for value in values])


def _numbers(text: str, prompt: str, results: Sequence[Result]) -> list[Value]:
    """Translates a text without untrusted words: its numbers and dates are asked for."""
    return [
        _scalar(piece, piece, prompt, results)
        if SCALAR.fullmatch(piece)
        else Value(Kind.TRUSTED, piece)
        for piece in _cut(text, SCALAR)
    ]


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Returns the matches of a pattern and the texts between them.

    >>> _cut("a 12 b", SCALAR)
    ['a ', '12', ' b']
    """
    pieces, end = [], 0
    for found in pattern.finditer(text):
        pieces += [text[end : found.start()], found[0]]
        end = found.end()
    return [piece for piece in [*pieces, text[end:]] if piece]


def _pieces(text: str) -> list[str]:
    """Cuts a text into pieces that an answer can hold, between words."""
    return [
        piece
        for piece in re.split(rf"(.{{1,{MOST_TEXT}}})(?=\s|$)", text, flags=re.DOTALL)
        if piece
    ]


def pattern_of(texts: list[str]) -> str:
    """Returns the first pattern that texts match, as a model would choose it.

    >>> pattern_of(["ann@a.example"]) == EMAIL, pattern_of(["two\\nlines"]) == ANY_TEXT
    (True, True)
    """
    fits = (one for one in PATTERNS if all(re.fullmatch(one, text) for text in texts))
    return next(fits, ANY_TEXT)


def schema_of(value: Any) -> dict[str, Any]:
    """Returns a closed schema that a value of kind `CLOSED` fits.

    >>> schema_of(4.5), schema_of("2024-05-26"), schema_of("10:30")["format"]
    ({'type': 'number'}, {'type': 'string', 'format': 'date'}, 'time')
    """
    if isinstance(value, bool):
        return {"type": "boolean"}
    text = str(value)
    if not DATE.fullmatch(text):
        return {"type": "number"}
    kind = "time" if "-" not in text else "date-time" if ":" in text else "date"
    return {"type": "string", "format": kind}


def _joined(parts: Sequence[Value], wire: Any) -> Value:
    worst = max(parts, key=lambda part: part.kind, default=Value(Kind.TRUSTED, None))
    obstacles = frozenset[Obstacle]().union(*(part.obstacles for part in parts))
    return Value(worst.kind, wire, worst.why, obstacles)


def _text(text: str, prompt: str, results: Sequence[Result]) -> Value:
    if not results or not text.strip():
        return Value(Kind.TRUSTED, text)
    if text in PLACEHOLDERS:
        return _written(text, results, Obstacle.ABOUT, "stands for a text about what was read")
    is_letter = len(text) == 1 and text.isalpha()  # A setting, such as "r" for "read".
    if is_letter or _in(text, prompt):
        return Value(Kind.TRUSTED, text)
    if NUMBER.fullmatch(text) or DATE.fullmatch(text):
        return _scalar(text, text, prompt, results)
    exact = [leaf for leaf in _texts(results) if leaf.value == text]
    if exact:
        return Value(Kind.REFERENCE, exact[-1].place())
    return _taken(text, prompt, results) or Value(Kind.TRUSTED, text)


def _scalar(value: Any, text: str, prompt: str, results: Sequence[Result]) -> Value:
    """A number or date: trusted if it is in the prompt or nothing was read before it."""
    if not results or _in(text.removesuffix(".0"), prompt):
        return Value(Kind.TRUSTED, value)
    sources = [result.index for result in results if text in json.dumps(result.value)]
    if DATE.fullmatch(text) and not sources:
        return Value(Kind.TRUSTED, value)  # Computed from what the user wrote, such as "May 1st".
    asked = (sources or [results[-1].index])[-1]
    return Value(Kind.CLOSED, Ask((asked,), value, bool(sources), True))


def _part(text: str, index: int, obstacle: Obstacle, why: str) -> Value:
    if len(text) > MOST_TEXT:
        return Value(Kind.FREE, text, f"{text!r} {why}", frozenset({obstacle}))
    ask = Ask((index,), text, True, False)
    return Value(Kind.PART, ask, f"{text!r} {why}", frozenset({obstacle}))


def _written(text: str, results: Sequence[Result], obstacle: Obstacle, why: str) -> Value:
    kind = Kind.FREE if len(text) > MOST_TEXT else Kind.WRITTEN
    ask = Ask(tuple(result.index for result in results), text, False, False)
    return Value(kind, ask, f"{text!r} {why}", frozenset({obstacle}))


def _taken(text: str, prompt: str, results: Sequence[Result]) -> Value | None:
    """Returns a value for the reader if a text needs another text that only a result contains."""
    found = _texts(results)
    for result in results:
        if text in keys(result.value):
            why = f"is a key of the object in result {result.index}"
            return _part(text, result.index, Obstacle.KEY, why)
    for leaf in found:
        if text in leaf.value and (len(text) >= LEAST_TEXT or _in(text, leaf.value)):
            why = f"is a part of the text at {leaf}"
            return _part(text, leaf.index, Obstacle.PART, why)
    for leaf in _long_first(found):
        if len(leaf.value) >= LEAST_TEXT and leaf.value in text and not _in(leaf.value, prompt):
            why = f"contains the value at {leaf}"
            return _written(text, results, Obstacle.JOINED, why)
    for leaf in found:
        if piece := _common_piece(text, leaf.value, prompt):
            why = f"contains {piece!r} of the text at {leaf}"
            return _written(text, results, Obstacle.ABOUT, why)
    return None


def _common_piece(text: str, source: str, prompt: str) -> str:
    """Returns words of `text` that `source` has too, unless they are in the prompt.

    A word such as an address or a number of a flight counts alone; others if two of them follow
    each other.

    >>> _common_piece("Lufthansa, LH412", "Take LH412 at noon.", "Which flight?")
    'LH412'
    >>> _common_piece("a walk in the park", "We sat in the park.", "Write a mail about a walk")
    'the park'
    """
    words = WORD.findall(text)
    new = {word for word in words if len(word) >= LEAST_TEXT and not _in(word, prompt)}
    for word in words:
        if word in new and IDENTIFIER.search(word) and word in source:
            return word
    for pair in itertools.pairwise(words):
        name = all(word[0].isupper() for word in pair) and not _in(" ".join(pair), prompt)
        if (name or not new.isdisjoint(pair)) and " ".join(pair) in source:
            return " ".join(pair)
    return ""


def _in(text: str, prompt: str) -> bool:
    """Whether the prompt has a text, as whole words and in any case."""
    pattern = rf"(?<!\w){re.escape(text.strip())}(?!\w)"
    return re.search(pattern, prompt, re.IGNORECASE) is not None


def _texts(results: Sequence[Result]) -> list[Leaf]:
    found = [leaf for result in results for leaf in leaves(result.index, result.value)]
    return [leaf for leaf in found if isinstance(leaf.value, str) and leaf.value]


def _long_first(found: list[Leaf]) -> list[Leaf]:
    return sorted(found, key=lambda leaf: -len(leaf.value))
