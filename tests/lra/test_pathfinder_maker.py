"""Pathfinder images of our own: their geometry, and that only the contours tell the label."""

import cmath
from itertools import pairwise

import numpy as np
import pytest

from vlasov.lra.pathfinder import DIFFICULTIES
from vlasov.lra.pathfinder_maker import draw

LARGEST_TURN, STEP, MARGIN = 1.2, 3.75, 2.5
ROUND = 1e-9  # rounding of at most 14 steps of about 4 pixels


@pytest.fixture(scope="module")
def drawings():
    return [draw(14, seed=3, index=index) for index in range(40)]


def ends(contour):
    first, last = contour[0], contour[-1]
    return first.centre - first.direction, last.centre + last.direction


def test_an_image_depends_on_its_seed_and_number_alone(drawings):
    alone = draw(14, seed=3, index=7)
    assert (draw(14, seed=3, index=8).levels != alone.levels).any()
    assert (draw(14, seed=4, index=7).levels != alone.levels).any()
    assert (drawings[7].levels == alone.levels).all()


def test_the_marks_are_on_one_contour_where_the_label_says_so(drawings):
    for drawing in drawings:
        first, second, *_ = drawing.contours
        other = ends(first)[1] if drawing.label else ends(second)[0]
        assert drawing.marks == (ends(first)[0], other)


def test_images_use_all_grey_levels_and_are_bright_at_their_marks(drawings):
    for drawing in drawings:
        assert drawing.levels.max() == 255
        at_marks = [drawing.levels[int(mark.imag), int(mark.real)] for mark in drawing.marks]
        assert min(at_marks) > 180


def test_marks_are_neither_merged_nor_across_the_image(drawings):
    distances = [abs(one - other) for one, other in (drawing.marks for drawing in drawings)]
    assert min(distances) >= 4 - ROUND
    assert max(distances) <= 20 + ROUND


@pytest.mark.parametrize("paddles", DIFFICULTIES.values())
def test_contours_have_the_paddles_of_their_difficulty(paddles):
    lengths = [len(contour) for contour in draw(paddles, seed=0, index=0).contours]
    assert lengths[:2] == [paddles, paddles]
    assert set(lengths[2:]) == {paddles // 3}


def test_contours_turn_by_bounded_angles_and_leave_gaps(drawings):
    for contour in (contour for drawing in drawings for contour in drawing.contours):
        for one, other in pairwise(contour):
            assert abs(cmath.phase(other.direction / one.direction)) <= LARGEST_TURN + ROUND
            gap = (other.centre - other.direction) - (one.centre + one.direction)
            assert abs(gap) <= STEP - 2 + ROUND


def test_contours_stay_in_the_window(drawings):
    for contour in (contour for drawing in drawings for contour in drawing.contours):
        for point in (paddle.centre + paddle.direction for paddle in contour):
            assert min(point.real, point.imag) >= MARGIN
            assert max(point.real, point.imag) <= 32 - MARGIN


def test_contours_cross_in_gaps_only(drawings):
    for drawing in drawings:
        covered = [
            {(int(z.real), int(z.imag)) for paddle in contour for z in halves(paddle)}
            for contour in drawing.contours
        ]
        assert sum(map(len, covered)) == len(set().union(*covered))


def halves(paddle):
    return (paddle.centre + t * paddle.direction for t in (-1, -0.5, 0, 0.5, 1))


def test_labels_are_as_often_0_as_1(drawings):
    share = np.mean([drawing.label for drawing in drawings])
    assert abs(share - 0.5) < 3 * 0.5 / len(drawings) ** 0.5


def test_images_are_as_black_and_as_bright_as_those_of_the_release(drawings):
    levels = np.stack([drawing.levels for drawing in drawings])
    assert abs((levels == 0).mean() - 0.659) < 0.03
    assert abs(levels.mean() - 20.2) < 1.0


@pytest.mark.slow
def test_brightness_places_and_pixels_do_not_tell_the_label(unchecked_types):
    drawings = [draw(14, seed=11, index=index) for index in range(3000)]
    labels = np.array([drawing.label for drawing in drawings])
    pixels = np.stack([drawing.levels.ravel() / 255 for drawing in drawings])
    distance = np.array([abs(one - other) for one, other in (d.marks for d in drawings)])
    for value in (pixels.mean(1), distance):
        parts = value[labels == 0], value[labels == 1]
        error = sum(part.var() / len(part) for part in parts) ** 0.5
        assert abs(parts[0].mean() - parts[1].mean()) < 4 * error
    learnt, scored = slice(2000), slice(2000, None)
    assert abs(ridge(pixels, labels, learnt, scored) - 0.5) < 3 * 0.5 / 1000**0.5
    # The same classifier does see a trace of one grey level in a hundred.
    traced = pixels + 0.01 * labels[:, None]
    assert ridge(traced, labels, learnt, scored) > 0.9


def ridge(features, labels, learnt, scored):
    x = features - features[learnt].mean(0)
    weights = np.linalg.solve(
        x[learnt].T @ x[learnt] + np.eye(x.shape[1]), x[learnt].T @ (labels[learnt] - 0.5)
    )
    return ((x[scored] @ weights > 0) == labels[scored]).mean()
