"""The experiment `energy`: what it measures along a run, and probes of convexity."""

import math

import pytest
import torch
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.energy_config import EnergyConfig
from vlasov.experiments.energy_run import ENERGY
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.settings import from_mapping
from vlasov.pde import velocity

FLAT = {"geometry": "euclid", "d": 2, "n": 8, "time": 0.4, "step": 0.1, "frames": 3}


def report_of(**settings: object):
    return ENERGY.prepare(from_mapping(EnergyConfig, settings))(Context())


@pytest.mark.parametrize(
    "choices",
    [
        {"attention": "softmax", "query": "negative-identity"},
        {"attention": "unnormalised", "query": "-0.5"},
        {"attention": "linear", "value": "-1"},
        {"attention": "sigmoid:bias=-1"},
        {"attention": "sinkhorn:eps=0.5", "cov": (0.2, 0.1)},
        {"attention": "l2", "terms": ("decay",)},
        {"attention": "softmax", "geometry": "sphere", "d": 3},
    ],
    ids=lambda choices: f"{choices['attention']}-{choices.get('geometry', 'euclid')}",
)
def test_energies_fall_at_the_rate_of_differences_along_the_flow(choices):
    report = report_of(**FLAT | choices)
    result, table = report.result, report.tables["energy"]
    assert result["status"] == "finished"
    assert result["gradient_flow"]
    assert result["monotone"]
    assert result["gap_over_largest_dissipation"] < 1e-9
    energies = torch.tensor(table.column("energy"))
    assert bool((energies.diff() < 0).all())
    assert (energies[0].item(), energies[-1].item()) == pytest.approx(
        (result["energy_at_start"], result["energy_at_end"])
    )


def test_the_run_is_that_of_simulate():
    report = report_of(**FLAT)
    cloud = vl.Cloud.gaussian(8, d=2, seed=0)
    run = vl.simulate(vl.TransformerPDE(), cloud, until=0.4, step=0.1, integrator="rk4")
    assert_close(report.arrays["points"], run.points[-1])


def test_single_precision_balances_to_its_rounding():
    report = report_of(**FLAT, dtype="float32", query="negative-identity")
    assert report.arrays["points"].dtype == torch.float32
    assert report.result["monotone"]
    assert report.result["gap_over_largest_dissipation"] < 1e-4


def test_a_nonsymmetric_a_goes_up_under_a_probe_alone():
    settings = dict(ENERGY.presets["nonsymmetric"]) | {"n": 20, "frames": 4}
    with pytest.raises(Unsupported, match=r"symmetric A = beta K\^T Q.*--probe"):
        report_of(**settings | {"probe": False})
    report = report_of(**settings)
    assert not report.result["monotone"]
    assert not report.result["gradient_flow"]
    assert report.result["energy_at_end"] > report.result["energy_at_start"]
    assert report.notes[0].startswith("Only a probe, with B = I")


def test_pure_l2_is_refused_but_can_be_watched():
    with pytest.raises(Unsupported, match="without the drift"):
        report_of(**FLAT, attention="l2")
    assert (
        report_of(**FLAT, attention="l2", probe=True).result["gap_over_largest_dissipation"] > 0.1
    )


def test_a_probe_needs_a_functional():
    with pytest.raises(Unsupported, match="hardmax"):
        report_of(**FLAT, attention="hardmax", probe=True)
    with pytest.raises(Unsupported, match="noise"):
        report_of(**FLAT, noise="independent", probe=True)


def test_convexity_needs_an_energy():
    with pytest.raises(InvalidValue, match="'convexity' needs an equation with an energy"):
        report_of(**FLAT, mask="causal", probe=True, convexity=True)


def test_a_blow_up_ends_the_frames():
    report = report_of(**FLAT | {"attention": "linear", "time": 4.0, "frames": 21})
    assert report.result["status"] == "blow-up"
    assert len(report.tables["energy"].rows) < 21
    assert report.result["monotone"]


def test_an_energy_that_overflows_ends_the_frames():
    report = report_of(**FLAT | {"time": 4.0, "frames": 9})
    assert report.result["status"] == "overflow"
    assert "exceeds the largest number" in report.result["message"]
    assert all(math.isfinite(value) for value in report.tables["energy"].column("energy"))


def test_convexity_gathers_the_probes():
    report = report_of(
        **dict(ENERGY.presets["indefinite"]) | {"n": 10, "frames": 2, "draws": 60, "step": 0.2}
    )
    rows = {row[0]: row for row in report.tables["convexity"].rows}
    assert rows["midpoints of covariances"][3] > 0
    assert rows["midpoints of clouds"][3] > 0
    assert rows["clouds of one token"][2] == 10
    assert report.result["lambda_at_most"] == min(row[4] for row in rows.values() if row[1] == "F")
    assert any("The energy is not convex" in note for note in report.notes)
    assert report.arrays["covariances_worst"].shape == (2, 2, 2)


def test_on_the_sphere_only_the_run_is_probed():
    report = report_of(n=10, time=0.4, step=0.1, frames=3, convexity=True)
    assert [row[0] for row in report.tables["convexity"].rows] == ["D along the run"]
    assert sum(note.startswith("Left out, ") for note in report.notes) == 3


def test_definite_a_contradicts_nothing():
    settings = FLAT | {"attention": "linear", "query": "1", "value": "-1", "draws": 40}
    report = report_of(**settings, convexity=True)
    assert report.result["lambda_at_most"] > 0
    assert any("Nothing contradicts convexity" in note for note in report.notes)


def test_an_interrupted_run_goes_on_with_the_same_numbers(tmp_path):
    settings = from_mapping(EnergyConfig, FLAT | {"convexity": True, "draws": 10})
    calls = iter([False, False, True])
    folder = RunFolder.create(tmp_path / "run")
    stopped = carry_out(ENERGY, settings, folder, watch=Watch(interrupted=lambda: next(calls)))
    assert stopped.result["status"] == "interrupted"
    resumed = carry_out(ENERGY, settings, RunFolder.open(tmp_path / "run"), resume=True)
    assert resumed.tables == ENERGY.prepare(settings)(Context()).tables


def test_the_first_rate_is_the_squared_speed_of_a_plain_metric():
    report = report_of(**FLAT, attention="linear")
    cloud = vl.Cloud.gaussian(8, d=2, seed=0)
    speed = velocity(vl.TransformerPDE("linear"), cloud).square().sum(-1).mean().item()
    assert report.tables["energy"].column("dissipation")[0] == pytest.approx(speed)


@pytest.mark.parametrize(
    ("choice", "phrase"),
    [
        ({"n": 0}, "'n' must be at least 1"),
        ({"frames": 1}, "'frames' must be at least 2"),
        ({"time": 0.0}, "'time' must be above 0"),
        ({"step": -0.1}, "'step' must be above 0"),
        ({"dtype": "float16"}, "float16"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(choice, phrase):
    with pytest.raises(vl.VlasovError, match=phrase):
        EnergyConfig(**choice)
