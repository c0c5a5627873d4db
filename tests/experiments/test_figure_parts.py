"""What the figures are made of: lines in the plane, splits into heads, scales, the grid."""

import math

import pytest
import torch

from vlasov.experiments.paper.cone import Grid, coordinates
from vlasov.experiments.paper.lines import attraction, growth, isotropic, kernel, nearest_line
from vlasov.experiments.paper.parameters import (
    Parameters,
    mixed,
    one_row,
    spreading,
    two_lines,
)
from vlasov.experiments.paper.ranks import Criterion
from vlasov.experiments.paper.variants import equation
from vlasov.gaussian import Gaussian
from vlasov.reduction.stationary import covariance_velocity


def _normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.fixture
def drawn(generator):
    return Parameters(*(_normal(generator, 2, 2) for _ in range(3)))


@pytest.fixture
def law(generator):
    root = _normal(generator, 2, 2)
    return Gaussian(torch.zeros(2, dtype=torch.float64), root @ root.mT)


def _velocity(matrix):
    return matrix + matrix.mT


@pytest.mark.parametrize("as_published", [False, True])
def test_the_scale_of_l2(drawn, law, as_published):
    cov, root = law.cov, math.sqrt(2.0)
    squares = drawn.key.mT @ drawn.key / (1.0 if as_published else root)
    eye = torch.eye(2, dtype=torch.float64)
    tilt = torch.linalg.inv(eye + 2 * cov @ squares)
    wanted = _velocity(2 * drawn.value @ tilt @ cov @ (drawn.score / root) @ cov)
    found = covariance_velocity(equation("l2", drawn, as_published=as_published), law)
    torch.testing.assert_close(found, wanted)


def test_the_scale_of_heads_and_of_softmax(drawn, law):
    cov = law.cov
    split = sum(
        torch.diag(torch.eye(2, dtype=torch.float64)[h])
        @ drawn.value
        @ cov
        @ drawn.key[h : h + 1].mT
        @ drawn.query[h : h + 1]
        @ cov
        for h in range(2)
    )
    plain = drawn.value @ cov @ drawn.score @ cov / math.sqrt(2.0)
    cases = (
        ("two-head", True, split),
        ("two-head", False, split / math.sqrt(2.0)),
        *(("softmax", published, plain) for published in (False, True)),
        *(("one-head", published, plain) for published in (False, True)),
    )
    for name, published, wanted in cases:
        found = covariance_velocity(equation(name, drawn, as_published=published), law)
        torch.testing.assert_close(found, _velocity(wanted))


def test_sinkhorn_of_the_scripts_has_no_scale(drawn, law):
    found = covariance_velocity(equation("sinkhorn", drawn, as_published=True), law)
    scaled = Parameters(math.sqrt(2.0) * drawn.query, drawn.key, drawn.value)
    same = covariance_velocity(equation("sinkhorn", scaled, as_published=False), law)
    torch.testing.assert_close(found, same)


def test_isotropic_directions(generator):
    for _ in range(20):
        drawn = two_lines(generator)
        lines = isotropic(drawn.score)
        torch.testing.assert_close(lines.norm(dim=-1), torch.ones(2, dtype=torch.float64))
        assert (lines @ drawn.score * lines).sum(-1).abs().max() < 1e-12
        assert all(attraction(drawn.score, drawn.value, line) < 0 for line in lines)


def test_attraction_is_the_rate_of_the_rank_one_flow(generator):
    drawn = two_lines(generator)
    line = isotropic(drawn.score)[0]
    h = 1e-6
    moved = line + h * _normal(generator, 2)
    pull = moved @ drawn.score @ moved
    change = pull * drawn.value @ moved
    rate = 2 * (moved @ (drawn.score + drawn.score.mT) / 2 @ change) / pull
    assert float(rate) == pytest.approx(attraction(drawn.score, drawn.value, line), rel=1e-4)


def test_growth_of_eigenvectors():
    score = torch.tensor([[1.0, 0.0], [0.0, -2.0]], dtype=torch.float64)
    value = torch.diag(torch.tensor([3.0, 1.0], dtype=torch.float64))
    assert growth(score, value) == pytest.approx([3.0, -2.0])
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    assert growth(score, turn) == []


def test_draws_keep_their_promises(generator):
    for _ in range(10):
        spread = spreading(generator)
        assert torch.linalg.eigvalsh(spread.score + spread.score.mT).min() > 0
        row = one_row(generator)
        assert float(row.query.norm()) == pytest.approx(1.0)
        assert float(kernel(row.query) @ row.query[0]) == pytest.approx(0.0, abs=1e-15)
    both = mixed(generator)
    pulls = [attraction(both.score, both.value, line) for line in isotropic(both.score)]
    rates = growth(both.score, both.value)
    assert min(pulls) < 0 < max(pulls)
    assert min(rates) < 0 < max(rates)


def test_the_nearest_line():
    lines = torch.eye(2, dtype=torch.float64)
    angle = math.radians(80.0)
    axis = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
    index, degrees = nearest_line((axis[:, None] * axis)[None], lines)
    assert index.tolist() == [1]
    assert float(degrees) == pytest.approx(10.0)


def test_the_grid_is_the_cone_at_trace_one():
    start = Grid(20, 1.0).covariances()
    u, w, trace = coordinates(start).unbind(-1)
    assert (torch.linalg.eigvalsh(start) > 0).all()
    torch.testing.assert_close(trace, torch.ones_like(trace))
    line = torch.linspace(-1, 1, 20, dtype=torch.float64)
    inside = (line[:, None].square() + line.square()) < 1 - 1e-9
    assert len(start) == int(inside.sum())
    assert (u.square() + w.square() < 1).all()
    thinned = Grid(20, 1.0, every=2)
    assert 0.2 < float(thinned.recorded().double().mean()) < 0.3
    assert len(Grid(10, 0.5).covariances()) == 100


def test_criteria_count_eigenvalues():
    cov = torch.diag(torch.tensor([10.0, 0.11, 0.05], dtype=torch.float64))[None]
    assert Criterion.of("l2", as_published=True).rank(cov).tolist() == [2]
    assert Criterion.of("l2", as_published=False).rank(cov).tolist() == [2]
    assert Criterion.of("l2", as_published=False).rank(cov**2).tolist() == [1]
    speed = torch.tensor([7e-5], dtype=torch.float64)
    trace = torch.tensor([10.0], dtype=torch.float64)
    assert Criterion.of("softmax", as_published=True).converged(speed, trace).item()
    assert not Criterion.of("l2", as_published=True).converged(speed, trace).item()
