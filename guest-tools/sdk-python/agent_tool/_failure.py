"""Errors of a tool: those for the model, and mistakes in the tool's definition."""


class ToolError(Exception):
    """A failure that the model reads. Say what went wrong, and what it should do next."""


class DefinitionError(Exception):
    """A tool that cannot be offered as it is written. It stops the build."""
