"""Statistics over numbers, and charts of them. All of it is plain Python, down to the letters and
the PNG.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from agent_tool import Output, Schema, ToolError, content, image, tool
from chart import MAX_SERIES, Labels, Points, draw

# The most numbers that are described: one for each minute of a week.
MAX_VALUES = 10_080

# The most numbers of a series that are drawn: about as many as a picture has columns.
MAX_DRAWN = 1_000

Values = Annotated[list[float], Schema(minItems=1, maxItems=MAX_VALUES)]


@dataclass
class Summary:
    count: Annotated[int, "The number of numbers."]
    sum: float
    mean: float
    median: float
    minimum: float
    maximum: float
    quantiles: Annotated[
        list[float], "The cuts between groups of equal size, as many as requested."
    ]
    stdev: Annotated[float | None, "The sample standard deviation; null for one number."]


@tool(effect="read-only")
def describe(
    values: Annotated[Values, "The numbers."],
    parts: Annotated[
        int,
        "Into how many parts the quantiles cut: 4 for quartiles.",
        Schema(minimum=2, maximum=100),
    ] = 4,
) -> Summary:
    """Describes numbers: count, sum, mean, median, quantiles, extremes and standard deviation.

    Use it instead of adding up or averaging by yourself. The quantiles include both ends of the
    numbers.
    """
    several = len(values) > 1
    return Summary(
        count=len(values),
        sum=finite(sum(values)),
        mean=statistics.fmean(values),
        median=statistics.median(values),
        minimum=min(values),
        maximum=max(values),
        quantiles=statistics.quantiles(values, n=parts, method="inclusive")
        if several
        else values * (parts - 1),
        stdev=statistics.stdev(values) if several else None,
    )


@dataclass
class Relation:
    count: Annotated[int, "The number of pairs."]
    correlation: Annotated[float, "Pearson's coefficient, from -1 to 1."]
    slope: Annotated[float, "The slope of the best-fitting line."]
    intercept: Annotated[float, "The y of that line where x is 0."]


@tool(effect="read-only")
def correlate(
    x: Annotated[Values, "The first number of each pair."],
    y: Annotated[Values, "The second number of each pair, in the same order."],
) -> Relation:
    """Says how two rows of numbers are related: their correlation, and the straight line that fits
    them best.
    """
    if len(x) != len(y):
        raise ToolError(f"`x` has {len(x)} numbers and `y` has {len(y)}; give as many of both")
    try:
        correlation = statistics.correlation(x, y)
    except statistics.StatisticsError as error:
        raise ToolError(
            f"there is no correlation: {error}; give at least two pairs that differ in both"
        ) from error
    line = statistics.linear_regression(x, y)
    return Relation(len(x), correlation, line.slope, line.intercept)


@dataclass
class Series:
    y: Annotated[list[float], "The numbers that are drawn.", Schema(minItems=1, maxItems=MAX_DRAWN)]
    x: Annotated[
        list[float],
        "Where they stand, as many as in `y`; without it, one after the other from 0.",
        Schema(maxItems=MAX_DRAWN),
    ] = ()
    name: Annotated[str, "The name in the legend.", Schema(maxLength=60)] = ""


@tool(effect="read-only", name="chart")
def draw_chart(
    kind: Annotated[Literal["line", "bar", "scatter"], "How to draw."],
    series: Annotated[list[Series], "The series to draw.", Schema(minItems=1, maxItems=MAX_SERIES)],
    title: Annotated[str, "The words above.", Schema(maxLength=100)] = "",
    x_label: Annotated[str, "The words below the horizontal axis.", Schema(maxLength=100)] = "",
    y_label: Annotated[str, "The words beside the vertical axis.", Schema(maxLength=60)] = "",
    categories: Annotated[
        Sequence[str],
        "Words below the numbers of a series without `x`, one for each.",
        Schema(maxItems=200),
    ] = (),
    width: Annotated[int, "The width in pixels.", Schema(minimum=240, maximum=1600)] = 800,
    height: Annotated[int, "The height in pixels.", Schema(minimum=160, maximum=1600)] = 480,
) -> Output:
    """Draws a chart of lines, bars or points, and gives it as a PNG with a line of text about it.

    Bars stand over categories, so their series have no `x`.
    """
    points = [placed(kind, one, place, categories) for place, one in enumerate(series)]
    picture = draw(kind, points, Labels(title, x_label, y_label, categories), width, height)
    lowest = min(min(one.y) for one in points)
    highest = max(max(one.y) for one in points)
    count = sum(len(one.y) for one in points)
    text = (
        f"A {kind} chart of {count} values in {len(points)} series, from {lowest:g} to {highest:g}."
    )
    return content([text, image(picture, filename="chart.png")])


def placed(kind: str, one: Series, place: int, categories: Sequence[str]) -> Points:
    """A series with a place for each number."""
    if one.x and (kind == "bar" or categories):
        raise ToolError(
            f"series {place} has `x`, and bars and categories have none; leave it out, or draw a line or points"
        )
    if one.x and len(one.x) != len(one.y):
        raise ToolError(
            f"series {place} has {len(one.x)} numbers in `x` and {len(one.y)} in `y`; give as many of both"
        )
    if categories and len(one.y) != len(categories):
        raise ToolError(
            f"series {place} has {len(one.y)} numbers for {len(categories)} categories; give one for each"
        )
    extreme = max(map(abs, [*one.x, *one.y]))
    if extreme > 1e300:
        raise ToolError(
            f"series {place} has a number as large as {extreme:g}; give numbers up to 1e300"
        )
    return Points(one.name, one.x or range(len(one.y)), one.y)


def finite(number: float) -> float:
    """Returns the number if it is finite, and raises otherwise."""
    if number in (float("inf"), float("-inf")):
        raise ToolError("the numbers are too large to add up; give smaller ones")
    return number
