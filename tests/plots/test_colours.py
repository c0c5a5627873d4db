"""Colours by origin: near tokens look alike, far ones do not, also to a colour-blind reader."""

import numpy as np
import pytest

from vlasov.plots.colours import origin_colours

# What a reader without M cones sees, in linear RGB.
# Source: F. Vienot, H. Brettel and J. Mollon (1999).
_DEUTERANOPE = np.array([
    [0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0],
])  # fmt: skip


def _circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("directions", [True, False])
def test_colours_are_colours(m, directions):
    x = 50.0 * np.random.default_rng(0).standard_normal((200, m))
    colours = origin_colours(x, directions=directions)
    assert colours.shape == (200, 3)
    assert colours.min() >= 0.0
    assert colours.max() <= 1.0


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_cloud_in_one_point_has_one_colour(m):
    assert np.ptp(origin_colours(np.full((5, m), 3.0)), axis=0).max() == 0.0


def test_the_line_is_ordered_from_dark_to_light():
    colours = origin_colours(np.linspace(-2.0, 7.0, 20)[:, None])
    assert (np.diff(colours @ [0.2126, 0.7152, 0.0722]) > 0).all()


def test_the_circle_has_a_colour_for_every_direction():
    """Eight directions differ pairwise by more than 0.1 in some channel; all are dark on paper."""
    colours = origin_colours(_circle(8), directions=True)
    apart = np.abs(colours[:, None] - colours[None]).max(axis=-1) + np.eye(8)
    assert apart.min() > 0.1
    assert (colours @ [0.2126, 0.7152, 0.0722]).max() < 0.8


def test_opposite_tokens_differ_without_m_cones():
    colours = origin_colours(_circle(16), directions=True)
    seen = np.clip(colours**2.2 @ _DEUTERANOPE.T, 0, 1) ** (1 / 2.2)
    opposite = np.abs(seen[:8] - seen[8:]).max(axis=-1)
    assert opposite.min() > 0.15


def test_saturation_grows_with_the_distance_to_the_middle():
    x = np.linspace(-1.0, 1.0, 41)[:, None] * [1.0, 1.0] + 5.0
    spread = np.ptp(origin_colours(x), axis=-1)
    assert spread[20] < 0.05 < 0.2 < spread[-1]
