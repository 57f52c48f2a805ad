"""Exceptions for the author of a tool: the author's frames and lines, without frames of this
package.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback

from agent_tool._failure import DefinitionError

_HERE = os.path.dirname(__file__) + os.sep


def explain(exception: BaseException) -> str:
    """An exception with its traceback, or the text alone of one that names its place itself."""
    if isinstance(exception, DefinitionError):
        return f"{exception}\n"
    told = traceback.TracebackException.from_exception(exception)
    _shorten(told)
    text = "".join(told.format())
    if isinstance(exception, ModuleNotFoundError):
        text += (
            "A component has no files to import from while it runs: import at the top of a module, and install what "
            "is missing where `agent-host build` runs.\n"
        )
    return text


def summary(exception: BaseException) -> str:
    """An exception in one line, for the model: its type and its text, without directories of the
    machine that built the component.
    """
    name = type(exception).__name__
    text = " ".join(str(exception).split())
    for root in sorted((root for root in sys.path if root), key=len, reverse=True):
        text = text.replace(root + os.sep, "")
    return f"{name}: {text}" if text else name


def relative(path: str) -> str:
    """The path of a source file from where Python found its module."""
    roots = [root + os.sep for root in sys.path if root and path.startswith(root + os.sep)]
    return path[len(max(roots, key=len, default="")) :]


def sources() -> dict[str, list[str]]:
    """The lines of all loaded modules but this package's and Python's own, by path."""
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {
        path: linecache.getlines(path)
        for path in paths
        if path
        and path.endswith(".py")
        and path.startswith(_roots())
        and not path.startswith(_HERE)
    }


def keep_sources() -> None:
    """Keeps the lines of the author's modules, for tracebacks when the files are gone."""
    for path, lines in sources().items():
        # An entry without a time is not compared with the file.
        linecache.cache[path] = (sum(map(len, lines)), None, lines, path)


def _roots() -> tuple[str, ...]:
    """The directories of modules that do not belong to Python itself."""
    own = os.path.dirname(os.__file__)
    return tuple(
        root + os.sep
        for root in sys.path
        if root and not own.startswith(root) and not root.startswith(own)
    )


def _shorten(told: traceback.TracebackException) -> None:
    """Leaves out the frames of this package, and says files as the author knows them, in an
    exception and its causes.
    """
    for frame in told.stack:
        # The line is looked up before the name changes.
        _ = frame.line
    frames = [frame for frame in told.stack if not _is_foreign(frame.filename)]
    for frame in frames:
        frame.filename = relative(frame.filename)
    told.stack[:] = frames
    if getattr(told, "filename", None):
        # The position of a syntax error.
        told.filename = relative(told.filename)
    for other in (told.__cause__, told.__context__, *(told.exceptions or ())):
        if other is not None:
            _shorten(other)


def _is_foreign(path: str) -> bool:
    return path.startswith((_HERE, "<frozen importlib"))
