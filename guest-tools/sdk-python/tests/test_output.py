"""Return values of tools, and the variants that they become."""

import unittest
from dataclasses import dataclass
from enum import Enum

import agent_tool
from agent_tool import Output, content, denied, error, error_json, file, file_url, image, text
from agent_tool._output import Data, Part, to_output


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    colours: tuple[Colour, ...]


class Outputs(unittest.TestCase):
    def test_value_becomes_a_variant(self):
        dot = Part(media_type="image/png", data=Data("bytes", b"dot"))
        cases = [
            ("a ☃", Output("text", "a ☃")),
            ({"a": [1, 2.5, None, True]}, Output("json", {"a": [1, 2.5, None, True]})),
            (2**64, Output("json", 2**64)),
            (Point(1, (Colour.RED,)), Output("json", {"x": 1, "colours": ["red"]})),
            (Colour.RED, Output("json", "red")),
            (image(b"dot"), Output("content", (dot,))),
            (text("a"), Output("text", "a")),
            (agent_tool.json(None), Output("json", None)),
            (content(["a", image(b"dot")]), Output("content", (Part(text="a"), dot))),
            (
                file("a,b", "text/csv", "t.csv"),
                Output("content", (Part(None, "text/csv", Data("text", "a,b"), "t.csv"),)),
            ),
            (
                file_url("https://example.com", "text/html"),
                Output("content", (Part(None, "text/html", Data("url", "https://example.com")),)),
            ),
            (error("no"), Output("error-text", "no")),
            (error_json({"code": 1}), Output("error-json", {"code": 1})),
            (denied(), Output("execution-denied", None)),
            (denied("no"), Output("execution-denied", "no")),
        ]
        for value, expected in cases:
            with self.subTest(value=value):
                self.assertEqual(to_output(value), expected)

    def test_value_without_a_variant_is_refused(self):
        cases = [
            (
                None,
                "the tool returned None; return text or a value, or `json(None)` for a JSON null",
            ),
            (object(), "the result is of type object, which has no JSON form"),
            ({"a": [b""]}, "the result's /a/0 is of type bytes, which has no JSON form"),
            ({1: 2}, "the result has the key 1; the keys of a JSON object are strings"),
            ([float("nan")], "the result's /0 is nan, which JSON has no number for"),
            (
                [image(b"")],
                "the result's /0 is of type Part, which has no JSON form; put parts into `content([...])`",
            ),
        ]
        for value, expected in cases:
            with self.subTest(value=value), self.assertRaises(TypeError) as raised:
                to_output(value)
            self.assertEqual(str(raised.exception), expected)

    def test_half_of_a_surrogate_pair_is_no_text(self):
        for value in ["\ud800", {"a": "\ud800"}, {"\ud800": 1}, content]:
            with self.subTest(value=value), self.assertRaises(UnicodeEncodeError):
                to_output(value(["\ud800"]) if callable(value) else value)
