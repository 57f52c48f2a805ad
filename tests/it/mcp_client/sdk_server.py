"""A server of the official Python SDK, for the tests of the client: over stdio, or over HTTP on the port that is its argument."""

import sys

from mcp.server.mcpserver import Image, MCPServer

# A picture of one pixel.
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,"

server = MCPServer("sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(structured_output=False)
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}."


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


@server.tool(structured_output=False)
def look() -> Image:
    """Shows a picture."""
    return Image(data=GIF, format="gif")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
