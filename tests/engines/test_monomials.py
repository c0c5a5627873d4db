"""The monomial engine: its basis, its bounds against wider sums, its laws, its refusals."""

import math

import numpy as np
import pytest
import torch

from vlasov.attention import ATTENTIONS
from vlasov.attention.masks import Causal
from vlasov.engines import Dense, Monomials
from vlasov.engines.engine_report import collecting
from vlasov.engines.monomial_basis import Basis
from vlasov.engines.monomial_choice import plan
from vlasov.engines.monomial_sums import monomial_sum
from vlasov.errors import EngineUnsupported, InvalidValue, NotFinite

pytestmark = pytest.mark.usefixtures("unchecked_types")


def _normal(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


@pytest.mark.parametrize(("d", "degree"), [(1, 5), (2, 3), (3, 4), (16, 2)])
def test_the_basis_holds_every_monomial_once(d, degree):
    chosen, x = Basis(d, degree), _normal(d, 2).exp()
    found = chosen.write(x, x.new_empty(chosen.size, 2))
    assert chosen.size == math.comb(d + degree, degree)
    # logarithms of monomials are sums over whole powers: recover the powers from unit vectors
    probes = (torch.eye(d, dtype=torch.float64) + 1).mT
    powers = chosen.write(probes, probes.new_empty(chosen.size, d)).log2().round()
    assert len(powers.unique(dim=0)) == chosen.size
    torch.testing.assert_close(powers.sum(1), torch.from_numpy(chosen.levels).double())
    torch.testing.assert_close(found, (powers @ x.log()).exp())


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_coefficients_make_a_polynomial_of_the_score(d):
    r, chosen = 1.5, plan(d, 1.5, 1e-9, exponent=1.5, keys=9, columns=2)
    x, y = (z / z.norm(dim=0).max() for z in (_normal(d, 5), _normal(d, 5, seed=1)))

    def monomials(z):
        outer, inner = chosen.outer, chosen.inner
        first = outer.write(z[: outer.d], z.new_empty(outer.size, 5))
        return first, inner.write(z[outer.d :], z.new_empty(inner.size, 5))

    (ox, ix), (oy, iy) = monomials(x), monomials(y)
    table = torch.from_numpy(chosen.coefficients)
    found = torch.einsum("oi,on,in,om,im->nm", table, ox, ix, oy, iy)
    ratio = found / (r * x.mT @ y).exp()
    assert (ratio - 1).abs().max() <= chosen.relative


def _exact(q, k, v, logits, rows):
    """Averages and log-sums of some rows in extended precision."""
    q, k, v, logits = (x.numpy().astype(np.longdouble) for x in (q, k, v, logits))
    scores = q[rows] @ k.T + logits
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights @ v / total, (np.log(total) + top)[:, 0]


def _draw(rng):
    """A random sum of small exponents about a centre: off it, clumped or with an outlier."""
    d, n, m = (int(rng.integers(1, high)) for high in (17, 400, 400))
    q, k = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    if rng.random() < 0.3:
        k = 1e-3 * k + rng.standard_normal((3, d))[rng.integers(0, 3, m)]
    if rng.random() < 0.3:
        q[rng.integers(n)] *= 10
    r = 10 ** rng.uniform(-6, 0.4 if d < 6 else -0.3)
    q *= r / max(np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max(), 1e-9)
    q, k = q + rng.normal() * rng.choice([0, 3]), k + rng.normal() * rng.choice([0, 10])
    v = rng.standard_normal((m, int(rng.integers(1, 4)))) * 10 ** rng.uniform(-3, 3)
    logits = rng.standard_normal(m) * rng.choice([0.0, 1.0, 100.0])
    q, k, v, logits = (torch.from_numpy(x) for x in (q, k, v, logits - logits.max()))
    return (q, k, v, logits), 10.0 ** rng.integers(-9, -1)


def _assert_bounds_hold(seed):
    """True if the engine took the sum."""
    operands, tolerance = _draw(np.random.default_rng(seed))
    try:
        found = monomial_sum(*operands, tolerance)
    except EngineUnsupported:
        return False
    rows = np.arange(0, len(operands[0]), max(1, len(operands[0]) // 8))
    averages, logs = _exact(*operands, rows)
    off = np.linalg.norm((found.averages[rows].numpy() - averages).astype(float), axis=1)
    assert off.max() <= found.bound
    assert np.abs(found.logs[rows].numpy() - logs).max() <= found.log_bound
    farthest = (operands[2][None] - found.averages[rows][:, None]).norm(dim=2).max()
    assert found.bound <= 3 * tolerance * farthest + 1e-14 * operands[2].abs().max()
    return True


def test_no_error_exceeds_its_bound():
    taken = [_assert_bounds_hold(seed) for seed in range(100)]
    assert sum(taken) > 50


@pytest.mark.slow
def test_no_error_exceeds_its_bound_in_many_draws():
    assert sum(_assert_bounds_hold(10**6 + seed) for seed in range(3000)) > 1500


def _operands(n, d, *, size=0.5):
    x = _normal(2, n, d)
    x = x * math.sqrt(size) / x.norm(dim=-1, keepdim=True).amax(-2, keepdim=True)
    return x, x.flip(-2), _normal(2, n, 3), _normal(2, n, seed=1)


@pytest.mark.parametrize("name", ["softmax", "l2", "unnormalised", "sinkhorn"])
def test_every_exponential_variant_gets_the_field_of_dense(name):
    x, _, _, _ = _operands(40, 4)
    log_w, variant = _normal(2, 40).log_softmax(-1), ATTENTIONS.build(name)
    wanted, found = (variant.average(x, x, x, log_w, e) for e in (Dense(), Monomials()))
    assert (found - wanted).abs().max() <= 1e-7


def test_many_tokens_come_in_blocks():
    q, k, v, logits = _operands(1100, 4)
    with collecting() as reports:
        found, logs = Monomials(1e-6).average_and_log_sum(q, k, v, logits)
    (report,) = reports
    assert report.engine == "monomials"
    assert (found - Dense().average(q, k, v, logits)).norm(dim=-1).max() <= report.bound
    assert (logs - Dense().log_sum(q, k, logits)).abs().max() <= 1e-6


def test_neighbours_absent_keys_and_coinciding_tokens_change_nothing():
    q, k, v, logits = _operands(50, 3)
    q, logits = torch.cat([q[:1], 2 * q[:1]]), logits.clone()
    logits[:, ::2] = -torch.inf
    k[:, ::2] = 1e200  # what is absent has no place either
    found = Monomials().average(q, k[:, :, :], v, logits)
    alone = Monomials().average(q[1:], k[1:], v[1:], logits[1:])
    assert torch.equal(found[1:], alone)
    q, k, v, logits = (x[:, 1::2] for x in (q, k, v, logits))
    torch.testing.assert_close(found[:, 1::2], Dense().average(q, k, v, logits))
    one = k[:, :1].expand(k.shape)
    torch.testing.assert_close(
        Monomials().average(q, one, v, 0 * logits), v.mean(-2, True) + 0 * q
    )


def test_single_precision_is_summed_in_double():
    operands = [x.float() for x in _operands(300, 4)]
    wanted = Dense().average(*(x.double() for x in operands))
    assert (Monomials().average(*operands) - wanted).abs().max() < 10 * 6e-8


def test_no_present_key_gives_zero():
    q, k, v, logits = _operands(9, 2)
    nothing = torch.full_like(logits, -torch.inf)
    assert torch.equal(Monomials().average(q, k, v, nothing), torch.zeros_like(v))
    assert Monomials().log_sum(q, k, nothing).isneginf().all()


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"q": 40.0}, "about one centre"),
        ({"q": 9.0, "tolerance": 1e-9}, "rounding alone leaves"),
        ({"logits": 1e8}, "rounding alone leaves"),
        ({"d": 16, "q": 4.0}, r"monomials \(degree"),
        ({"d": 17}, "keys of width 17"),
    ],
)
def test_what_is_too_large_is_refused(change, phrase):
    q, k, v, logits = _operands(30, change.get("d", 4))
    engine = Monomials(change.get("tolerance", 1e-8))
    operands = q * change.get("q", 1.0), k, v, logits * change.get("logits", 1.0)
    with pytest.raises(EngineUnsupported, match=phrase):
        engine.average(*operands)


def test_other_sums_are_refused_by_name():
    q, k, v, logits = _operands(9, 2)
    positions = torch.arange(9.0, dtype=torch.float64)[None]
    with pytest.raises(EngineUnsupported, match="a sum under a mask"):
        Monomials().log_sum(q, k, logits, mask=Causal().bind(positions, positions))
    with pytest.raises(EngineUnsupported, match="a gradient"):
        Monomials().average(q.clone().requires_grad_(), k, v, logits)
    with pytest.raises(EngineUnsupported, match="no exponential"):
        Monomials().pair_sum(torch.sigmoid, q, k, v, logits)
    with pytest.raises(EngineUnsupported, match="leaders"):
        Monomials().leader_average(q, k, v, logits, tie=0.0)
    with pytest.raises(NotFinite, match="NaN or infinity"):
        Monomials().average(q * torch.nan, k, v, logits)
    with pytest.raises(InvalidValue, match=r"up to 0\.1 but got 0"):
        Monomials(0.0)
    assert Monomials().within(1e-10) == Monomials(1e-10)
