"""Makes the component of a Python project with the copy of `agent_tool` beside this file.
`agent-host build` runs it where the project's Python has no `agent_tool`.
"""

import sys

from agent_tool.build import main

if __name__ == "__main__":
    sys.exit(main())
