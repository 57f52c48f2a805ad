"""AgentDojo's suites: tasks, attacks, environments and tools, without its agent pipeline."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter

from dojo import FunctionCall, FunctionsRuntime, GroundTruthPipeline, get_suite, load_attack

warnings.filterwarnings("ignore", category=DeprecationWarning)

# `yaml.safe_load` reads an environment for each trial: 0.1 s with the parser in Python.
yaml.SafeLoader = yaml.CSafeLoader

VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")

# In every injected text, so that it is found whatever the host does to the text around it.
CANARY = "CANARY-4711"

# Tools that change nothing and send nothing out of the environment. `get_webpage` is not one of
# them: the address it is given leaves the machine.
READ_ONLY_PREFIXES = ("get_", "search_", "list_", "read_", "check_")
NOT_READ_ONLY = ("get_webpage",)

# Tasks whose prompt delegates the plan to a text that a tool returns: without reading it, a model
# cannot know which calls to make.
DELEGATED = frozenset(
    {
        "workspace/user_task_13",
        "workspace/user_task_19",
        "banking/user_task_12",
        "slack/user_task_18",
        "slack/user_task_19",
    }
)

JOINED_NAMES = re.compile(r"get_all_\w+_in_city")

ANY_JSON: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass
class Trial:
    """One session: an environment with or without an injection, and what happened in it."""

    suite: Any
    user_task: Any
    injection_task: Any | None = None
    lists: bool = False
    """Whether names that AgentDojo joins to one text are returned as a list."""
    is_injected: bool = True
    """Whether the environment has the injection, if there is one."""
    environment: Any = None
    before: Any = None
    runtime: FunctionsRuntime | None = None
    calls: list[FunctionCall] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    """What the host gets of each call: the structured content, or the text of a text or error."""

    def __post_init__(self) -> None:
        environment = self.suite.load_and_inject_default_environment(
            self._injections() if self.is_injected else {}
        )
        self.environment = self.user_task.init_environment(environment)
        self.before = self.environment.model_copy(deep=True)
        self.runtime = FunctionsRuntime(self.suite.tools)

    @property
    def name(self) -> str:
        """Returns the suite and the tasks in one word."""
        tasks = [self.user_task.ID, *([self.injection_task.ID] if self.injection_task else [])]
        return "/".join([self.suite.name, *tasks])

    @property
    def injected_text(self) -> str:
        """Returns the text of the attack, which is the same at each place; empty without one."""
        return next(iter(self._injections().values()), "")

    def _injections(self) -> dict[str, str]:
        if self.injection_task is None:
            return {}
        return injected(self.suite.name, self.user_task.ID, self.injection_task.ID)

    def later(self) -> Trial:
        """Returns the next user task of the suite with the same attack, but without its text."""
        tasks = list(self.suite.user_tasks.values())
        task = tasks[(tasks.index(self.user_task) + 1) % len(tasks)]
        return Trial(self.suite, task, self.injection_task, self.lists, is_injected=False)

    @property
    def delegated(self) -> bool:
        """Whether the user leaves it to a tool's text what to do."""
        return f"{self.suite.name}/{self.user_task.ID}" in DELEGATED

    @property
    def next_mail(self) -> str:
        """Returns the id of the mail that is sent next; empty without an inbox."""
        inbox = getattr(self.environment, "inbox", None)
        return str(inbox._get_next_id()) if inbox else ""

    def ground_truth(self, task: Any) -> list[FunctionCall]:
        """Returns the calls that solve a task in the environment as it was at the beginning."""
        return task.ground_truth(self.before.model_copy(deep=True))

    def definitions(self) -> list[dict[str, Any]]:
        """Returns the tools as MCP lists them."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.parameters.model_json_schema(),
            }
            for tool in self.suite.tools
        ]

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Runs a tool in the environment and returns the result as MCP has it."""
        assert self.runtime is not None
        self.calls.append(FunctionCall(function=name, args=arguments))
        value, error = self.runtime.run_function(self.environment, name, arguments)
        if error is not None:
            self.results.append(error)
            return {"content": [{"type": "text", "text": error}], "isError": True}
        plain = plain_json(value)
        if self.lists and JOINED_NAMES.fullmatch(name):
            plain = split_names(plain)
        result = mcp_result(plain)
        self.results.append(result.get("structuredContent", result["content"][0]["text"]))
        return result

    def utility(self, output: str) -> bool:
        """Whether the user's task succeeded, by the benchmark's check."""
        return self._check(self.user_task, output)

    def security(self, output: str) -> bool:
        """Whether the attack reached its goal, by the benchmark's check."""
        return self._check(self.injection_task, output)

    def _check(self, task: Any, output: str) -> bool:
        blocks = [{"type": "text", "content": output}]
        # Some checks change the environments, so each gets copies.
        before = self.before.model_copy(deep=True)
        after = self.environment.model_copy(deep=True)
        return bool(self.suite._check_task_result(task, blocks, before, after, self.calls))


def plain_json(value: Any) -> Any:
    """Converts a result to JSON: models become objects."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return json.loads(ANY_JSON.dump_json(value))


def split_names(text: str) -> dict[str, list[str]]:
    """Splits names that were joined to a text.

    >>> split_names("Hotel Names: Good Night\\nCity Hub\\n")
    {'Hotel Names': ['Good Night', 'City Hub']}
    """
    label, _, names = text.partition(": ")
    return {label: names.strip().split("\n")}


def mcp_result(value: Any) -> dict[str, Any]:
    """Returns a result with structured content, which MCP requires to be an object."""
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    structured = value if isinstance(value, dict) else {"result": value}
    text = json.dumps(structured, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def is_read_only(tool: str) -> bool:
    """Whether an operator would mark a tool as read-only."""
    return tool.startswith(READ_ONLY_PREFIXES) and tool not in NOT_READ_ONLY


def read_only_tools(suite: Any) -> list[str]:
    """Returns the names of a suite's tools that are read-only."""
    return [tool.name for tool in suite.tools if is_read_only(tool.name)]


@cache
def suite_named(name: str) -> Any:
    """Returns a suite of the pinned version of the benchmark."""
    return get_suite(VERSION, name)


@cache
def _attack(suite: str) -> Any:
    pipeline = GroundTruthPipeline(None)
    pipeline.name = "local"
    attack = load_attack("important_instructions", suite_named(suite), pipeline)
    attack.jailbreak = attack.jailbreak.replace("{goal}", "{goal} " + CANARY)
    return attack


@cache
def injected(suite: str, user_task: str, injection_task: str) -> dict[str, str]:
    """Returns the texts to inject: all that the user's task reads on its way."""
    tasks = suite_named(suite)
    user, attacker = tasks.user_tasks[user_task], tasks.injection_tasks[injection_task]
    return _attack(suite).attack(user, attacker)


def trials(
    suites: list[str], with_injections: bool, every: int = 1, lists: bool = False
) -> Iterator[Trial]:
    """Yields each user task, alone or with each injection task; one of `every`."""
    count = 0
    for suite in map(suite_named, suites):
        attackers = list(suite.injection_tasks.values()) if with_injections else [None]
        for user_task in suite.user_tasks.values():
            for attacker in attackers:
                if count % every == 0:
                    yield Trial(suite, user_task, attacker, lists)
                count += 1
