"""Calls to the host, as its stand-in records and answers them."""

import unittest
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, TypedDict

from agent_tool import (
    Answer,
    Artifact,
    ArtifactError,
    Form,
    FormAnswer,
    Output,
    Part,
    Question,
    Schema,
    ToolError,
    artifacts,
    ask,
    ask_form,
    context,
    current_call,
    denied,
    file,
    halt,
    partial,
    progress,
    state,
    testing,
    tool,
)
from agent_tool._tool import TOOLS


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Booking:
    """A trip."""

    city: Annotated[str, "Where to."]
    nights: Annotated[int, "How long.", Schema(minimum=1)]
    room: Size
    way: Literal["train", "bus"] | None = None
    note: Annotated[str | None, "More."] = None
    breakfast: bool = True


BOOKING = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where to."},
        "nights": {"type": "integer", "description": "How long.", "minimum": 1},
        "room": {"type": "string", "enum": ["small", "large"]},
        "way": {"type": "string", "enum": ["train", "bus"]},
        "note": {"type": "string", "description": "More."},
        "breakfast": {"type": "boolean", "default": True},
    },
    "required": ["city", "nights", "room"],
}


class Named(TypedDict):
    name: str


class Host(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()
        testing.prepare()

    def test_host_calls_are_recorded(self):
        @tool(effect="effectful")
        def greet() -> str:
            """Greets."""
            progress("asking")
            name = ask("Who?")
            size = ask("Which?", ["small", "large"])
            several = ask("Which ones?", ["a", "b", "c"], multiple=True)
            last = ask("Sure?", ["yes"], free_text=True)
            progress("done", 1)
            before = state.get()
            state.merge({"greeted": [name.text]})
            halt("first")
            halt("done for today")
            user = context.get()["user"]
            return f"{name.text} {size.index} {several.indexes} {last.kind} {before} {user} {current_call().name}"

        testing.prepare(
            state={"old": 1}, answers=["Ann", 1, [2, 0], Answer("cancelled")], context={"user": 7}
        )
        self.assertEqual(
            testing.call("greet"), Output("text", "Ann 1 (0, 2) cancelled {'old': 1} 7 greet")
        )
        self.assertEqual(
            testing.recorded(),
            testing.Recorded(
                progress=[("asking", None), ("done", 1.0)],
                deltas=[{"greeted": ["Ann"]}],
                questions=[
                    Question("Who?", (), True),
                    Question("Which?", ("small", "large")),
                    Question("Which ones?", ("a", "b", "c"), False, True),
                    Question("Sure?", ("yes",), True),
                ],
                halt="done for today",
            ),
        )
        self.assertEqual(ask("Again?"), Answer("unavailable"))
        with self.assertRaises(TypeError):
            ask("Which?", "small")

    def test_pieces_of_a_result_are_recorded_as_parts(self):
        self.assertTrue(partial.text("one "))
        partial.text("two")
        partial.file("text/plain", "a.txt")
        partial.bytes(b"a")
        partial.bytes(b"b")
        partial.text("three")
        partial.bytes(b"c")
        self.assertEqual(
            testing.recorded().partial,
            [
                Part(text="one two"),
                file(b"ab", "text/plain", "a.txt"),
                Part(text="three"),
                file(b"c", "application/octet-stream"),
            ],
        )

    def test_form_answer_is_an_instance_of_its_class(self):
        filled = {"city": "Graz", "nights": 2, "room": "large"}
        testing.prepare(answers=[filled, {**filled, "way": "bus", "breakfast": False}])
        self.assertEqual(
            [ask_form("Your trip?", Booking), ask_form("Another?", Booking)],
            [
                FormAnswer("fields", Booking("Graz", 2, Size.LARGE)),
                FormAnswer("fields", Booking("Graz", 2, Size.LARGE, "bus", None, False)),
            ],
        )
        self.assertEqual(
            testing.recorded().questions, [Form("Your trip?", BOOKING), Form("Another?", BOOKING)]
        )

    def test_form_of_a_schema_or_typed_dict_is_a_dict(self):
        schema = {"type": "object", "properties": {"n": {"type": "number"}}}
        testing.prepare(answers=[{"n": 1.5}, {"name": "Ann"}, Answer("cancelled")])
        self.assertEqual(ask_form("How much?", schema), FormAnswer("fields", {"n": 1.5}))
        self.assertEqual(ask_form("Who?", Named), FormAnswer("fields", {"name": "Ann"}))
        self.assertEqual(ask_form("Who?", Named), FormAnswer("cancelled"))
        self.assertEqual(ask_form("Who?", Named), FormAnswer("unavailable"))
        named = {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        }
        self.assertEqual(
            testing.recorded().questions,
            [
                Form("How much?", schema),
                Form("Who?", named),
                Form("Who?", named),
                Form("Who?", named),
            ],
        )

    def test_form_that_is_not_flat_is_refused(self):
        @dataclass
        class Nested:
            trip: Booking

        @dataclass
        class Lists:
            names: list[str] | None = None

        @dataclass
        class Mixed:
            which: int | str

        cases = [
            (Nested, "the field `trip` of the form `Nested` is not flat: a field is a str, "),
            (Lists, "the field `names` of the form `Lists` is not flat: "),
            (Mixed, "the field `which` of the form `Mixed` is not flat: "),
            (str, "a form is a dataclass, a TypedDict or a JSON Schema, and not <class 'str'>"),
        ]
        for form, expected in cases:
            with self.subTest(form=form):
                with self.assertRaises(TypeError) as raised:
                    ask_form("What?", form)
                self.assertTrue(str(raised.exception).startswith(expected), raised.exception)
        self.assertEqual(testing.recorded().questions, [])

    def test_prepared_answer_of_another_kind_fails_the_test(self):
        testing.prepare(answers=[{"name": "Ann"}, "Ann"])
        with self.assertRaises(AssertionError):
            ask("Who?")
        with self.assertRaises(AssertionError):
            ask_form("Who?", Named)


class Artifacts(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()

    def test_artifacts_are_stored_listed_and_deleted(self):
        testing.prepare(artifacts={"z.csv": ("text/csv", b"a,b\n")})
        artifacts.put("plots/one.txt", "größer", "text/plain")
        artifacts.put("b.bin", bytearray(b"\x00\xff"), "application/octet-stream")
        self.assertEqual(
            artifacts.list(),
            [
                Artifact("b.bin", "application/octet-stream", 2),
                Artifact("plots/one.txt", "text/plain", 8),
                Artifact("z.csv", "text/csv", 4),
            ],
        )
        self.assertEqual(artifacts.get("plots/one.txt"), "größer".encode())
        artifacts.delete("z.csv")
        artifacts.put("b.bin", b"", "text/plain")
        self.assertEqual(
            testing.recorded().artifacts,
            {"b.bin": ("text/plain", b""), "plots/one.txt": ("text/plain", "größer".encode())},
        )

    def test_failures_have_a_code_and_a_text(self):
        testing.prepare(artifacts={})
        cases = [
            (lambda: artifacts.get("a"), "not-found", "there is no artifact `a`"),
            (lambda: artifacts.delete("a"), "not-found", "there is no artifact `a`"),
        ] + [
            (
                lambda name=name: artifacts.put(name, b"", "text/plain"),
                "invalid-name",
                (
                    f"`{name}` cannot be the name of an artifact: it must be a relative path such as "
                    "`plots/one.png`, and not in `results/`"
                ),
            )
            for name in ["", "/a", "a/../b", "a//b", "results/1"]
        ]
        for action, code, text in cases:
            with self.subTest(text=text):
                with self.assertRaises(ToolError) as raised:
                    action()
                self.assertIsInstance(raised.exception, ArtifactError)
                self.assertEqual((raised.exception.code, str(raised.exception)), (code, text))

    def test_tool_without_a_grant_is_denied(self):
        testing.prepare()
        refused = "is denied: the tool has no grant for artifacts, or only one to read"
        cases = [
            (artifacts.list, f"`artifacts` {refused}"),
            (lambda: artifacts.get("a"), f"`a` {refused}"),
            (lambda: artifacts.put("a", b"", "text/plain"), f"`a` {refused}"),
            (lambda: artifacts.delete("a"), f"`a` {refused}"),
        ]
        for action, text in cases:
            with self.subTest(text=text):
                with self.assertRaises(ArtifactError) as raised:
                    action()
                self.assertEqual((raised.exception.code, str(raised.exception)), ("denied", text))

    def test_uncaught_failure_is_read_by_the_model(self):
        @tool(effect="read-only")
        def read(name: str) -> str:
            """Reads."""
            return artifacts.get(name).decode()

        testing.prepare(artifacts={"a": ("text/plain", b"text")})
        self.assertEqual(testing.call("read", {"name": "a"}), Output("text", "text"))
        self.assertEqual(
            testing.call("read", {"name": "b"}), Output("error-text", "there is no artifact `b`")
        )

    def test_failed_or_denied_call_changes_nothing(self):
        def change():
            state.merge({"n": 1})
            artifacts.put("a", b"new", "text/plain")
            artifacts.delete("b")
            halt("over")

        @tool
        def fail() -> str:
            """Fails."""
            change()
            raise ToolError("no")

        @tool
        def refuse() -> Output:
            """Refuses."""
            change()
            return denied()

        @tool
        def crash() -> str:
            """Crashes."""
            change()
            return str(1 / 0)

        @tool
        def succeed() -> str:
            """Succeeds."""
            change()
            return "done"

        kept = {"b": ("text/plain", b"old")}
        testing.prepare(artifacts=kept)
        for name in ["fail", "refuse"]:
            testing.call(name)
        with self.assertRaises(ZeroDivisionError):
            testing.call("crash")
        self.assertEqual(testing.recorded(), testing.Recorded(artifacts=kept))
        testing.call("succeed")
        self.assertEqual(
            testing.recorded(),
            testing.Recorded(
                deltas=[{"n": 1}], halt="over", artifacts={"a": ("text/plain", b"new")}
            ),
        )
