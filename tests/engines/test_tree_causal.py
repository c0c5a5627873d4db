"""Causal sums by one walk over the trees: against direct sums, and what later tokens change."""

import math

import numpy as np
import pytest
import torch

from vlasov.engines import tree_causal
from vlasov.engines.direct import direct_sums
from vlasov.engines.engine_report import collecting
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_causal import fits_walk, walked
from vlasov.engines.tree_causal_terms import CausalTerms
from vlasov.engines.tree_causal_totals import causal_totals
from vlasov.engines.tree_halves import causal_sums
from vlasov.errors import NotConverged

pytestmark = pytest.mark.usefixtures("unchecked_types")

N, BEGIN, BLOCK, TOLERANCE = 900, 30, 37, 1e-6


def _pairs(n=N, *, d=2, values=2, size=3.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(n, d, generator=g, dtype=torch.float64) for _ in range(2))
    v = torch.randn(n, values, generator=g, dtype=torch.float64)
    return Pairs(size * q, k, v, torch.randn(n, generator=g, dtype=torch.float64))


def _in_order(n=N):
    x = torch.linspace(-3, 3, n, dtype=torch.float64)
    x = torch.stack([x, -0.5 * x], dim=-1)
    return Pairs(2 * x, x, x, torch.zeros(n, dtype=torch.float64))


def _clumps(n=N):
    some = _pairs(n)
    x = 3 * some.k[:5].repeat(n // 5, 1) + 1e-3 * some.k[: n // 5 * 5]
    return Pairs(3 * x, x, some.v[: len(x)], some.logits[: len(x)])


def _flat(far, spread):
    """Keys on a line far away, but for a spread that is tiny beside it."""
    some = _pairs()
    x = torch.stack([torch.full((N,), far, dtype=torch.float64), spread * some.k[:, 1]], dim=-1)
    return Pairs(some.q / far, x, some.v, some.logits)


CLOUDS = {
    "line": _pairs(d=1),
    "plane": _pairs(),
    "space": _pairs(d=3, size=1.0),
    "five coordinates": _pairs(d=5, size=0.3),
    "log-sums alone": _pairs(values=0),
    "one value": _pairs(values=1),
    "five values": _pairs(values=5),
    "large exponents": _pairs(size=25.0),
    "later is farther": _in_order(),
    "clumps": _clumps(),
    "flat": _flat(1e10, 1e-9),
    "flat and far": _flat(1e150, 1e-160),
    "a point": _flat(1e10, 0.0),
}


def _assert_held(found, wanted):
    off = (found.averages - wanted[:, :-1]).norm(dim=1)
    assert (off <= found.bounds).all()
    assert ((found.logs - wanted[:, -1]).abs() <= found.log_bounds).all()


@pytest.mark.parametrize("block", [1, BLOCK, 400, N])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_walk_agrees_with_direct_sums(cloud, block):
    pairs = CLOUDS[cloud]
    found = walked(TOLERANCE, pairs, begin=BEGIN, block=block)
    _assert_held(found, direct_sums(pairs, True)[BEGIN:])


def test_many_tokens_are_expanded_in_shared_and_in_own_nodes():
    pairs = _pairs(20_000)
    pairs = Pairs(pairs.q, pairs.q / 3, pairs.v, pairs.logits)
    with collecting() as reports:
        found = causal_sums(TOLERANCE, pairs, end=1000)
    _assert_held(found, direct_sums(pairs, True))
    (report,) = reports
    assert report.sums == 1
    assert report.expanded > 0.5
    assert report.pruned + report.expanded + report.direct == pytest.approx(1.0, abs=1e-12)
    assert report.bound == float(found.bounds.max())


def test_later_tokens_change_no_bound_and_no_sum_beyond_its_bound():
    pairs, cut = _pairs(), 600
    k, v, logits = pairs.k.clone(), pairs.v.clone(), pairs.logits.clone()
    k[cut:], v[cut:], logits[cut:] = 3 * k[cut:], 1e12 * v[cut:], logits[cut:] + 5
    found, other = (
        walked(TOLERANCE, x, begin=BEGIN, block=BLOCK)
        for x in (pairs, Pairs(pairs.q, k, v, logits))
    )
    early = slice(0, cut - BEGIN)
    for x in (found, other):
        _assert_held(type(x)(*(y[early] for y in x)), direct_sums(pairs, True)[BEGIN:cut])
    assert (other.bounds[early] <= 3 * found.bounds[early]).all()
    assert (other.bounds[cut - BEGIN :] > 1e3 * found.bounds[cut - BEGIN :]).all()


@pytest.mark.parametrize("cloud", ["plane", "later is farther"])
def test_a_query_is_shifted_by_the_exponent_of_a_key_that_it_sees(cloud):
    q, k, v, logits = (getattr(CLOUDS[cloud], x).numpy() for x in ("q", "k", "v", "logits"))
    terms = CausalTerms.of(q, k, v, logits, tolerance=TOLERANCE, begin=BEGIN)
    scores = (q @ k.T + logits) * math.log2(math.e)
    for i in range(BEGIN, len(q)):
        assert np.abs(scores[i, : i + 1] - terms.shifts[i]).min() < 1e-12


def test_sums_do_not_depend_on_threads():
    threads, found = torch.get_num_threads(), []
    pairs = _pairs(3_000, size=6.0)
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(walked(TOLERANCE, pairs, begin=BEGIN, block=BLOCK))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("what", ["an absent key", "exponents too large", "no room for rounding"])
def test_what_a_walk_cannot_take_goes_by_halves(what):
    pairs, tolerance = _pairs(), TOLERANCE
    assert fits_walk(tolerance, pairs)
    if what == "an absent key":
        pairs.logits[500] = -torch.inf
    elif what == "exponents too large":
        pairs = Pairs(100 * pairs.q, pairs.k, pairs.v, pairs.logits)
    else:
        tolerance = 1e-14
    assert not fits_walk(tolerance, pairs)
    if tolerance == TOLERANCE:
        _assert_held(causal_sums(tolerance, pairs, end=100), direct_sums(pairs, True))


def test_a_walk_that_breaks_its_bound_is_caught(monkeypatch):
    def off(terms, block):
        sums, counts = causal_totals(terms, block)
        return sums * 1.001, counts

    monkeypatch.setattr(tree_causal, "causal_totals", off)
    with pytest.raises(NotConverged, match=r"promised errors below .* Please report this"):
        walked(TOLERANCE, _pairs(), begin=BEGIN, block=BLOCK)
