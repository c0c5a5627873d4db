"""Stop conditions: located in time, noted or ending the run."""

import math

import pytest
from flows import no_attention

import vlasov as vl
from vlasov.errors import InvalidValue
from vlasov.stopping import STOPS, Custom, Merge, build_stop

pytestmark = pytest.mark.usefixtures("unchecked_types")


SHRINKING = no_attention(1, terms="decay")  # x' = -x exactly
PAIR = vl.Cloud([[1.0], [-1.0]])


@pytest.mark.parametrize("name", list(STOPS))
def test_specs_build_again(name):
    assert STOPS.spec(build_stop(name)) == name


@pytest.mark.parametrize(
    ("stop", "time"),
    [
        ("collapse:tolerance=0.5", math.log(2)),
        ("steady:tolerance=0.25", math.log(4)),
        (Merge(radius=0.2, terminal=True), math.log(10)),
        (Custom("half", lambda cloud: cloud.points[0, 0] - 0.5), math.log(2)),
    ],
)
def test_ends_the_run_at_the_located_time(stop, time):
    run = vl.simulate(SHRINKING, PAIR, until=5.0, step=0.01, stop=(stop,))
    assert run.status == getattr(stop, "label", getattr(stop, "name", str(stop).split(":")[0]))
    assert run.stopped_at == pytest.approx(time, abs=1e-8)
    assert float(run.times[-1]) == pytest.approx(time, abs=1e-8)


def test_merges_are_noted_and_the_run_goes_on():
    run = vl.simulate(SHRINKING, PAIR, until=5.0, step=0.01, stop=("merge:radius=0.2",))
    assert run.status == "finished"
    (event,) = run.events
    assert (event.name, event.time) == ("merge", pytest.approx(math.log(10), abs=1e-8))


def test_one_token_never_merges():
    run = vl.simulate(SHRINKING, vl.Cloud([[1.0]]), until=1.0, step=0.1, stop=("merge",))
    assert run.events == ()


def test_blow_up_threshold_is_the_users():
    run = vl.simulate(
        vl.TransformerPDE(), vl.Cloud([[1.0]]), until=5.0, step=0.01, stop=("blow-up:threshold=2",)
    )
    assert run.status == "blow-up"
    assert run.stopped_at == pytest.approx(math.log(2), abs=1e-8)


@pytest.mark.parametrize(
    "spec",
    ["blow-up:threshold=0", "collapse:tolerance=-1", "steady:tolerance=0", "merge:radius=0"],
)
def test_thresholds_must_be_positive(spec):
    with pytest.raises(InvalidValue, match="must be positive"):
        build_stop(spec)
