"""Makes the component of a Python project: componentize-py over the project's `tool.py` and this
package.

    agent-tool-build

It runs in a Python that has componentize-py. Errors in the author's code are reported on stderr in
Python's format; stacks of componentize-py itself are left out.
"""

import argparse
import os
import shutil
import site
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from agent_tool._failure import DefinitionError
from agent_tool._uses import problems_of

# The interfaces of the contract and of WASI, by their names in `uses`.
INTERFACES = {
    "progress": "progress",
    "partial": "partial",
    "state": "state",
    "ask": "human",
    "context": "context",
    "control": "control",
    "artifacts": "artifacts",
    "http": "wasi:http/outgoing-handler@0.2.1",
}

# The contract in an installed package. `agent-host build` passes its own.
CONTRACT = Path(__file__).parent / "wit"

WORLD = "project"


def main() -> int:
    """Builds, and returns the exit code."""
    arguments = _arguments()
    try:
        if arguments.world == WORLD:
            _check_uses(arguments.project)
        if arguments.wit is not None:
            return _build(arguments.project, arguments.wit, arguments.world, arguments.out)
        name, uses = _manifest(arguments.project)
        out = arguments.out or arguments.project / "dist" / f"{name}.wasm"
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as directory:
            write_contract(Path(directory), uses)
            return _build(arguments.project, directory, WORLD, out)
    except DefinitionError as error:
        print(error, file=sys.stderr)
        return 1


def write_contract(directory: Path, uses: Iterable[str]) -> None:
    """Writes the contract into a directory, with a world that imports what a project uses."""
    if not CONTRACT.is_dir():
        raise DefinitionError(
            "this copy of agent_tool has no contract; name one with --wit, or install the package"
        )
    shutil.copytree(CONTRACT, directory, dirs_exist_ok=True)
    (directory / f"{WORLD}.wit").write_text(world(uses))


def world(uses: Iterable[str]) -> str:
    """The WIT of a world that imports what a project uses, and exports its tools."""
    uses = set(uses)
    if unknown := sorted(uses - INTERFACES.keys()):
        known = ", ".join(f'"{name}"' for name in INTERFACES)
        raise DefinitionError(
            f"`uses` in [tool.agent-host] of pyproject.toml has {unknown[0]!r}; there are {known}"
        )
    imports = "".join(f"    import {INTERFACES[name]};\n" for name in INTERFACES if name in uses)
    return f"package agent:tool@0.1.0;\n\nworld {WORLD} {{\n{imports}    export tool;\n}}\n"


def _manifest(project: Path) -> tuple[str, list[str]]:
    """The name of a project, and what it declares to use."""
    path = project / "pyproject.toml"
    try:
        manifest = tomllib.loads(path.read_text())
        name = manifest["project"]["name"]
        uses = manifest.get("tool", {}).get("agent-host", {}).get("uses", [])
    except FileNotFoundError:
        raise DefinitionError(
            f"{path} is missing, and it says what the project is called"
        ) from None
    except (
        tomllib.TOMLDecodeError,
        UnicodeDecodeError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise DefinitionError(f"{path} is not the manifest of a tool project: {error}") from None
    if not isinstance(name, str) or Path(name).name != name:
        raise DefinitionError(f"{path}: the project's name, {name!r}, cannot be that of a file")
    if not isinstance(uses, list) or not all(isinstance(use, str) for use in uses):
        raise DefinitionError(f"{path}: `uses` in [tool.agent-host] is not a list of names")
    return name, uses


def _check_uses(project: Path) -> None:
    """Refuses a `tool.py` that uses what its project does not declare, without the seconds that
    componentize-py takes. The component checks all modules that it loads.
    """
    try:
        _, uses = _manifest(project)
        problems = problems_of("tool.py", (project / "tool.py").read_text("utf-8"), uses)
    except (DefinitionError, OSError, ValueError, SyntaxError):
        # Told later, with the place.
        return
    if problems:
        raise DefinitionError("\n".join(problems))


def _build(project: Path, wit: str, world: str, out: Path | None) -> int:
    # Imported here, so that the tests of this module need no compiler.
    import componentize_py

    if out is None:
        raise DefinitionError("with --wit, name the component to write with --out")
    # Read by componentize-py when an error is made: without it, errors come with a stack of its own
    # functions.
    os.environ["RUST_BACKTRACE"] = "0"
    # The packages are those of the Python that runs this.
    paths = [project, Path(__file__).parent.parent, *map(Path, site.getsitepackages())]
    sys.argv = [
        *("componentize-py", "--quiet", "--wit-path", str(wit), "--world", world),
        # With `http` there are two interfaces `types`; this name is theirs in every world.
        *("--import-interface-name", "agent:tool/types@0.1.0=types"),
        *("componentize", "agent_tool.component", "--output", str(out)),
        *(word for path in dict.fromkeys(paths) for word in ("--python-path", str(path))),
    ]
    try:
        componentize_py.script()
    except AssertionError as failure:
        # First comes what the guest wrote, then where componentize-py stood.
        told, _, _ = str(failure).partition("\n\nCaused by:")
        print(told.strip("\n"), file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="agent-tool-build", description="Builds the component of a Python project."
    )
    parser.add_argument(
        "--project", type=Path, default=Path(), help="the directory with tool.py [default: .]"
    )
    parser.add_argument(
        "--wit", help="a directory with the contract and a world [default: the package's contract]"
    )
    parser.add_argument(
        "--world", default=WORLD, help=f"the world in --wit to build for [default: {WORLD}]"
    )
    parser.add_argument(
        "--out", type=Path, help="the component to write [default: dist/NAME.wasm in the project]"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
