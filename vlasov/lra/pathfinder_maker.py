"""Pathfinder images of our own: dashed contours, two round marks, and one question.

A scene holds two long contours and a few short ones. A contour is a chain of paddles: dashes with
gaps between them, whose direction turns by a small random angle from one to the next, and by a
larger one where the window or another dash is in the way. One end of the first contour is marked.
The other mark is at the other end of the same contour (label 1) or at an end of the second one
(label 0). That one starts where another contour from the first mark, one that is not shown, would
have ended: places and distances of the marks are alike for both labels. The scene is drawn before
the label and without regard to it, so that what is not marked says nothing about it.

Lengths are in pixels, angles in radians. Gap, brightness and the number of short contours are
matched to measurements of images of the public generator.
"""

__all__ = ["Contour", "Drawing", "Paddle", "draw", "parameters"]

import cmath
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

_SIDE = 32
_MARGIN = 2.5  # no paddle ends closer to the border
_HALF, _GAP = 1.0, 1.75  # of a paddle, and between two
_DRAWN, _THICKNESS, _RADIUS = 1.25, 0.75, 1.3  # half a dash with its ends, and a mark
_TURN, _LARGEST_TURN = 0.35, 1.2  # deviation and bound of the angle between two
_CLOSEST, _FARTHEST = 4.0, 20.0  # distances of the marks
_SHORT = 8  # paddles of all short contours together
_TRIES = 200  # places tried for a contour before the scene is drawn anew
_FINE, _INK, _MARK = 8, 250, 255  # cells of the drawing along a pixel, and brightness


class Paddle(NamedTuple):
    """A dash by its centre and its unit direction in the complex plane."""

    centre: complex
    direction: complex


Contour = list[Paddle]


class Drawing(NamedTuple):
    """An image, its label, and what it shows: two marks, two long contours, and short ones."""

    levels: npt.NDArray[np.uint8]
    label: int
    marks: tuple[complex, complex]
    contours: list[Contour]


def parameters(paddles: int) -> str:
    """The last seven fields of a line in a list of labels.

    Example:
        >>> parameters(14)
        '1.0 14 4 2.0 0.75 2.5 1'
    """
    return f"1.0 {paddles} {paddles // 3} {2 * _HALF} {_THICKNESS} {_MARGIN} 1"


def draw(paddles: int, *, seed: int, index: int) -> Drawing:
    """The image of that number with long contours of so many paddles.

    It depends on its own number and the seed alone, so images may be drawn in any order and by
    any number of processes.
    """
    rng = np.random.default_rng([seed, paddles, index])
    contours = None
    while contours is None:
        contours = _contours(rng, paddles)
    label = int(rng.integers(2))
    first, second, *_ = contours
    marks = _start(first), _end(first) if label else _start(second)
    return Drawing(_rendered(contours, marks), label, marks, contours)


