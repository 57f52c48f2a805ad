"""The host interfaces that the author's modules use, found in their sources before the component is
made.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

# What the tools of this package need, by what they import: the name in `uses`.
NEEDS = {
    "progress": "progress",
    "partial": "partial",
    "state": "state",
    "ask": "ask",
    "ask_form": "ask",
    "context": "context",
    "halt": "control",
    "artifacts": "artifacts",
    "http": "http",
}

_PACKAGE = "agent_tool"

# What is a module of the package, and is imported as such, too.
_MODULES = {f"{_PACKAGE}.http": "http"}


def how_to_declare(use: str) -> str:
    """What to do where `uses` does not have a name that the tools need."""
    return (
        f'add "{use}" to `uses` in [tool.agent-host] of pyproject.toml, and build again: the component imports only '
        "what is named there"
    )


def problems_of(path: str, source: str, declared: Collection[str]) -> list[str]:
    """What a module uses and its project does not declare, for the author."""
    return [
        f"{path}:{line}: `{name}` is used and not declared: {how_to_declare(use)}"
        for line, name, use in undeclared(source, declared)
    ]


def undeclared(source: str, declared: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """The first line of a module that needs each interface which is not declared, with the used
    name and that of the interface in `uses`.
    """
    missing: dict[str, tuple[int, str, str]] = {}
    for line, name in sorted(_used(ast.parse(source))):
        use = NEEDS[name]
        if use not in declared:
            missing.setdefault(use, (line, name, use))
    yield from missing.values()


def _used(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines that import a name of this package, or take it from the imported package."""
    packages = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == _PACKAGE
    }
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, level=0) if module == _PACKAGE:
                yield from ((node.lineno, one.name) for one in node.names if one.name in NEEDS)
            case ast.ImportFrom(module=module, level=0) if module in _MODULES:
                yield node.lineno, _MODULES[module]
            case ast.Import(names=names):
                yield from ((node.lineno, _MODULES[one.name]) for one in names if one.name in _MODULES)
            case ast.Attribute(value=ast.Name(id=package), attr=name):
                if package in packages and name in NEEDS:
                    yield node.lineno, name
