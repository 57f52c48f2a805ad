"""Write a tool for agent-host as a plain function.

    from agent_tool import tool

    @tool(effect="read-only")
    def count_words(text: Annotated[str, "The text to count in."]) -> str:
        "Counts the words of a text. Words are separated by white space."
        return f"{len(text.split())} words"

The docstring is what the model reads, and the type hints are the JSON Schema that the host checks
every call against. `agent-host build` makes a component of the project's `tool.py`. The function is
still a function: a test calls it.
"""

from agent_tool._artifacts import Artifact, ArtifactError
from agent_tool._failure import DefinitionError, ToolError
from agent_tool._host import artifacts, ask, ask_form, context, halt, partial, progress, state
from agent_tool._human import Answer, Form, FormAnswer, Question
from agent_tool._output import (
    Output,
    Part,
    content,
    denied,
    error,
    error_json,
    file,
    file_url,
    image,
    json,
    text,
)
from agent_tool._shape import Schema
from agent_tool._tool import Call, current_call, tool

__all__ = [
    "Answer",
    "Artifact",
    "ArtifactError",
    "Call",
    "DefinitionError",
    "Form",
    "FormAnswer",
    "Output",
    "Part",
    "Question",
    "Schema",
    "ToolError",
    "artifacts",
    "ask",
    "ask_form",
    "content",
    "context",
    "current_call",
    "denied",
    "error",
    "error_json",
    "file",
    "file_url",
    "halt",
    "image",
    "json",
    "partial",
    "progress",
    "state",
    "text",
    "tool",
]
