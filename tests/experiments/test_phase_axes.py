"""The axes of `vlasov phase`, its intervals, and what it refuses."""

import pytest

import vlasov as vl
from vlasov.errors import InvalidValue, UnknownName, Unsupported
from vlasov.experiments.phase_axes import Axis, held_values
from vlasov.experiments.phase_cells import cells_of
from vlasov.experiments.phase_config import PhaseConfig
from vlasov.experiments.phase_run import PHASE
from vlasov.experiments.phase_tables import interval


def test_an_interval_leaves_two_and_a_half_per_cent_on_either_side():
    from scipy.stats import binom

    low, high = interval(7, 40)
    assert binom.sf(6, 40, low) == pytest.approx(0.025)
    assert binom.cdf(7, 40, high) == pytest.approx(0.025)
    assert interval(40, 40)[1] == 1.0


def test_draws_fill_the_ranges_of_their_axes():
    config = PhaseConfig(x="beta=-1:2", y="scale=0.01:100:log", random=400)
    cells = cells_of(config, vl.TransformerPDE())
    beta, scale = cells.values["beta"], cells.values["scale"].log10()
    assert not cells.grid
    for values, low, high in ((beta, -1.0, 2.0), (scale, -2.0, 2.0)):
        middle, spread = (low + high) / 2, (high - low) / 12**0.5
        assert low <= float(values.min()) < float(values.max()) <= high
        assert abs(float(values.mean()) - middle) < 4 * spread / 400**0.5


@pytest.mark.parametrize(
    "text", ["beta", "beta=1", "beta=a:b", "beta=1:2:3:4", "beta=2:1", "scale=0:1", "noise=-1:0",
             "beta=-1:1:5:log", "beta=1:2:1"],
)  # fmt: skip
def test_an_axis_that_is_none_is_refused(text):
    with pytest.raises(InvalidValue):
        Axis.parse(text)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"x": "bete=0:1"}, UnknownName, "beta"),
        ({"x": "a1=0:1", "y": "a1=0:1"}, InvalidValue, "twice"),
        ({"x": "a1=0:1", "hold": ("a1=1",)}, InvalidValue, "twice"),
        ({"x": "a1=0:1", "hold": ("angle=east",)}, InvalidValue, "NAME=NUMBER"),
        ({"y": "a1=0:1"}, InvalidValue, "Give --x"),
        ({"x": "beta=0:1", "beta": 2.0}, InvalidValue, "exclude each other"),
        ({"x": "a1=0:1", "query": "2"}, InvalidValue, "exclude each other"),
        ({"x": "a1=0:1", "key": "2"}, InvalidValue, "Drop --key"),
        ({"x": "a1=0:1", "y": "tilt=0:1", "d": 1}, InvalidValue, "width 2"),
        ({"x": "beta=-1:1", "attention": "l2"}, InvalidValue, "L2 attention"),
        ({"x": "a1=0:1", "redraw": 1.0}, InvalidValue, "constant in time"),
        ({"ensemble": "gram"}, InvalidValue, "--random"),
        ({"ensemble": "gramm", "random": 5}, UnknownName, "gram"),
        ({"ensemble": "gram", "random": 5, "x": "a1=0:1"}, InvalidValue, "has no place"),
        ({"x": "a1=0:1", "n": 2}, InvalidValue, "more than 2 tokens"),
        ({"x": "noise=0:1", "n": 8}, InvalidValue, "fixed steps"),
        ({"x": "a1=0:1", "mask": "causal"}, Unsupported, "--n 64"),
        ({"x": "a1=0:1", "chunk": 0}, InvalidValue, "'chunk'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_makes_no_diagram_is_refused(settings, error, words):
    with pytest.raises(error, match=words):
        PHASE.prepare(PhaseConfig(**settings))


def test_fixed_values_are_read():
    assert held_values(["angle=30, tilt=-10", "beta=1e-2"]) == {
        "angle": 30.0,
        "tilt": -10.0,
        "beta": 0.01,
    }
