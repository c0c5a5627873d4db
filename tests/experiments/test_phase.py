"""`vlasov phase`: every cell against what is known of it, and two routes to one system."""

import pytest
import torch

import vlasov as vl
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.phase_cells import cells_of
from vlasov.experiments.phase_config import PhaseConfig
from vlasov.experiments.phase_run import PHASE


def _run(**settings):
    return PHASE.prepare(PhaseConfig(**settings))(Context())


def _rows(report):
    cells = report.tables["cells"]
    return [dict(zip(cells.columns, row, strict=True)) for row in cells.rows]


def _cells(**settings):
    config = PhaseConfig(**settings)
    return cells_of(config, vl.TransformerPDE(config.attention))


def test_diagonal_maps_decouple_into_lines():
    rows = _rows(_run(x="a1=-1:1:5", y="a2=-1:1:5", hold=("anisotropy=3",), time=5000.0))
    assert len(rows) == 25
    for row in rows:
        rates = [2 * row["a1"] * 1.5, 2 * row["a2"] * 0.5]  # Sigma_0 = diag(1.5, 0.5)
        if max(rates) > 0:
            assert row["outcome"] == "blow-up"
            assert row["blow_up_time"] == pytest.approx(1 / max(rates), rel=1e-6)
        else:
            assert row["outcome"] == "converged"
            assert row["rank"] == rates.count(0.0)
            assert row["blow_up_time"] is None


def test_k_injective_l2_attention_diverges_without_a_blow_up():
    rows = _rows(_run(attention="l2", x="a1=-1:1:3", y="a2=-1:1:3", time=200.0))
    kinds = {(row["a1"], row["a2"]): row["outcome"] for row in rows}
    assert kinds[1.0, 1.0] == kinds[1.0, -1.0] == "exponential divergence"
    assert kinds[0.0, 0.0] == "converged"
    assert "blow-up" not in kinds.values()


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=0.5", "softmax+l2"])
def test_an_axis_of_beta_is_the_beta_of_the_equation(attention):
    heads = 1 + attention.count("+")
    maps = {"query": "0.4,0.6;-0.2,-0.5", "value": "0.8,0;0.3,-0.4", "heads": heads}
    along = _rows(_run(attention=attention, x="beta=0.5:2:2", time=1.5, **maps))
    for row in along:
        config = {"attention": attention, "beta": row["beta"], "time": 1.5, **maps}
        (alone, _) = _rows(_run(x="scale=1:2:2", **config))
        assert row["outcome"] == alone["outcome"]
        for name in ("blow_up_time", "trace") if row["outcome"] == "blow-up" else ("trace",):
            # the trace of a blow-up is where a step happens to end
            slack = 1e-5 if name == "blow_up_time" or row["outcome"] != "blow-up" else 10.0
            assert row[name] == pytest.approx(alone[name], rel=slack)


def test_parameters_of_the_start_keep_their_meaning():
    cells = _cells(x="anisotropy=0.5:4:3", y="tilt=0:90:3", hold=("scale=2",), cov=(3.0, 1.0))
    cov = cells.systems.cov
    torch.testing.assert_close(
        cov.diagonal(dim1=-2, dim2=-1).sum(-1), torch.full((9,), 8.0).double()
    )
    axis = torch.deg2rad(cells.values["tilt"])
    along = torch.stack([axis.cos(), axis.sin()], -1)
    first = torch.einsum("ci,cij,cj->c", along, cov, along)
    torch.testing.assert_close(first / (8.0 - first), cells.values["anisotropy"])


def test_parameters_of_the_maps_keep_their_meaning():
    cells = _cells(x="angle=0:80:3", y="skew=0:2:2", hold=("a1=1,a2=-2,v1=3,v2=4",), d=3)
    maps = {name: one[:, 0] for name, one in cells.systems.maps.items()}
    score = maps["key"].mT @ maps["query"]
    expected = torch.diag(torch.tensor([1.0, -2.0, -2.0], dtype=torch.float64))
    torch.testing.assert_close((score + score.mT) / 2, expected.expand(6, 3, 3))
    torch.testing.assert_close(score[:, 1, 0] - score[:, 0, 1], 2 * cells.values["skew"])
    turn = torch.deg2rad(cells.values["angle"])
    axis = torch.stack([turn.cos(), turn.sin(), torch.zeros(6)], -1)
    torch.testing.assert_close((maps["value"] @ axis[..., None])[..., 0], 3 * axis)


