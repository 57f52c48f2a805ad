"""Translates the calls of a task for a model that sees untrusted results only as references.

The planner stands for a competent model. It knows the true results, as an oracle, and uses them
only to decide where a value comes from:

- `TRUSTED`: written as it is, because the user's prompt contains it or the model makes it up;
- `CLOSED`: a number, a date or a flag that `read_quarantined` can answer with a closed schema;
- `REFERENCE`: exactly the value at a JSON pointer of an earlier result, passed as `$ref`;
- `FREE`: text that has to be cut out of an untrusted text or composed with it. Not possible.

>>> mail = {"id_": "7", "sender": "ann@a.example", "body": "Meet at the old mill."}
>>> mails = Result("@r1", [mail])
>>> translate("ann@a.example", "Reply to the last mail", [mails]).wire
{'$ref': '@r1', 'path': '/0/sender'}
>>> translate("the old mill", "Where do we meet?", [mails]).why
"'the old mill' is a part of the text at @r1/0/body"
>>> translate("Lunch", "Create an event 'Lunch'", [mails]).kind.name
'TRUSTED'
>>> translate("7", "Delete the last mail", [mails]).kind.name
'CLOSED'
>>> translate({"to": ["ann@a.example"]}, "Reply", [mails]).wire
{'to': [{'$ref': '@r1', 'path': '/0/sender'}]}
>>> translate("Re: ann@a.example", "Reply", [mails]).why
"'Re: ann@a.example' contains the value at @r1/0/sender"
>>> translate("Paris", "Which city?", [Result("@r2", {"Paris": 1})]).why
"'Paris' is a key of the object at @r2, which no pointer reaches"
"""

from __future__ import annotations

import enum
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# Texts that the ground truth of AgentDojo has in place of a text that the model writes about what
# it read.
PLACEHOLDERS = frozenset({"<summary>", "<feedback>", "..."})

DELEGATED_PLAN = "the prompt delegates the plan to an untrusted text"

# The fewest characters of a result's text whose occurrence in a value is not chance.
LEAST_TEXT = 4

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
    FREE = 3


@dataclass(frozen=True)
class Result:
    """An earlier result: its reference and what the model does not see."""

    ref: str
    value: Any


@dataclass(frozen=True)
class Value:
    """A translated value: what goes on the wire, and for `FREE` the reason why it cannot."""

    kind: Kind
    wire: Any
    why: str = ""
    read: str = ""
    """The reference that a `CLOSED` part has to be read from."""
    obstacles: frozenset[Obstacle] = frozenset()


@dataclass(frozen=True)
class Leaf:
    """A string, number or flag inside a result."""

    ref: str
    path: str
    value: Any

    @property
    def place(self) -> str:
        """Returns the reference and the pointer in one word."""
        return self.ref + self.path

    def reference(self) -> dict[str, str]:
        """Returns what is passed as an argument."""
        return {"$ref": self.ref, "path": self.path} if self.path else {"$ref": self.ref}


def leaves(ref: str, value: Any, path: str = "") -> Iterator[Leaf]:
    """Yields the scalar values below `value` with their JSON pointers (RFC 6901)."""
    match value:
        case dict():
            for key, item in value.items():
                step = str(key).replace("~", "~0").replace("/", "~1")
                yield from leaves(ref, item, f"{path}/{step}")
        case list():
            for index, item in enumerate(value):
                yield from leaves(ref, item, f"{path}/{index}")
        case _:
            yield Leaf(ref, path, value)


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
            return _joined(items, [item.wire for item in items])
        case str():
            return _text(value, prompt, results)
        case None | bool():
            return Value(Kind.TRUSTED, value)
        case _:
            return _scalar(value, str(value), prompt, results)


