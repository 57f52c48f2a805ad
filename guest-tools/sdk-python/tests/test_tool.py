"""`@tool`: what it makes of a function, which functions it refuses, and a call from JSON to the result."""

import unittest
from dataclasses import dataclass
from typing import Annotated

from agent_tool import DefinitionError, Output, ToolError, current_call, testing, tool
from agent_tool._tool import TOOLS


@dataclass
class Count:
    words: int


class Defining(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()

    def test_function_becomes_a_tool(self):
        @tool(effect="read-only", title="Word count")
        def count_words(text: Annotated[str, "The text."], least: int = 1) -> Count:
            """Counts the words
            of a text.

            - one
            - two
            """
            return Count(len([word for word in text.split() if len(word) >= least]))

        made = TOOLS["count_words"]
        self.assertEqual(
            (made.name, made.title, made.description, made.effect),
            (
                "count_words",
                "Word count",
                "Counts the words of a text.\n\n- one\n- two",
                "read-only",
            ),
        )
        self.assertEqual(
            made.input.schema,
            {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "The text."},
                    "least": {"type": "integer", "default": 1},
                },
                "additionalProperties": False,
                "required": ["text"],
            },
        )
        self.assertEqual(made.output.schema["properties"], {"words": {"type": "integer"}})
        self.assertEqual(count_words("one two"), Count(2))

    def test_summary_is_a_keyword_of_the_input(self):
        @tool(summary="Counted {text|quoted}  {result.words|count:word:words}")
        def count_words(text: str) -> Count:
            """Counts words."""
            return Count(len(text.split()))

        self.assertEqual(
            TOOLS["count_words"].input.schema,
            {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "additionalProperties": False,
                "required": ["text"],
                "x-summary": "Counted {text|quoted}  {result.words|count:word:words}",
            },
        )

    def test_tool_without_arguments_is_effectful(self):
        @tool
        def send(to: str) -> str:
            """Sends something."""
            return f"sent to {to}"

        @tool()
        def drop() -> str:
            """Drops something."""
            return "dropped"

        made = [(one.name, one.effect, one.title) for one in TOOLS.values()]
        self.assertEqual(made, [("send", "effectful", None), ("drop", "effectful", None)])
        self.assertEqual(send("Ann"), "sent to Ann")
        self.assertEqual(testing.call("send", {"to": "Ann"}), Output("text", "sent to Ann"))

    def test_output_schema_needs_a_record_or_an_argument(self):
        @tool(effect="idempotent", name="said", output=list[int])
        def first() -> str:
            """One."""

        @tool(effect="effectful")
        def second() -> dict[str, int]:
            """Two."""

        @tool(effect="effectful")
        def third() -> Output:
            """Three."""

        promised = {name: made.output and made.output.schema for name, made in TOOLS.items()}
        expected = {
            "said": {"type": "array", "items": {"type": "integer"}},
            "second": None,
            "third": None,
        }
        self.assertEqual(promised, expected)

    def test_invalid_function_error_names_place_and_reason(self):
        def bare():
            """Fine."""

        def without_words():
            return ""

        def without_hint(a):
            """Fine."""

        def unknown(a: "Nothing"):  # noqa: F821
            """Fine."""

        def binary(a: bytes):
            """Fine."""

        def many(*a: int):
            """Fine."""

        async def later():
            """Fine."""

        tool(effect="read-only", name="taken")(bare)
        cases = [
            (
                {"effect": "none"},
                bare,
                "the effect is 'none'; write @tool(effect=...) with one of 'read-only', ",
            ),
            ({}, without_words, "the docstring is missing"),
            (
                {"effect": "read-only", "name": "a b"},
                bare,
                "the name `a b` must be 1 to 64 letters",
            ),
            ({"effect": "read-only", "name": "taken"}, bare, "there is a tool `taken` already, "),
            ({"effect": "read-only"}, without_words, "the docstring is missing"),
            ({"effect": "read-only"}, without_hint, "the parameter `a` has no type hint"),
            ({"effect": "read-only"}, unknown, "name 'Nothing' is not defined"),
            (
                {"effect": "read-only"},
                binary,
                "the parameter `a`: the type `bytes` has no JSON Schema",
            ),
            ({"effect": "read-only"}, many, "the parameter `*a: int` has no name in the input"),
            ({"effect": "read-only"}, later, "a tool's function cannot be `async`"),
        ]
        for given, function, expected in cases:
            with self.subTest(function=function.__name__, given=given):
                with self.assertRaises(DefinitionError) as raised:
                    tool(**given)(function)
                line = function.__code__.co_firstlineno
                place = f"test_tool.py:{line}: `{function.__name__}`: {expected}"
                self.assertIn(place, str(raised.exception))
        self.assertEqual(list(TOOLS), ["taken"])


class Calling(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()
        testing.prepare()

    def test_call_converts_json_to_a_result(self):
        @tool(effect="read-only")
        def halve(number: int) -> str:
            """Halves a number."""
            if number % 2:
                raise ToolError(f"{number} is odd; give an even number")
            return str(number // 2)

        cases = [
            ({"number": 4}, Output("text", "2")),
            ({"number": 3}, Output("error-text", "3 is odd; give an even number")),
            (
                {},
                Output(
                    "error-text",
                    "the input of `halve` does not fit: the input lacks the field `number`; "
                    "correct it and call again",
                ),
            ),
        ]
        for given, expected in cases:
            with self.subTest(given=given):
                self.assertEqual(testing.call("halve", given), expected)

    def test_other_exceptions_pass_through(self):
        @tool(effect="read-only")
        def divide(by: int) -> float:
            """Divides."""
            return 1 / by

        with self.assertRaises(ZeroDivisionError):
            testing.call("divide", {"by": 0})
        with self.assertRaises(RuntimeError):
            current_call()