def test_cells_with_their_own_noise_widen_at_their_own_rate():
    rows = _rows(_run(x="noise=0:1:3", hold=("scale=2",), value="0", time=3.0))
    assert [row["trace"] for row in rows] == pytest.approx(
        [2 * (2 + 2 * row["noise"] * row["followed_to"]) for row in rows], rel=1e-6
    )


def test_draws_with_identity_values_blow_up_by_the_sign_of_their_scores():
    report = _run(random=80, ensemble="identity", time=200.0, seed=5)
    arrays, rows = report.arrays, _rows(report)
    score = (arrays["key"].mT @ arrays["query"])[:, 0]
    inner = torch.linalg.cholesky(arrays["cov"])
    rates = torch.linalg.eigvalsh(inner.mT @ (score + score.mT) @ inner)[:, -1].tolist()
    for row, rate in zip(rows, rates, strict=True):
        assert (row["top_of_A_plus_AT"] > 0) == (rate > 0)
        assert (row["outcome"] == "blow-up") == (rate > 1 / 200.0)
        if row["outcome"] == "blow-up":
            assert row["blow_up_time"] == pytest.approx(1 / rate, rel=1e-5)
    assert any("V = I" in note and "agreed" in note for note in report.notes)


def test_clouds_under_linear_attention_end_as_the_law_does():
    settings = {"attention": "linear", "x": "a1=-1:1:3", "y": "v2=-1:1:3", "time": 2.0}
    law = _rows(_run(**settings))
    clouds = _rows(_run(**settings, n=12))
    for one, other in zip(law, clouds, strict=True):
        assert one["outcome"] == other["outcome"]
        if one["outcome"] != "blow-up":
            assert other["trace"] == pytest.approx(one["trace"], rel=1e-4)
        else:
            assert other["blow_up_time"] == pytest.approx(one["blow_up_time"], rel=1e-2)


def test_a_variant_without_reduction_is_followed_as_clouds():
    report = _run(attention="sigmoid", x="beta=-1:1:3", time=1.0)
    assert report.result["followed_as"] == "clouds of 64 tokens"
    # beta = 0: every token moves by half the mean, which is 0
    assert _rows(report)[1]["outcome"] == "converged"


def test_chunks_and_interruptions_change_no_number(tmp_path):
    settings = {"x": "a1=-1:1:4", "y": "v2=-0.5:1:3", "hold": ("angle=40",), "time": 20.0}
    whole = _run(**settings, chunk=100)
    config = PhaseConfig(**settings, chunk=5)
    calls = iter([False, True])
    folder = RunFolder.create(tmp_path / "run")
    stopped = carry_out(PHASE, config, folder, watch=Watch(interrupted=lambda: next(calls)))
    assert stopped.result["status"] == "interrupted"
    resumed = carry_out(PHASE, config, RunFolder.open(tmp_path / "run"), resume=True)
    for one, other in zip(_rows(whole), _rows(resumed), strict=True):
        assert one["outcome"] == other["outcome"]
        assert one["trace"] == pytest.approx(other["trace"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ensemble", "d", "seen"),
    [
        ("identity", 2, (169, 8, 23)),
        ("identity", 3, (145, 0, 5)),
        ("gram", 2, (100, 68, 32)),
        ("normal", 2, (95, 90, 15)),
    ],
)
def test_proportions_are_those_of_the_specification(ensemble, d, seen):
    report = _run(random=200, ensemble=ensemble, d=d, time=1000.0, seed=1)
    kinds = [row["outcome"] for row in _rows(report)]
    converged, moving = kinds.count("converged"), kinds.count("still moving")
    found = (len(kinds) - converged - moving, converged, moving)
    for ours, theirs in zip(found, seen, strict=True):
        share = (ours + theirs) / (200 + sum(seen))
        spread = (share * (1 - share) * (1 / 200 + 1 / sum(seen))) ** 0.5
        assert abs(ours / 200 - theirs / sum(seen)) <= 3.5 * spread
