"""Every kind of hint: its schema, what it reads, and what it refuses."""

import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

from agent_tool import Schema
from agent_tool._shape import Misfit, Unsupported, shape_of


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    """Where something
    is."""

    x: Annotated[int, "How far to the right."]
    y: int = 0
    tags: list[str] = field(default_factory=list)
    made: int = field(default=7, init=False)


@dataclass
class Bare:
    size: Size = Size.SMALL


class Options(TypedDict):
    deep: bool
    limit: NotRequired[Annotated[int, "The most items."]]


@dataclass
class Tree:
    children: "list[Tree]"


PLACE = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "description": "How far to the right."},
        "y": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    },
    "additionalProperties": False,
    "required": ["x"],
    "description": "Where something is.",
}


class Schemas(unittest.TestCase):
    def test_hint_has_its_schema(self):
        cases = [
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (None, {"type": "null"}),
            (Any, {}),
            (list, {"type": "array", "items": {}}),
            (
                list[list[int]],
                {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            ),
            (Sequence[str], {"type": "array", "items": {"type": "string"}}),
            (dict, {"type": "object", "additionalProperties": True}),
            (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
            (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
            (Optional[str], {"type": ["string", "null"]}),  # noqa: UP045 (the older form works too)
            (Place | None, {**PLACE, "type": ["object", "null"]}),
            (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            (
                Size | None,
                {"anyOf": [{"enum": ["small", "large"], "type": "string"}, {"type": "null"}]},
            ),
            (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Size, {"enum": ["small", "large"], "type": "string"}),
            (Level, {"enum": [1, 2], "type": "integer"}),
            (Place, PLACE),
            (
                Bare,
                {
                    "type": "object",
                    "properties": {
                        "size": {"enum": ["small", "large"], "type": "string", "default": "small"}
                    },
                    "additionalProperties": False,
                },
            ),
            (
                Options,
                {
                    "type": "object",
                    "properties": {
                        "deep": {"type": "boolean"},
                        "limit": {"type": "integer", "description": "The most items."},
                    },
                    "additionalProperties": False,
                    "required": ["deep"],
                },
            ),
            (
                Annotated[int, "How\n    many.", Schema(minimum=0)],
                {"type": "integer", "description": "How many.", "minimum": 0},
            ),
        ]
        for hint, expected in cases:
            with self.subTest(hint=hint):
                self.assertEqual(shape_of(hint).schema, expected)

    def test_hint_without_a_schema_is_refused(self):
        cases = [
            (bytes, "the type `bytes` has no JSON Schema; use str, "),
            (set[int], "the hint `set[int]` has no JSON Schema; use str, "),
            (dict[int, str], "the keys of `dict[int, str]` must be `str`"),
            (Literal[True], "the values of `Literal[True]` must be strings or integers"),
            (Tree, "`Tree` holds itself"),
        ]
        for hint, expected in cases:
            with self.subTest(hint=hint), self.assertRaises(Unsupported) as raised:
                shape_of(hint)
            self.assertIn(expected, str(raised.exception))


class Reading(unittest.TestCase):
    def test_valid_value_becomes_a_python_value(self):
        cases = [
            (str, "a", "a"),
            (int, 2**64, 2**64),
            (int, 5.0, 5),
            (float, 5, 5.0),
            (bool, False, False),
            (None, None, None),
            (Any, {"a": [1]}, {"a": [1]}),
            (list[Size], ["large"], [Size.LARGE]),
            (dict[str, Level], {"a": 2}, {"a": Level.HIGH}),
            (int | None, None, None),
            (int | str, "a", "a"),
            (Literal["a", 1], 1, 1),
            (Place, {"x": 1}, Place(1)),
            (Place, {"x": 1, "tags": ["t"]}, Place(1, 0, ["t"])),
            (Options, {"deep": True}, {"deep": True}),
        ]
        for hint, value, expected in cases:
            with self.subTest(hint=hint, value=value):
                read = shape_of(hint).read(value, "")
                self.assertEqual((type(read), read), (type(expected), expected))

    def test_invalid_value_error_names_its_position(self):
        cases = [
            (str, 1, "the input is not a string"),
            (int, True, "the input is not an integer"),
            (int, 1.5, "the input is not an integer"),
            (float, "1", "the input is not a number"),
            (bool, 1, "the input is not true or false"),
            (None, 0, "the input is not null"),
            (list[int], [1, "a"], "`/1` is not an integer"),
            (dict[str, int], {"a": None}, "`/a` is not an integer"),
            (int | str, [], "the input is not an integer, and the input is not a string"),
            (Literal["a", 1], True, "the input is none of `a`, `1`"),
            (Size, ["small"], "the input is none of `small`, `large`"),
            (Place, [], "the input is not an object"),
            (Place, {}, "the input lacks the field `x`"),
            (
                list[Place],
                [{"x": 1, "z": 2}],
                "`/0` has the unknown field `z`; there are `x`, `y`, `tags`",
            ),
        ]
        for hint, value, expected in cases:
            with self.subTest(hint=hint, value=value), self.assertRaises(Misfit) as raised:
                shape_of(hint).read(value, "")
            self.assertEqual(str(raised.exception), expected)
