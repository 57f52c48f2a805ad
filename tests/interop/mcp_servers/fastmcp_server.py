"""A server of FastMCP, at the version of the Python that runs it."""

from fastmcp import FastMCP
from fastmcp.utilities.types import Image

# A picture of one pixel.
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,"

server = FastMCP("fastmcp")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
def look() -> Image:
    """Shows a picture."""
    return Image(data=GIF, format="gif")


@server.tool
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


server.run(show_banner=False)
