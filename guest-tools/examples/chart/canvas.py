"""A picture of palette colours, and its form as a PNG."""

import struct
import zlib

import font

# A palette's colours are named by their place in it.
Palette = list[tuple[int, int, int]]


class Canvas:
    """Pixels, a byte for each: the place of its colour in the palette. Pixels outside are not
    drawn.
    """

    def __init__(self, width: int, height: int, palette: Palette) -> None:
        """A picture of the palette's first colour."""
        self.width = width
        self.height = height
        self.palette = palette
        self.pixels = bytearray(width * height)

    def rectangle(self, left: int, top: int, right: int, bottom: int, colour: int) -> None:
        """Fills from `left` and `top` to just before `right` and `bottom`."""
        left, right = max(left, 0), min(right, self.width)
        if left >= right:
            return
        row = bytes([colour]) * (right - left)
        for y in range(max(top, 0), min(bottom, self.height)):
            start = y * self.width
            self.pixels[start + left : start + right] = row

    def line(self, start: tuple[int, int], end: tuple[int, int], colour: int) -> None:
        """A line of two pixels' width. Both ends must lie inside, and not in the last row or
        column.
        """
        (x, y), (to_x, to_y) = start, end
        right, down = to_x - x, to_y - y
        steps = max(abs(right), abs(down), 1)
        beside = 1 if abs(down) >= abs(right) else self.width
        for step in range(steps + 1):
            at = (y + round(down * step / steps)) * self.width + x + round(right * step / steps)
            self.pixels[at] = colour
            self.pixels[at + beside] = colour

    def disc(self, x: int, y: int, radius: int, colour: int) -> None:
        """A filled circle."""
        for down in range(-radius, radius + 1):
            half = round((radius * radius - down * down) ** 0.5)
            self.rectangle(x - half, y + down, x + half + 1, y + down + 1, colour)

    def text(self, x: int, y: int, text: str, colour: int, scale: int = 1) -> None:
        """A text whose first letter's upper left corner is at `x` and `y`."""
        for place, letter in enumerate(font.plain(text)):
            left = x + place * font.ADVANCE * scale
            for down, row in enumerate(font.rows(letter)):
                top = y + down * scale
                for right, ink in enumerate(row):
                    if ink == "#":
                        at = left + right * scale
                        self.rectangle(at, top, at + scale, top + scale, colour)

    def text_upwards(self, x: int, y: int, text: str, colour: int) -> None:
        """Draws a text upwards; the upper left corner of its first letter is at `x` and `y`."""
        for place, letter in enumerate(font.plain(text)):
            bottom = y - place * font.ADVANCE
            for down, row in enumerate(font.rows(letter)):
                for right, ink in enumerate(row):
                    if ink == "#":
                        at = bottom - right
                        self.rectangle(x + down, at, x + down + 1, at + 1, colour)

    def png(self) -> bytes:
        """The picture as a PNG."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 3, 0, 0, 0)
        # Each row begins with its filter: none.
        rows = b"".join(
            b"\0" + self.pixels[start : start + self.width]
            for start in range(0, len(self.pixels), self.width)
        )
        palette = b"".join(bytes(colour) for colour in self.palette)
        parts = [
            (b"IHDR", header),
            (b"PLTE", palette),
            (b"IDAT", zlib.compress(rows)),
            (b"IEND", b""),
        ]
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
