"""The figures of the paper end as its theory says, at sizes that take seconds."""

import dataclasses
import math

import pytest
import torch

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.paper import FIGURES, Request, figure
from vlasov.experiments.paper.cone import Grid, coordinates
from vlasov.experiments.paper.flows import KINDS, ends, paths
from vlasov.experiments.paper.lines import attraction, nearest_line
from vlasov.experiments.paper.ranks import Ranks
from vlasov.experiments.paper.variants import equation


def _drawn(name, seed=0):
    recipe = FIGURES[name]
    return recipe.draw(Request(seed=seed).generator(recipe.stream))


def _ended(name, panel, *, as_published=False):
    """The ends of a panel from a coarse grid, and their outcomes in words."""
    recipe, drawn = FIGURES[name], _drawn(name)
    pde = equation(panel, drawn, as_published=as_published)
    start = Grid(6, recipe.grid.reach).covariances()
    found = ends(pde, start, until=recipe.until, speed=recipe.speed)
    return found, [KINDS[kind] for kind in found["kind"].tolist()]


@pytest.mark.parametrize("panel", FIGURES["to-zero"].panels)
def test_covariances_vanish_as_one_over_time(panel):
    pde = equation(panel, _drawn("to-zero"), as_published=False)
    start = Grid(3, 0.5).covariances()
    early, late = (ends(pde, start, until=t, speed=1e-6)["last"] for t in (1e4, 1e5))
    ratio = coordinates(early)[:, 2] / coordinates(late)[:, 2]
    torch.testing.assert_close(ratio, torch.full_like(ratio, 10.0), rtol=0.02, atol=0.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_softmax_and_l2_reach_the_same_point_of_the_line(seed):
    drawn, start = _drawn("to-line", seed), Grid(4, 0.5).covariances()
    line = torch.tensor([-drawn.query[0, 1], drawn.query[0, 0]])
    wanted = line[:, None] * line / (line @ start.inverse() @ line)[:, None, None]
    for panel in ("softmax", "l2"):
        found = ends(equation(panel, drawn, as_published=False), start, until=1e6, speed=1e-6)
        torch.testing.assert_close(found["last"], wanted, rtol=0.0, atol=1e-5)


def test_an_empty_head_leaves_a_plane_of_limits():
    drawn, start = _drawn("to-plane"), Grid(4, 0.5).covariances()
    pde = equation("two-head", drawn, as_published=False)
    found = ends(pde, start, until=300.0, speed=1e-6)
    last = found["last"]
    assert found["rank"].tolist() == [2] * len(start)
    assert (last @ drawn.query[0])[:, 0].abs().max() < 1e-8
    torch.testing.assert_close(last[:, 1, 1], start[:, 1, 1], rtol=1e-8, atol=0.0)
    plane = FIGURES["to-plane"].plane(drawn)
    assert (coordinates(last) @ plane).abs().max() < 1e-8


@pytest.mark.parametrize(
    ("panel", "as_published"), [("softmax", False), ("l2", False), ("l2", True)]
)
def test_limits_lie_on_the_two_isotropic_directions(panel, as_published):
    score = _drawn("two-lines").score
    lines = FIGURES["two-lines"].lines(_drawn("two-lines"))
    assert (lines @ (score + score.mT) * lines).sum(-1).abs().max() < 1e-12
    found, kinds = _ended("two-lines", panel, as_published=as_published)
    kept = torch.tensor([kind == "converged" for kind in kinds])
    assert kept.double().mean() >= 0.9
    assert set(found["rank"][kept].tolist()) == {1}
    index, angle = nearest_line(found["last"][kept], lines)
    assert angle.max() < 0.01
    assert set(index.tolist()) == {0, 1}


def test_softmax_blows_up_at_the_known_time():
    score, start = _drawn("blow-up").score / math.sqrt(2.0), Grid(6, 1.0).covariances()
    exact = 1 / torch.linalg.eigvals(start @ (score + score.mT)).real.amax(-1)
    found, _ = _ended("blow-up", "softmax")
    torch.testing.assert_close(found["end"], exact, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("panel", FIGURES["blow-up"].panels)
def test_every_start_diverges_and_softmax_at_rank_one(panel):
    found, kinds = _ended("blow-up", panel)
    softmax = panel in {"softmax", "two-head"}
    assert set(kinds) == {"blow-up" if softmax else "exponential divergence"}
    assert not softmax or found["spectrum"][:, 1].max() < 1e-5


def test_sinkhorn_grows_at_a_frozen_shape_inside_the_disc():
    # For large covariances RC^TR is the orthogonal factor U of RAR, and in the plane
    # U + U^T = 2 cos(angle) I: the law grows alike in all directions.
    drawn = _drawn("blow-up")
    pde = equation("sinkhorn", drawn, as_published=False)
    start = 1e5 * Grid(5, 0.5).covariances()
    found = ends(pde, start, until=3.0, speed=1e-6)
    before, after = coordinates(start), coordinates(found["last"])
    assert (after[:, 2] > 50 * before[:, 2]).all()
    shapes = after[:, :2] / after[:, 2:]
    torch.testing.assert_close(shapes, before[:, :2] / before[:, 2:], rtol=0.0, atol=1e-3)


@pytest.mark.parametrize(
    ("panel", "grown"), [("softmax", "blow-up"), ("l2", "exponential divergence")]
)
def test_a_mixed_diagram_has_both_outcomes(panel, grown):
    found, kinds = _ended("mixed", panel)
    assert set(kinds) == {"converged", grown}
    assert set(found["rank"].tolist()) == {1}
    drawn = _drawn("mixed")
    lines = FIGURES["mixed"].lines(drawn)
    index, angle = nearest_line(found["last"], lines)
    kept = torch.tensor([kind == "converged" for kind in kinds])
    assert angle[kept].max() < 0.01
    (only,) = set(index[kept].tolist())
    assert attraction(drawn.score, drawn.value, lines[only]) < 0


def test_two_heads_converge_or_blow_up():
    _, kinds = _ended("mixed", "two-head")
    assert set(kinds) >= {"converged", "blow-up"}


def test_oddities_of_the_scripts_are_told():
    recipe = dataclasses.replace(FIGURES["to-plane"], oddity="Odd.", published=("one-head",))
    plain, odd = (recipe.report(Request(size=1, as_published=one)) for one in (False, True))
    assert "Odd." not in plain.notes
    assert odd.notes[-1] == "Odd."
    assert odd.result["panels"] == ["one-head"]


@pytest.mark.parametrize("as_published", [False, True])
def test_ranks_once_converged_are_at_most_half(as_published):
    recipe = Ranks(values=("identity",), dimensions=(3, 4))
    report = recipe.report(Request(size=20, as_published=as_published))
    rows = report.tables["ranks"].rows
    assert len(rows) == 2 * 2 * 20
    ended = [row for row in rows if row[4]]
    assert len(ended) >= 0.9 * len(rows)
    assert all(row[5] <= (row[2] + 1) // 2 for row in ended)
    assert sum(row[5] == (row[2] + 1) // 2 for row in ended) > len(ended) / 2
    assert report.result["above"] == 0


@pytest.mark.parametrize("panel", ["clustering", "blow-up"])
def test_ellipses_follow_the_closed_form(panel):
    from vlasov.experiments.paper.ellipses import _parameters

    report, drawn = figure("ellipses"), _parameters(panel)
    times, cov = report.arrays[f"{panel}_times"], report.arrays[f"{panel}_cov"]
    both = (drawn.score + drawn.score.mT) / math.sqrt(2.0)
    wanted = (cov[0].inverse() - times[:, None, None] * both).inverse()
    torch.testing.assert_close(cov, wanted, rtol=1e-6, atol=1e-9)
    top = float(torch.linalg.eigvals(cov[0] @ both).real.max())
    assert panel == "clustering" or abs(report.result["blow_up_time"] * top - 1) < 1e-6


def test_paths_are_recorded_in_the_time_of_each_system():
    drawn, start = _drawn("blow-up"), Grid(4, 0.6).covariances()
    pde = equation("softmax", drawn, as_published=False)
    found = ends(pde, start, until=1e3, speed=1e-6)
    assert {KINDS[kind] for kind in found["kind"].tolist()} == {"blow-up"}
    path = paths(pde, start, found["end"])
    torch.testing.assert_close(path[0], coordinates(start))
    assert bool(path[:-1].isfinite().all())  # the last frame is at the end itself
    radii = path[-2, :, :2].norm(dim=-1) / path[-2, :, 2]
    assert (path[-2, :, 2] > 1e5).all()
    assert (radii > 1 - 1e-4).all()


def test_a_figure_is_a_function_of_its_seed():
    first, again = (figure("to-plane", size=1, seed=3) for _ in range(2))
    assert first.tables == again.tables
    assert not torch.equal(first.arrays["query"], _drawn("to-plane", 4).query)


def test_what_is_no_figure_is_refused():
    with pytest.raises(UnknownName, match="two-lines"):
        figure("two-line")
    with pytest.raises(InvalidValue, match="size of at least 1 but got 0"):
        figure("ranks", size=0)
    with pytest.raises(UnknownName, match="variant"):
        equation("sigmoid", _drawn("blow-up"), as_published=False)
