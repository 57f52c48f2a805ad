"""Runs a session of agent-host: its configuration, its process, and the user who decides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import MODEL_NAME, LocalServer
from suites import read_only_tools

Json = dict[str, Any]

# Decides on a call that waits for approval: whether to approve it.
User = Callable[[Json], bool]

PENDING = 3
MOST_PAUSES = 100

CONFIGURATION = """\
model = "openai-compat:{model}"
system = ""
search-tools-from = 0
max-turns = 200
state-dir = "state"
cache-dir = "../cache"

[openai-compat]
base-url = "{address}/v1"

[[mcp]]
name = "dojo"
url = "{address}/mcp"
read-only = {read_only}
"""

ALLOW_ALL = """
[[rule]]
decision = "allow"
tool = "dojo_*"
"""


@dataclass
class Outcome:
    """The end of a session."""

    code: int
    text: str
    asked: list[str]
    """The tools of the calls that the user was asked about."""
    errors: str
    approved: int = 0
    pauses: int = 0
    """How often the session waited for the user, who decides on all calls of a reply at once."""


class Host:
    """The program with a configuration for one suite and one mode."""

    def __init__(
        self,
        program: Path,
        directory: Path,
        server: LocalServer,
        suite: Any,
        mode: str,
        rules: str = "",
    ):
        self.program = program
        self.directory = directory
        self.address = server.address
        self.suite = suite
        self.rules = rules
        directory.mkdir(parents=True, exist_ok=True)
        (directory.parent / "home").mkdir(exist_ok=True)
        self.configure(mode)

    def configure(self, mode: str) -> None:
        """Sets the mode of the next sessions."""
        text = configuration(self.address, self.suite, mode) + self.rules
        (self.directory / "agent.toml").write_text(text)

    def remembered(self) -> str:
        """Returns the items that the agents of the project remember, as JSON lines."""
        return self._start(["memory", "export"], []).stdout

    def forget(self) -> None:
        """Removes all sessions and what they remembered."""
        shutil.rmtree(self.directory / "state", ignore_errors=True)

    def run(self, prompt: str, user: User) -> Outcome:
        """Sends a prompt, and answers what waits for approval until the run ends."""
        asked, approved, pauses = [], 0, 0
        run = ["run", "--quiet", "--output-format", "json"]
        ended = self._start(run, ["--permission-prompts", "later", prompt])
        for _ in range(MOST_PAUSES):
            if ended.returncode != PENDING:
                break
            document = json.loads(ended.stdout)
            calls = document["outcome"]["continuation"]["awaiting"]["calls"]
            pauses += 1
            asked += [call["tool"] for call in calls]
            options = ["--resume", document["session"]]
            for call in calls:
                is_approved = user(call)
                approved += is_approved
                verdict = "approve" if is_approved else "reject:I did not ask for this."
                options += ["--decide", f"{call['call_id']}={verdict}"]
            ended = self._start(run, options)
        text = _text(ended.stdout)
        return Outcome(ended.returncode, text, asked, ended.stderr, approved, pauses)

    def _start(self, command: list[str], options: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.program), *command, "--config", "agent.toml", *options],
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "HOME": str(self.directory.parent / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def configuration(address: str, suite: Any, mode: str) -> str:
    """Returns the `agent.toml` of a mode.

    In all modes but `approvals` a rule allows every call, so that each question comes from the
    rules over flows.
    """
    names = json.dumps(read_only_tools(suite))
    text = CONFIGURATION.format(model=MODEL_NAME, address=address, read_only=names)
    if mode != "approvals":
        text += ALLOW_ALL
    if mode in ("observe", "ask", "quarantine"):
        text += f'\n[flow]\nmode = "{mode}"\n'
    return text


def _text(stdout: str) -> str:
    try:
        return json.loads(stdout)["outcome"].get("text") or ""
    except (ValueError, KeyError):
        return ""
