"""Exceptions as the author reads them."""

import sys
import unittest

from agent_tool import DefinitionError, testing, tool
from agent_tool._explain import explain, summary
from agent_tool._tool import TOOLS


def caught(action):
    try:
        action()
    except Exception as exception:  # noqa: BLE001 (what it explains is any)
        return explain(exception)
    raise AssertionError("nothing was raised")


class Explaining(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()

    def test_traceback_has_the_authors_frames_only(self):
        @tool(effect="read-only")
        def crash() -> str:
            """Crashes."""
            try:
                raise KeyError("inner")
            except KeyError as error:
                raise ValueError("outer ☃") from error

        told = caught(lambda: testing.call("crash"))
        self.assertIn("KeyError: 'inner'\n", told)
        self.assertTrue(told.endswith("ValueError: outer ☃\n"), told)
        self.assertIn('raise ValueError("outer ☃") from error', told)
        self.assertNotIn("_tool.py", told)

    def test_missing_module_error_suggests_a_remedy(self):
        def load():
            import no_such_module  # noqa: F401

        self.assertIn("import at the top of a module", caught(load))

    def test_definition_error_is_one_line(self):
        def refuse():
            raise DefinitionError("tool.py:1: `a`: no")

        self.assertEqual(caught(refuse), "tool.py:1: `a`: no\n")

    def test_summary_is_one_line_without_directories_of_the_build(self):
        root = next(path for path in sys.path if path)
        cases = [
            (ValueError("the wheel\n  came ☃ off"), "ValueError: the wheel came ☃ off"),
            (KeyError("x"), "KeyError: 'x'"),
            (
                FileNotFoundError(44, "No such file", f"{root}/data/a.csv"),
                "FileNotFoundError: [Errno 44] No such file: 'data/a.csv'",
            ),
            (RuntimeError(), "RuntimeError"),
        ]
        for exception, expected in cases:
            with self.subTest(expected=expected):
                self.assertEqual(summary(exception), expected)