def _contours(rng: np.random.Generator, paddles: int) -> list[Contour] | None:
    """The two long contours and the short ones, unless one of them finds no place."""
    sketch = _Sketch(rng)
    first = sketch.add(paddles, sketch.anywhere)
    unseen = first and _Sketch(rng).add(paddles, lambda: _start(first))
    if not (first and unseen and _apart(first) and _apart(unseen)):
        return None
    second = sketch.add(paddles, lambda: _end(unseen))
    length = paddles // 3
    short = [sketch.add(length, sketch.anywhere) for _ in range(_SHORT // length)]
    found = [contour for contour in (first, second, *short) if contour is not None]
    return found if len(found) == 2 + len(short) else None


def _apart(contour: Contour) -> bool:
    """Whether its ends are as far apart as two marks may be."""
    return _CLOSEST <= abs(_end(contour) - _start(contour)) <= _FARTHEST


class _Sketch:
    """A scene in the making: what is covered so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._covered: set[tuple[int, int]] = set()

    def anywhere(self) -> complex:
        """A point of the window."""
        return complex(*self._rng.uniform(_MARGIN, _SIDE - _MARGIN, 2))

    def add(self, paddles: int, start: Callable[[], complex]) -> Contour | None:
        """A contour from a start that lets it grow to its end, if one is found."""
        for _ in range(_TRIES):
            contour = self._grown(paddles, start())
            if contour is not None:
                self._covered.update(*map(_pixels, contour))
                return contour
        return None

    def _grown(self, paddles: int, start: complex) -> Contour | None:
        """A contour, unless the window or other paddles stop it on the way."""
        direction = cmath.rect(1.0, self._rng.uniform(0, math.tau))
        contour = [Paddle(start + _HALF * direction, direction)]
        covered = set(self._covered)
        if not (_inside(start) and _free(contour[0], covered)):
            return None
        turns = self._rng.normal(0, _TURN, paddles - 1).clip(-_LARGEST_TURN, _LARGEST_TURN)
        for turn in turns.tolist():
            last = contour[-1]
            onward = (_turned(last, angle) for angle in _angles(turn))
            found = next((paddle for paddle in onward if _free(paddle, covered)), None)
            if found is None:
                return None
            covered |= _pixels(last)  # after the choice: neighbours may share a pixel
            contour.append(found)
        return contour


def _angles(wanted: float) -> list[float]:
    """The wanted turn, then the others from the nearest to the farthest."""
    return [wanted, *sorted(_OTHERS, key=lambda angle: abs(angle - wanted))]


_OTHERS = [_LARGEST_TURN * k / 6 for k in range(-6, 7)]


def _turned(last: Paddle, angle: float) -> Paddle:
    """The next paddle: half the way along the old direction, half along the new one."""
    direction = last.direction * cmath.rect(1.0, angle)
    step = _HALF + _GAP / 2
    return Paddle(last.centre + step * (last.direction + direction), direction)


def _free(paddle: Paddle, covered: set[tuple[int, int]]) -> bool:
    return _inside(paddle.centre + _HALF * paddle.direction) and covered.isdisjoint(
        _pixels(paddle)
    )


def _inside(point: complex) -> bool:
    low, high = _MARGIN, _SIDE - _MARGIN
    return low <= point.real <= high and low <= point.imag <= high


def _pixels(paddle: Paddle) -> set[tuple[int, int]]:
    """The pixels that a paddle covers, to half a pixel."""
    centre, half = paddle.centre, _HALF * paddle.direction
    points = (centre - half, centre - half / 2, centre, centre + half / 2, centre + half)
    return {(int(z.real), int(z.imag)) for z in points}


def _start(contour: Contour) -> complex:
    return contour[0].centre - _HALF * contour[0].direction


def _end(contour: Contour) -> complex:
    return contour[-1].centre + _HALF * contour[-1].direction


def _rendered(contours: Sequence[Contour], marks: Sequence[complex]) -> npt.NDArray[np.uint8]:
    """The grey levels: drawn on finer cells, averaged, and stretched to the full range."""
    image = Image.new("L", (_SIDE * _FINE, _SIDE * _FINE))
    pen = ImageDraw.Draw(image)
    for paddle in (paddle for contour in contours for paddle in contour):
        middle = complex(int(paddle.centre.real) + 0.5, int(paddle.centre.imag) + 0.5)
        reach = _DRAWN * paddle.direction  # from the middle of a pixel, as in the release
        pen.line(_box(middle - reach, middle + reach), fill=_INK, width=round(_THICKNESS * _FINE))
    corner = complex(_RADIUS, _RADIUS)
    for mark in marks:
        pen.ellipse(_box(mark - corner, mark + corner), fill=_MARK)
    levels = np.asarray(image.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS), dtype=np.int64)
    # The lowest level, the ripple of the filter, is black: two thirds of the release are.
    return ((levels - 1).clip(0) * 255 // (levels.max() - 1)).astype(np.uint8)


def _box(start: complex, end: complex) -> tuple[float, float, float, float]:
    """Two points in units of cells, counted from the middle of the first one."""
    low, high = _FINE * start, _FINE * end
    return low.real - 0.5, low.imag - 0.5, high.real - 0.5, high.imag - 0.5
