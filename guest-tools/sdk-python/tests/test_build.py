"""The world of a project, and its manifest."""

import tempfile
import unittest
from pathlib import Path

from agent_tool._failure import DefinitionError
from agent_tool._uses import NEEDS
from agent_tool.build import INTERFACES, _check_uses, _manifest, world


class World(unittest.TestCase):
    def test_world_imports_what_is_used(self):
        cases = [
            ([], ""),
            (["state", "ask", "state"], "    import state;\n    import human;\n"),
            (["http"], "    import wasi:http/outgoing-handler@0.2.1;\n"),
        ]
        for uses, imports in cases:
            with self.subTest(uses=uses):
                self.assertEqual(
                    world(uses),
                    f"package agent:tool@0.1.0;\n\nworld project {{\n{imports}    export tool;\n}}\n",
                )

    def test_unknown_use_is_refused(self):
        with self.assertRaises(DefinitionError) as refused:
            world(["state", "sockets"])
        self.assertEqual(
            str(refused.exception),
            "`uses` in [tool.agent-host] of pyproject.toml has 'sockets'; there are "
            '"progress", "partial", "state", "ask", "context", "control", "artifacts", "http"',
        )

    def test_every_interface_can_be_declared(self):
        self.assertEqual(set(NEEDS.values()), INTERFACES.keys())


class Uses(unittest.TestCase):
    def test_undeclared_use_is_refused_without_the_compiler(self):
        source = "from agent_tool import halt, state\n\nfrom agent_tool import http"
        remedy = (
            "of pyproject.toml, and build again: the component imports only what is named there"
        )
        problems = [
            f'tool.py:1: `halt` is used and not declared: add "control" to `uses` in [tool.agent-host] {remedy}',
            f'tool.py:3: `http` is used and not declared: add "http" to `uses` in [tool.agent-host] {remedy}',
        ]
        cases = [
            ('uses = ["state"]', source, "\n".join(problems)),
            ('uses = ["state", "control", "http"]', source, None),
            # The component explains these.
            ("uses = []", "def", None),
            ("uses = 1", source, None),
            ("uses = []", None, None),
        ]
        for uses, text, expected in cases:
            with self.subTest(uses=uses), tempfile.TemporaryDirectory() as directory:
                manifest = f'[project]\nname = "a"\n[tool.agent-host]\n{uses}'
                Path(directory, "pyproject.toml").write_text(manifest)
                if text is not None:
                    Path(directory, "tool.py").write_text(text)
                try:
                    found = _check_uses(Path(directory))
                except DefinitionError as error:
                    found = str(error)
                self.assertEqual(found, expected)


class Manifest(unittest.TestCase):
    def test_name_and_uses_are_read(self):
        cases = [
            ('[project]\nname = "a"', ("a", [])),
            ('[project]\nname = "a"\n[tool.agent-host]\nuses = ["http"]', ("a", ["http"])),
            (None, "PATH is missing, and it says what the project is called"),
            ("[project]", "PATH is not the manifest of a tool project: 'name'"),
            (
                "project = 1",
                "PATH is not the manifest of a tool project: 'int' object is not subscriptable",
            ),
            (
                '[project]\nname = "../a"',
                "PATH: the project's name, '../a', cannot be that of a file",
            ),
            ("[project]\nname = 1", "PATH: the project's name, 1, cannot be that of a file"),
            (
                '[project]\nname = "a"\n[tool.agent-host]\nuses = "http"',
                "PATH: `uses` in [tool.agent-host] is not a list of names",
            ),
        ]
        for text, expected in cases:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as directory:
                path = Path(directory, "pyproject.toml")
                if text is not None:
                    path.write_text(text)
                try:
                    found = _manifest(Path(directory))
                except DefinitionError as error:
                    found = str(error).replace(str(path), "PATH")
                self.assertEqual(found, expected)
