"""The rule of `auto`: a table of costs, where it comes from, and how much a cloud spreads."""

import dataclasses
import functools
import itertools
import json

import pytest
import torch

from vlasov.engines import Auto, Direct, Fused, Monomials, Tree, costs
from vlasov.engines.cost_model import Work
from vlasov.engines.costs import FORMAT, calibrated_file
from vlasov.engines.pairs import Pairs
from vlasov.engines.spread import spread_of
from vlasov.experiments.bench_clouds import bench_cloud


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    costs.forget()
    yield calibrated_file()
    costs.forget()


def _pairs(x):
    return Pairs(x, x, x, torch.zeros(x.shape[:-1], dtype=x.dtype))


def _ball(n, d, radius):
    return bench_cloud("ball", n, d, radius)[None]


def _work(n, d=2, **changes):
    return Work(queries=n, keys=n, width=d, values=d, **changes)


def _write(path, **changes):
    content = {"format": FORMAT, "costs": dataclasses.asdict(costs.costs()) | changes}
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    costs.forget()


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_costs_grow_with_the_tokens_and_are_finite(d, cache):
    table = costs.costs()
    for n, radius in itertools.product([100, 700, 5_000, 10**5, 10**6], [0.1, 1.0, 20.0, 1e3]):
        for predicted in (
            functools.partial(table.quadratic, "fused"),
            functools.partial(table.quadratic, "direct"),
            table.near_linear,
        ):
            one, four = (predicted(_work(m, d, radius=radius)) for m in (n, 4 * n))
            assert 0 < one <= 1.2 * four < float("inf")


def test_between_the_measured_numbers_the_table_is_met(cache):
    table = costs.costs()
    for row, radius in enumerate(table.radii):
        for n, seconds in zip(table.sizes, table.trees["2"][row], strict=False):
            assert table.near_linear(_work(n, radius=radius)) == pytest.approx(seconds)


def test_clumps_cost_what_was_measured_for_twenty_of_them(cache):
    table = costs.costs()
    for row, radius in enumerate(table.clumped):
        for n, seconds in zip(table.sizes, table.clumps["3"][row], strict=False):
            found = table.near_linear(_work(n, 3, radius=radius, clumps=20))
            ball = table.near_linear(_work(n, 3, radius=radius))
            assert found == pytest.approx(min(ball, max(seconds, table.near_linear(_work(n, 3)))))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("radius", [1.0, 10.0, 60.0])
def test_the_spread_of_a_ball_is_its_radius(d, radius):
    found = spread_of(_pairs(_ball(5_000, d, radius)))
    assert radius / 3 < found.radius <= radius * (1 + 1e-9)
    assert found.clumps == 0


@pytest.mark.parametrize("d", [2, 3, 4, 6, 8])
def test_clumps_are_counted(d):
    spread = spread_of(_pairs(bench_cloud("clumps", 30_000, d, 50.0)[None]))
    assert 18 <= spread.clumps <= 40
    assert spread.radius == pytest.approx(50.0, rel=0.1)
    assert spread_of(_pairs(torch.zeros(1, 10, 2, dtype=torch.float64))) == (0.0, 0)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("radius", [50.0, 200.0])
def test_curves_spread_less_than_a_ball_of_their_radius(d, radius):
    circle = bench_cloud("sphere", 5_000, 2, radius)
    x = torch.nn.functional.pad(circle, (0, d - 2))[None]
    assert spread_of(_pairs(x)).radius < 0.4 * radius


@pytest.mark.parametrize("d", [4, 6, 8])
def test_auto_takes_trees_for_clumps_of_many_dimensions(d):
    # the trees are several times faster there than what meets every pair, over a ball they are not
    clumps, ball = (bench_cloud(kind, 30_000, d, 50.0)[None] for kind in ("clumps", "ball"))
    assert type(Auto().choice(_pairs(clumps))) is Tree
    assert type(Auto().choice(_pairs(ball))) in (Direct, Fused)


def test_the_spread_of_a_batch_is_that_of_its_widest_member():
    x = torch.cat([_ball(300, 2, 1.0), _ball(300, 2, 50.0)])
    assert spread_of(_pairs(x)) == spread_of(_pairs(x[1:]))


