"""A server of the official Python SDK with resources and a prompt, for the tests of the client."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk")


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "the first note"


@server.resource("note://by/{name}")
def by(name: str) -> str:
    """A note of somebody."""
    return f"a note by {name}"


@server.prompt()
def review(what: str) -> str:
    """Reviews something."""
    return f"Review {what}."


if __name__ == "__main__":
    server.run()
