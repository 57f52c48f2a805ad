"""Makes the component of a Python project: componentize-py over the project's `tool.py` and this
SDK.

`agent-host build` runs it with the Python that has componentize-py. Errors in the author's code are
reported on stderr in Python's format; stacks of componentize-py itself are left out.
"""

import argparse
import os
import site
import sys
from pathlib import Path

import componentize_py


def main() -> int:
    """Builds, and returns the exit code."""
    arguments = _arguments()
    # Read by componentize-py when an error is made: without it, errors come with a stack of its own
    # functions.
    os.environ["RUST_BACKTRACE"] = "0"
    # The packages are those of the Python that runs this.
    paths = [arguments.project, str(Path(__file__).parent), *site.getsitepackages()]
    sys.argv = [
        *("componentize-py", "--quiet", "--wit-path", arguments.wit, "--world", arguments.world),
        # With `http` there are two interfaces `types`; this name is theirs in every world.
        *("--import-interface-name", "agent:tool/types@0.1.0=types"),
        *("componentize", "agent_tool.component", "--output", arguments.out),
        *(word for path in paths for word in ("--python-path", path)),
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
    parser = argparse.ArgumentParser(description="Builds the component of a Python project.")
    parser.add_argument("--project", required=True, help="the directory with tool.py")
    parser.add_argument("--wit", required=True, help="the directory with the contract's WIT")
    parser.add_argument(
        "--world", default="declared", help="the world to build for [default: declared]"
    )
    parser.add_argument("--out", required=True, help="the component to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