@pytest.mark.parametrize(("n", "kind"), [(64, Fused), (800, Direct), (20_000, Tree)])
def test_auto_takes_what_the_number_of_tokens_asks_for(n, kind, cache):
    assert type(Auto().choice(_pairs(_ball(n, 2, 4.0)))) is kind


@pytest.mark.parametrize("d", [7, 8, 9, 15, 16, 17, 64])
def test_auto_takes_tokens_of_any_width(d):
    x = bench_cloud("gaussian", 3_000, d, 1.0)[None]
    found, wanted = (engine.average(x, x, x, x[..., 0]) for engine in (Auto(), Fused()))
    assert (found - wanted).abs().max() <= 1e-8


def test_auto_follows_the_table_of_this_machine(cache):
    table = costs.costs()
    slow = {"2": [[1e3] * 6] * len(table.radii)}
    calls = table.calls | {"direct": 1e3}
    _write(cache, calls=calls, trees=slow, clumped=table.radii, clumps=slow)
    assert type(Auto().choice(_pairs(_ball(3_000, 2, 4.0)))) is Fused


def test_auto_never_takes_trees_that_cannot_hold_the_tolerance(cache):
    assert type(Auto(1e-15).choice(_pairs(_ball(20_000, 2, 4.0)))) is Direct


@pytest.mark.parametrize(
    "changes",
    [
        {"centre": ["x", "y"]},
        {"radii": [float("nan")]},
        {"calls": 3},
        {"trees": {"2": [[]]}},
        {"trees": {"2": [[0.0] * 6]}},
        {"trees": {"2": []}},
        {"clumps": {"2": [[]]}},
        {"clumps": {}},
        {"calls": {"fused": 1e-4}},
        {"centre": [1.0]},
        {"pairs": {}},
        {"pairs": {"fused float64": []}},
        {"widths": []},
        {"sizes": [300, 300]},
        {"sizes": [0, 300]},
        {"radii": []},
        {"trees": {"x": [[1.0] * 6]}, "clumps": {"x": [[1.0] * 6]}},
        {"trees": {"2": [[1.0] * 9] * 7}},
        {"centre": [10**400, 1]},
    ],
)
def test_a_table_of_no_numbers_is_passed_over_with_a_warning(changes, cache):
    packaged = costs.costs()
    _write(cache, **changes)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert costs.costs() == packaged


def test_a_table_that_saw_no_time_pass_gives_an_engine(cache):
    table = costs.costs()
    _write(cache, pairs={name: [0.0] * len(table.widths) for name in table.pairs})
    Auto().choice(_pairs(_ball(3_000, 2, 4.0)))


@pytest.mark.parametrize("scale", [1e-160, 1e20, 1e160])
@pytest.mark.parametrize("d", [1, 3])
def test_tokens_of_any_size_are_looked_at_in_silence(scale, d):
    pairs = _pairs(scale * _ball(3_000, d, 1.0))
    assert type(Auto().choice(pairs)) in (Direct, Fused, Tree, Monomials)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "", "{}", '{"format": 0}', '{"format": 1, "costs": {"a": 1}}']
)
def test_a_damaged_table_is_passed_over_with_a_warning(text, cache):
    packaged = costs.costs()
    cache.parent.mkdir(parents=True)
    cache.write_text(text)
    costs.forget()
    with pytest.warns(UserWarning, match=r"cannot be read .*bench --calibrate"):
        assert costs.costs() == packaged


@pytest.mark.parametrize("n", [2_000, 6_000, 20_000, 1_000_000])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_causal_sums_of_the_trees_cost_what_their_route_takes(n, d):
    causal, table = Work(n, n, d, d, radius=4.0, triangular=True), costs.costs()
    whole = table.near_linear(dataclasses.replace(causal, triangular=False))
    found, direct = table.near_linear(causal), table.quadratic("direct", causal)
    if n > 6_144:
        assert whole < found < 2.5 * whole
    else:
        assert found > direct


def test_trees_are_looked_at_where_the_compiled_pass_is_slower_than_torch(cache):
    table = costs.costs()
    slow = {name: [1e3] * len(table.widths) for name in ("direct float64", "direct float32")}
    _write(cache, pairs=table.pairs | slow)
    costs.forget()
    assert type(Auto().choice(_pairs(_ball(20_000, 2, 4.0)))) is Tree
    assert type(Auto().choice(_pairs(_ball(100, 2, 4.0)))) is Fused
