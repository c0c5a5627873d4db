"""What the trees do with degenerate tokens, extreme numbers, and input that must be refused."""

import math

import pytest
import torch

from vlasov.engines import ENGINES, Dense, Monomials, Tree
from vlasov.engines.engine_report import collecting
from vlasov.errors import EngineUnsupported, InvalidValue, NotFinite

pytestmark = pytest.mark.usefixtures("unchecked_types")

TOLERANCE = 1e-7


def _normal(n, d=2, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(1, n, d, generator=g, dtype=torch.float64)


def _outlier(n):
    x = _normal(n)
    x[0, 7] = 1e8
    return x


CLOUDS = {
    "identical": torch.ones(1, 300, 2, dtype=torch.float64),
    "on a line": _normal(300)[..., :1] * torch.tensor([1.0, -2.0], dtype=torch.float64),
    "one": _normal(1),
    "two": _normal(2),
}


def _assert_agrees(q, k, v, logits, tolerance=TOLERANCE):
    found, wanted = (e.average(q, k, v, logits) for e in (Tree(tolerance), Dense()))
    assert (found - wanted).norm(dim=-1).max() <= 3 * tolerance * v.norm(dim=-1).max()
    logs = [e.log_sum(q, k, logits) for e in (Tree(tolerance), Dense())]
    assert (logs[0] - logs[1]).abs().max() <= 3 * tolerance


@pytest.mark.parametrize("kind", CLOUDS)
def test_degenerate_clouds(kind):
    x = CLOUDS[kind]
    _assert_agrees(x, x, x, torch.zeros(x.shape[:-1], dtype=torch.float64))


def test_one_outlier_at_1e8_among_the_keys():
    # queries short enough that rounding leaves room
    q, k = 1e-8 * _normal(300), _outlier(300)
    _assert_agrees(q, k, _normal(300, seed=1), torch.zeros(1, 300, dtype=torch.float64))


@pytest.mark.parametrize("size", [1e4, 1e-12])
def test_large_and_small_exponents(size):
    q, k = _normal(400), _normal(400, seed=1)
    q = q * size / (q.norm(dim=-1).max() * k.norm(dim=-1).max())
    _assert_agrees(q, k, _normal(400, seed=2), torch.zeros(1, 400, dtype=torch.float64))


def test_weights_from_1e_minus_300_to_1():
    logits = torch.linspace(-300, 0, 400, dtype=torch.float64)[None] * math.log(10)
    _assert_agrees(_normal(400), _normal(400, seed=1), _normal(400, seed=2), logits)


@pytest.mark.parametrize(("queries", "keys"), [(1, 900), (900, 1), (3, 700), (700, 3)])
def test_keys_unlike_queries_in_number(queries, keys):
    logits = torch.zeros(1, keys, dtype=torch.float64)
    _assert_agrees(_normal(queries), _normal(keys, seed=1), _normal(keys, seed=2), logits)


@pytest.mark.parametrize("name", ["q", "k", "v", "logits"])
def test_nan_is_refused(name):
    parts = {"q": _normal(3), "k": _normal(3), "v": _normal(3), "logits": _normal(3)[..., 0]}
    parts[name] = torch.full_like(parts[name], torch.nan)
    with pytest.raises(NotFinite, match="NaN or infinity"):
        Tree().average(*parts.values())


def test_a_tolerance_below_rounding_is_refused_with_the_smallest_possible():
    q, flat = 1e4 * _normal(50), torch.zeros(1, 50, dtype=torch.float64)
    with pytest.raises(EngineUnsupported, match="leaves") as error:
        Tree(1e-13).average(q, q, q, flat)
    least = float(str(error.value).partition("leaves ")[2].split(". ")[0])
    Tree(1.1 * least).average(q, q, q, flat)


def test_a_single_precision_answer_is_rounded_once():
    q, k, v = (_normal(500, seed=i).float() for i in range(3))
    flat = torch.zeros(1, 500)
    centre = k.mean(dim=-2, keepdim=True)
    wanted = Dense().average(q.double(), (k - centre).double(), v.double(), flat.double())
    found = Tree(1e-10).average(q, k, v, flat)
    unit = torch.finfo(torch.float32).eps / 2
    assert (found - wanted).abs().max() <= unit * wanted.abs().max() + 1e-9


def test_the_report_of_a_log_sum_has_its_bound():
    x = _normal(3_000)
    with collecting() as reports:
        Tree(1e-6).log_sum(x, x, torch.zeros(1, 3_000, dtype=torch.float64))
    assert 0 < reports[0].log_bound < 1e-6
    assert reports[0].bound == 0


@pytest.mark.parametrize("engine", [Tree(), Monomials()])
@pytest.mark.parametrize("size", [1e-310, 1e-170, 1e160, 1e300])
def test_values_of_any_size_keep_their_relative_bound(engine, size):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(1, 400, 2, generator=g, dtype=torch.float64) / 2
    flat = torch.zeros(1, 400, dtype=torch.float64)
    with collecting() as reports:
        found = engine.average(x, x, x * size, flat)
    wanted = Dense().average(x, x, x * size, flat)
    off = float(((found - wanted) / size).norm(dim=-1).max())
    assert off <= reports[0].bound / size * (1 + 1e-3) + 1e-13
    assert 0 < reports[0].bound / size < 1e-6
    assert 0 < reports[0].log_bound < 1e-6


@pytest.mark.parametrize("name", ["auto", "tree", "monomials", "rbm"])
@pytest.mark.parametrize("tolerance", [0.0, -1.0, 0.2, math.nan])
def test_what_is_no_tolerance_is_refused_by_every_engine_that_takes_one(name, tolerance):
    refusal = f"Engine '{name}' takes a tolerance above 0|engine '{name}' takes a finite number"
    with pytest.raises(InvalidValue, match=refusal):
        ENGINES.build(f"{name}:tolerance={tolerance}")


def test_no_tolerance_is_offered_where_none_would_do():
    x = _outlier(300)
    with pytest.raises(EngineUnsupported, match=r"rounding alone leaves .*Use engine 'direct'"):
        Tree().average(x, x, x, torch.zeros(1, 300, dtype=torch.float64))


@pytest.mark.parametrize("engine", [Tree(), Monomials()])
def test_infinite_logits_are_refused_by_name(engine):
    x, logits = _normal(20) / 2, torch.zeros(1, 20, dtype=torch.float64)
    logits[0, 3] = math.inf
    with pytest.raises(NotFinite, match=f"Engine '{engine.name}' needs finite tokens"):
        engine.log_sum(x, x, logits)
