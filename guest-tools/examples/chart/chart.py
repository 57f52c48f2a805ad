"""The chart: lines, bars or points over two axes, with a title, labels and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import font
from axis import Axis
from canvas import Canvas

# Places in the palette. The colours of series follow; they also differ for colour-blind readers.
_PAPER, _INK, _GRID = 0, 1, 2
_PALETTE = [(255, 255, 255), (40, 40, 40), (225, 225, 225)]
_SERIES = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (120, 94, 240),
    (110, 110, 110),
]

# The number of series that have a colour.
MAX_SERIES = len(_SERIES)

# The margin around the drawing, and the gap between its parts, in pixels.
_GAP = 8
_LINE = font.HEIGHT + 4


@dataclass(frozen=True)
class Points:
    """One series of points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Labels:
    """The words of a chart; each may be empty."""

    title: str
    x: str
    y: str
    categories: Sequence[str]
    """Words below the bars or points, instead of numbers."""


def draw(kind: str, series: Sequence[Points], labels: Labels, width: int, height: int) -> bytes:
    """The chart as a PNG. `kind` is "line", "bar" or "scatter"."""
    canvas = Canvas(width, height, _PALETTE + _SERIES)
    top = _head(canvas, series, labels)
    bottom = height - _GAP - _LINE * (2 if labels.x else 1)
    left = _GAP + (_LINE if labels.y else 0) + font.width("-0.000e+00")
    right = width - 2 * _GAP
    ys = Axis.over((y for one in series for y in one.y), bottom, top, whole=kind == "bar")
    xs = _x_axis(kind, series, left, right)
    _grid(canvas, xs, ys, labels)
    for place, one in enumerate(series):
        colour = len(_PALETTE) + place
        if kind == "bar":
            _bars(canvas, xs, ys, one, colour, (place, len(series)))
        else:
            _points(canvas, xs, ys, one, colour, joined=kind == "line")
    canvas.line((left, ys.first), (right, ys.first), _INK)
    canvas.line((left, ys.first), (left, ys.last), _INK)
    return canvas.png()


def _head(canvas: Canvas, series: Sequence[Points], labels: Labels) -> int:
    """Writes the title and the legend, and returns where they end."""
    y = _GAP
    if labels.title:
        canvas.text(
            (canvas.width - 2 * font.width(labels.title)) // 2, y, labels.title, _INK, scale=2
        )
        y += 2 * _LINE
    x = 2 * _GAP
    for place, one in enumerate(series):
        if one.name:
            needed = 2 * _GAP + font.width(one.name)
            if x + needed > canvas.width - _GAP:
                x, y = 2 * _GAP, y + _LINE
            canvas.rectangle(x, y, x + _GAP, y + _GAP, len(_PALETTE) + place)
            canvas.text(x + _GAP + 4, y, one.name, _INK)
            x += needed + _GAP
    return y + _LINE + _GAP


def _x_axis(kind: str, series: Sequence[Points], left: int, right: int) -> Axis:
    values = [x for one in series for x in one.x]
    if kind != "bar":
        return Axis.over(values, left, right)
    # Half a bar's width on both sides.
    return Axis(min(values) - 0.5, max(values) + 0.5, 1, left, right)


def _grid(canvas: Canvas, xs: Axis, ys: Axis, labels: Labels) -> None:
    for number, written in ys.ticks():
        y = ys.at(number)
        canvas.rectangle(xs.first, y, xs.last, y + 1, _GRID)
        canvas.text(xs.first - 6 - font.width(written), y - font.HEIGHT // 2, written, _INK)
    last = -canvas.width
    for number, written in _below(xs, labels):
        x = xs.at(number)
        begin = x - font.width(written) // 2
        # Labels that would overlap are left out.
        if begin > last + font.ADVANCE:
            canvas.rectangle(x, ys.first, x + 1, ys.first + 5, _INK)
            canvas.text(begin, ys.first + 7, written, _INK)
            last = begin + font.width(written)
    if labels.x:
        x = (xs.first + xs.last - font.width(labels.x)) // 2
        canvas.text(x, canvas.height - _GAP - font.HEIGHT, labels.x, _INK)
    if labels.y:
        y = (ys.first + ys.last + font.width(labels.y)) // 2
        canvas.text_upwards(_GAP, y, labels.y, _INK)


def _below(xs: Axis, labels: Labels) -> list[tuple[float, str]]:
    if labels.categories:
        return list(enumerate(labels.categories))
    return [(number, text) for number, text in xs.ticks() if xs.low <= number <= xs.high]


def _bars(
    canvas: Canvas, xs: Axis, ys: Axis, one: Points, colour: int, place: tuple[int, int]
) -> None:
    """Bars of one series, which is the first number of `place` among as many series as the second
    says.
    """
    index, count = place
    room = (xs.last - xs.first) / (xs.high - xs.low) * 0.8
    for x, y in zip(one.x, one.y, strict=True):
        begin = xs.at(x) - room / 2 + room / count * index
        top, bottom = sorted((ys.at(y), ys.at(0)))
        right = max(round(begin + room / count), round(begin) + 1)
        canvas.rectangle(round(begin), top, right, bottom, colour)


def _points(canvas: Canvas, xs: Axis, ys: Axis, one: Points, colour: int, *, joined: bool) -> None:
    places = [(xs.at(x), ys.at(y)) for x, y in zip(one.x, one.y, strict=True)]
    if joined:
        for start, end in pairwise(places):
            canvas.line(start, end, colour)
    if not joined or len(places) == 1:
        for x, y in places:
            canvas.disc(x, y, 3, colour)
