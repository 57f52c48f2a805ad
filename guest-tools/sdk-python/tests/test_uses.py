"""Interfaces that a module needs, and that its project does not declare."""

import unittest

from agent_tool._uses import NEEDS, undeclared


class Uses(unittest.TestCase):
    def test_every_way_to_an_interface_is_found(self):
        cases = [
            ("from agent_tool import tool, text", []),
            ("from agent_tool import (\n    tool,\n    state,\n)", [(1, "state", "state")]),
            ("from agent_tool import progress as told", [(1, "progress", "progress")]),
            ("import agent_tool\n\nagent_tool.halt('no')", [(3, "halt", "control")]),
            ("import agent_tool as at\nat.context.get()", [(2, "context", "context")]),
            (
                "def f():\n    from agent_tool import ask, ask_form, artifacts",
                [(2, "artifacts", "artifacts"), (2, "ask", "ask")],
            ),
            ("import agent_tool\nagent_tool.tool\nother.state", []),
            ("from .agent_tool import state", []),
            ("from agent_tool.testing import state", []),
            ("from agent_tool import http", [(1, "http", "http")]),
            ("\nfrom agent_tool.http import request, HttpError", [(2, "http", "http")]),
            ("import agent_tool.http as web", [(1, "http", "http")]),
            ("import agent_tool\nagent_tool.http.request('GET', u)", [(2, "http", "http")]),
            ("import http.client\nfrom http import HTTPStatus", []),
            ("state = 1\nprint(state)", []),
        ]
        for source, expected in cases:
            with self.subTest(source=source):
                self.assertEqual(list(undeclared(source, ())), expected)

    def test_declared_interfaces_are_no_problem(self):
        source = f"from agent_tool import {', '.join(NEEDS)}"
        self.assertEqual(list(undeclared(source, set(NEEDS.values()))), [])
        self.assertEqual(
            list(undeclared(source, set(NEEDS.values()) - {"control"})), [(1, "halt", "control")]
        )