def answer(text: str, prompt: str, results: Sequence[Result]) -> Value:
    """Translates the final answer, in which references may stand between words.

    An answer that needs a part of a text gets references to the whole texts instead, and numbers.

    >>> mail = Result("@r1", {"body": "Take the ferry at noon.", "from": "ann@a.example"})
    >>> answer("ann@a.example wrote 3 words", "Who wrote?", [mail]).wire
    '{"$ref": "@r1", "path": "/from"} wrote 3 words'
    >>> answer("the ferry", "How do we get there?", [mail]).wire
    'See {"$ref": "@r1", "path": "/body"}'
    """
    exact = [
        leaf
        for leaf in _texts(results)
        if leaf.value in text and not SCALAR.fullmatch(leaf.value) and not _in(leaf.value, prompt)
    ]
    named = {leaf.value: leaf for leaf in _long_first(exact)}
    pattern = re.compile("|".join(map(re.escape, named)) or r"(?!)")
    wire = pattern.sub(lambda found: json.dumps(named[found[0]].reference()), text)
    rest = pattern.sub(" ", text)
    scalars = [part for part in SCALAR.findall(rest) if not _in(part, prompt)]
    read = results[-1].ref if scalars and results else ""
    other = _text(" ".join(SCALAR.sub(" ", rest).split()).strip(" ,.-"), prompt, results)
    if other.kind is Kind.FREE:
        places = [json.dumps(leaf.reference()) for leaf in _cover(text, prompt, results)]
        wire = " ".join(["See", *places, *scalars])
        return Value(Kind.FREE, wire, other.why, read, other.obstacles)
    if named:
        return Value(Kind.REFERENCE, wire, read=read)
    return Value(Kind.CLOSED if read else Kind.TRUSTED, text, read=read)


def _cover(text: str, prompt: str, results: Sequence[Result]) -> list[Leaf]:
    """Returns few texts that together have the words of an answer."""
    missing = {word for word in WORD.findall(text) if not _in(word, prompt)}
    found, chosen = _texts(results), []
    while missing and found:
        best = max(found, key=lambda leaf: sum(word in leaf.value for word in missing))
        covered = {word for word in missing if word in best.value}
        if not covered:
            break
        missing -= covered
        chosen.append(best)
    return chosen


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
    reads = [part.read for part in parts if part.read]
    obstacles = frozenset[Obstacle]().union(*(part.obstacles for part in parts))
    return Value(worst.kind, wire, worst.why, (reads or [""])[0], obstacles)


def _text(text: str, prompt: str, results: Sequence[Result]) -> Value:
    if not results or not text.strip():
        return Value(Kind.TRUSTED, text)
    if text in PLACEHOLDERS:
        return _free(text, Obstacle.ABOUT, "stands for a text about what was read")
    if _in(text, prompt):
        return Value(Kind.TRUSTED, text)
    if NUMBER.fullmatch(text) or DATE.fullmatch(text):
        return _scalar(text, text, prompt, results)
    exact = [leaf for leaf in _texts(results) if leaf.value == text]
    if exact:
        return Value(Kind.REFERENCE, exact[-1].reference())
    return _taken(text, prompt, results) or Value(Kind.TRUSTED, text)


def _scalar(value: Any, text: str, prompt: str, results: Sequence[Result]) -> Value:
    """A number or date: trusted if it is in the prompt or nothing was read before it."""
    if not results or _in(text.removesuffix(".0"), prompt):
        return Value(Kind.TRUSTED, value)
    sources = [result.ref for result in results if text in json.dumps(result.value)]
    if DATE.fullmatch(text) and not sources:
        return Value(Kind.TRUSTED, value)  # Computed from what the user wrote, such as "May 1st".
    return Value(Kind.CLOSED, value, read=(sources or [results[-1].ref])[-1])


def _free(text: str, obstacle: Obstacle, why: str) -> Value:
    return Value(Kind.FREE, text, f"{text!r} {why}", obstacles=frozenset({obstacle}))


def _taken(text: str, prompt: str, results: Sequence[Result]) -> Value | None:
    """Returns a `FREE` value if a text needs another text that only a result contains."""
    found = _texts(results)
    for result in results:
        if text in keys(result.value):
            why = f"is a key of the object at {result.ref}, which no pointer reaches"
            return _free(text, Obstacle.KEY, why)
    for leaf in found:
        if text in leaf.value:
            return _free(text, Obstacle.PART, f"is a part of the text at {leaf.place}")
    for leaf in _long_first(found):
        if len(leaf.value) >= LEAST_TEXT and leaf.value in text and not _in(leaf.value, prompt):
            return _free(text, Obstacle.JOINED, f"contains the value at {leaf.place}")
    for leaf in found:
        if piece := _common_piece(text, leaf.value, prompt):
            return _free(text, Obstacle.ABOUT, f"contains {piece!r} of the text at {leaf.place}")
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
    found = [leaf for result in results for leaf in leaves(result.ref, result.value)]
    return [leaf for leaf in found if isinstance(leaf.value, str) and leaf.value]


def _long_first(found: list[Leaf]) -> list[Leaf]:
    return sorted(found, key=lambda leaf: -len(leaf.value))
