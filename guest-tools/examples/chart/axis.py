"""An axis: its range, the position of a number on it, and its labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

# The approximate distance between two labels, in pixels.
_SPACING = 70

# The smallest spread of values, relative to them, that is not a rounding error.
_LEAST = 1e-9

# Values below it are shown as 0: steps between them would be no numbers any more.
_TINIEST = 1e-290


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high`, in steps, over pixels from `first` to `last`."""

    low: float
    high: float
    step: float
    first: int
    last: int

    @staticmethod
    def over(values: Iterable[float], first: int, last: int, whole: bool = False) -> Axis:
        """The axis that holds all values, and 0 too if it is to be `whole`. Its ends are round
        numbers.
        """
        values = list(values)
        low, high = min(values), max(values)
        if whole:
            low, high = min(low, 0.0), max(high, 0.0)
        size = max(abs(low), abs(high))
        if high - low <= size * _LEAST or size < _TINIEST:
            # Values that are almost equal are shown in the middle.
            room = size / 2 if size >= _TINIEST else 1.0
            low, high = low - room, high + room
        step = _round((high - low) / max(abs(last - first) / _SPACING, 1))
        return Axis(math.floor(low / step) * step, math.ceil(high / step) * step, step, first, last)

    def at(self, value: float) -> int:
        """The pixel of a number."""
        part = (value - self.low) / (self.high - self.low)
        return self.first + round((self.last - self.first) * part)

    def ticks(self) -> list[tuple[float, str]]:
        """The numbers beside the axis, and how they are written."""
        count = round((self.high - self.low) / self.step)
        numbers = [self.low + self.step * place for place in range(count + 1)]
        return [(number, self._written(number)) for number in numbers]

    def _written(self, number: float) -> str:
        size = max(abs(self.low), abs(self.high))
        if size >= 1e7 or size < 1e-4:
            # Sums of steps that ought to be 0 are almost 0.
            return f"{number:.2e}" if abs(number) > self.step / 2 else "0"
        decimals = max(0, -math.floor(math.log10(self.step)))
        return f"{number if abs(number) > self.step / 2 else 0.0:.{decimals}f}"


def _round(step: float) -> float:
    """The next of 1, 2, 5 and 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= step * (1 - 1e-9))
