"""The parts of a chart as functions, without WebAssembly."""

import string
import unittest

import font
from axis import Axis
from canvas import Canvas
from chart import Labels, Points, draw


class Axes(unittest.TestCase):
    def test_axis_has_round_numbers(self):
        cases = [
            (([0, 9.3], 0, 700), (0, 10), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]),
            (([-1, 1], 400, 0), (-1, 1), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
            (([3, 5], 0, 100, True), (0, 5), ["0", "5"]),
            (([5], 0, 140), (0, 10), ["0", "5", "10"]),
            (([0, 5e-324], 0, 140), (-1, 1), ["-1", "0", "1"]),
            (([0, 2e9], 0, 140), (0, 2e9), ["0", "1.00e+09", "2.00e+09"]),
        ]
        for given, ends, written in cases:
            with self.subTest(given):
                axis = Axis.over(*given)
                self.assertEqual((axis.low, axis.high), ends)
                self.assertEqual([text for _, text in axis.ticks()], written)
                self.assertEqual((axis.at(axis.low), axis.at(axis.high)), given[1:3])


class Pictures(unittest.TestCase):
    def test_every_letter_is_drawn_and_no_two_are_alike(self):
        letters = string.ascii_letters + string.digits + string.punctuation + "°"
        drawn = {"".join(font.rows(letter)) for letter in letters}
        self.assertEqual(len(drawn), len(letters))
        self.assertNotIn("".join(font.rows("☃")), drawn)
        self.assertEqual(font.plain("Öl −5 °C"), "Ol -5 °C")

    def test_pixels_outside_are_not_drawn(self):
        canvas = Canvas(2, 2, [(0, 0, 0), (255, 0, 0)])
        canvas.rectangle(1, -5, 9, 1, 1)
        canvas.rectangle(5, 5, 4, 9, 1)
        canvas.text(-3, 5, "out", 1)
        self.assertEqual(canvas.pixels, b"\0\1\0\0")

    def test_chart_contains_any_values(self):
        labels = Labels("title", "x", "y", ())
        rows = [[0.0], [1e300, -1e300], [1.0, 1.0 + 1e-15], [5e-324, 0.0], [1e15, 1e15 + 1]]
        for kind in ("line", "bar", "scatter"):
            for row in rows:
                with self.subTest(kind=kind, row=row):
                    series = [Points("one", range(len(row)), row)]
                    self.assertEqual(draw(kind, series, labels, 240, 160)[:4], b"\x89PNG")
