# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""Squared distances between points and boxes of a tree, for compiled searches over pairs of nodes.

Points are (d, n), boxes (nodes, 2, d) with lower and upper corners, see `boxes`.
"""

__all__ = [
    "SLACK",
    "farthest",
    "mirrored_to_box",
    "nearest",
    "nearest_mirrored",
    "of_points",
    "to_box",
]

from typing import no_type_check

from numba import njit

SLACK = 1e-13
"""What rounding may do to a squared distance, relative to it: more than enough for width 8."""


@njit(nogil=True)
@no_type_check
def of_points(points, i, j):
    """Between two points."""
    total = 0.0
    for c in range(points.shape[0]):
        total += (points[c, i] - points[c, j]) ** 2
    return total


@njit(nogil=True)
@no_type_check
def to_box(points, i, boxes, b):
    """From a point to the nearest place of a box."""
    total = 0.0
    for c in range(points.shape[0]):
        x = points[c, i]
        total += max(0.0, boxes[b, 0, c] - x, x - boxes[b, 1, c]) ** 2
    return total


@njit(nogil=True)
@no_type_check
def mirrored_to_box(points, i, boxes, b):
    """From the mirror image of a point about the origin to the nearest place of a box."""
    total = 0.0
    for c in range(points.shape[0]):
        x = -points[c, i]
        total += max(0.0, boxes[b, 0, c] - x, x - boxes[b, 1, c]) ** 2
    return total


@njit(nogil=True)
@no_type_check
def nearest(boxes, a, b):
    """The least between two boxes."""
    total = 0.0
    for c in range(boxes.shape[2]):
        gap = max(0.0, boxes[a, 0, c] - boxes[b, 1, c], boxes[b, 0, c] - boxes[a, 1, c])
        total += gap**2
    return total


@njit(nogil=True)
@no_type_check
def nearest_mirrored(boxes, a, b):
    """The least between a box and the mirror image of another about the origin."""
    total = 0.0
    for c in range(boxes.shape[2]):
        gap = max(0.0, boxes[a, 0, c] + boxes[b, 0, c], -boxes[b, 1, c] - boxes[a, 1, c])
        total += gap**2
    return total


@njit(nogil=True)
@no_type_check
def farthest(boxes, a, b):
    """The largest between two boxes; with itself, the squared diagonal."""
    total = 0.0
    for c in range(boxes.shape[2]):
        side = max(boxes[a, 1, c] - boxes[b, 0, c], boxes[b, 1, c] - boxes[a, 0, c])
        total += side**2
    return total
