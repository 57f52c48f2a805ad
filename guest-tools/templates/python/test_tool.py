"""The tools as functions, without WebAssembly."""

import unittest

import tool
from agent_tool import ToolError, testing, text


class Tools(unittest.TestCase):
    def test_colour_parses_six_digits_only(self):
        self.assertEqual(tool.parse("#1e90ff"), b"\x1e\x90\xff")
        for wrong in ["", "#", "1e90ff", "#1e90f", "#1e90fff", "#+e90ff", "#1e90fg", "#1e90ff\n"]:
            with self.subTest(wrong), self.assertRaises(ToolError):
                tool.parse(wrong)

    def test_note_is_merged_into_the_state(self):
        testing.prepare()
        kept = testing.call("keep_note", {"title": "tea", "text": "no sugar"})
        self.assertEqual(kept, text("Kept the note on tea."))
        self.assertEqual(testing.recorded().deltas, [{"notes": {"tea": "no sugar"}}])
