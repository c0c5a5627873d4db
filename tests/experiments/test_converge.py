"""The experiment of `vlasov converge`: numbers, blocks, verdicts, warnings, refusals."""

import dataclasses
import math

import pytest
import torch

import vlasov.experiments.converge_study as study_module
from vlasov.errors import InvalidValue, NotFinite, UnknownName
from vlasov.experiments.converge import CONVERGE, prepare
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_notes import warnings
from vlasov.experiments.converge_study import study_of
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch

TINY = {"ns": (8, 16), "seeds": (4,), "time": 0.2, "distance_seeds": 4, "reference_size": 64}


def report(**settings):
    return prepare(ConvergeConfig(**(TINY | settings)))(Context())


def test_the_numbers_of_a_cloud_do_not_depend_on_the_others(monkeypatch):
    few = report(seeds=(3,), distance_seeds=3)
    monkeypatch.setattr(study_module, "_TOKENS", 32)  # several blocks
    many = report(ns=(8, 16, 32), seeds=(5,))
    for name in ("mean_n16", "coupling_n8", "distance_n8"):
        assert torch.equal(few.arrays[name], many.arrays[name][:3])
    other = report(seed=1)
    assert not torch.allclose(other.arrays["mean_n8"][:3], few.arrays["mean_n8"])


def test_an_interrupted_study_ends_with_the_same_numbers(tmp_path):
    config = ConvergeConfig(**TINY)
    calls = iter([False, True])
    watch = Watch(interrupted=lambda: next(calls))
    folder = RunFolder.create(tmp_path / "run")
    assert carry_out(CONVERGE, config, folder, watch=watch).result["status"] == "interrupted"
    found = carry_out(CONVERGE, config, RunFolder.open(tmp_path / "run"), resume=True)
    assert found.tables == prepare(config)(Context()).tables


def test_every_size_may_have_its_number_of_clouds():
    found, same = report(seeds=(6, 3)), report()
    assert [len(found.arrays[name]) for name in ("mean_n8", "mean_n16")] == [6, 3]
    assert torch.equal(found.arrays["mean_n8"][:4], same.arrays["mean_n8"])
    assert any("6 of 8, 3 of 16 tokens" in note for note in found.notes)
    assert not any("Clouds:" in note for note in same.notes)


def test_the_preset_of_the_rate_reaches_a_million():
    preset = ConvergeConfig(**CONVERGE.presets["mean-field-rate"])
    assert (preset.ns[0], preset.ns[-1]) == (1000, 10**6)
    few = {"ns": (64, 256), "seeds": (4,), "reference_size": 1024, "engine": "dense"}
    found = prepare(dataclasses.replace(preset, **few))(Context())
    assert found.result["distance_to"] == "the limit"
    assert 0 < found.result["reference_error_share"] < 0.05


@pytest.mark.parametrize(
    "settings",
    [
        {"d": 1},
        {"d": 1, "mask": "causal"},
        {"mask": "causal", "attention": "sigmoid"},
        {"law": "cube", "p": 2.0},
        {"geometry": "sphere", "law": "von-mises"},
        {"geometry": "sphere", "d": 3, "dtype": "float32"},
    ],
    ids=str,
)
def test_every_kind_of_limit_gives_finite_errors(settings):
    found = report(**settings)
    assert found.result["status"] == "finished"
    assert all(bool(errors.isfinite().all()) for errors in found.arrays.values())
    assert [len(found.arrays[name]) for name in ("mean_n8", "distance_n8")] == [4, 4]
    assert len(found.notes) >= 6


def test_sinkhorn_moves_the_mean_by_the_error_of_its_start():
    found = report(attention="sinkhorn", law="ball")
    source = study_of(ConvergeConfig(law="ball")).source
    start = torch.stack([source.draw(8, (0, 8, k, 0)) for k in range(4)])
    # the mean of any law follows e^t, that of the 64 tokens of the reference too
    exact = math.exp(0.2) * (start.mean(-2) - source.nodes(64).mean(0)).norm(dim=-1)
    assert torch.allclose(found.arrays["mean_n8"], exact, rtol=1e-5)


def test_wide_tokens_show_the_bias_of_empirical_distances():
    found = report(d=8, ns=(32, 64))
    table = found.tables["journey"]
    exact = table.column("exact")[0]
    assert all(value > 2 * exact for value in table.column("journey"))
    # W_2 between N(0, 1/4) and its image: the difference of the standard deviations, times sqrt 8
    end = 0.25 / (1 - 2 * 0.25 * 0.2)
    assert exact == pytest.approx(math.sqrt(8) * (math.sqrt(end) - 0.5), rel=1e-6)


def test_measured_growth_is_below_the_bound_of_theory():
    found = report(law="ball:radius=0.5", d=1)
    assert 0 < math.log(found.result["stability_ratio"]) < found.result["log_stability_bound"]
    assert any("below the bound" in note for note in found.notes)
    sinkhorn = report(law="ball:radius=0.5", d=1, attention="sinkhorn")
    assert sinkhorn.result["log_stability_bound"] is None


def test_times_near_a_blow_up_and_heavy_tails_are_announced():
    # V = A = I, variance 1/4: t* = 2, and the variance passes 0.7071 at t = 2 - 1/1.4142
    early, late = (
        list(warnings(study_of(ConvergeConfig(d=1, time=time)))) for time in (1.1, 1.35)
    )
    assert not any("t*" in note or "R A R" in note for note in early)
    assert any("t* = 2" in note for note in late)
    assert any("0.7" in note and "infinite" in note for note in late)
    assert any("compact" in note for note in early)
    compact = study_of(ConvergeConfig(d=1, law="cube"))
    assert list(warnings(compact)) == []


def test_a_coarse_reference_is_announced():
    found = report(law="cube", d=2, ns=(64, 128), reference_size=4)
    assert any("coarse" in note for note in found.notes)


def test_clouds_that_end_early_leave_their_size_out():
    # linear attention, one token: x' = x^3 blows up at 1/(2 x^2); small clouds do so early
    settings = {"attention": "linear", "d": 1, "time": 1.1, "seeds": (12,)}
    found = report(**settings, ns=(2, 64, 128))
    assert any("clouds of 2 tokens ended before" in note for note in found.notes)
    assert set(found.tables["errors"].column("n")) == {64, 128}
    with pytest.raises(NotFinite, match="earlier time"):
        report(**settings, ns=(2, 3))


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"ns": (100,)}, "two or more rising"),
        ({"ns": (100, 50)}, "two or more rising"),
        ({"mask": "causal", "ns": (100, 202)}, "202 is no multiple"),
        ({"seeds": (1,)}, "'seeds' takes one number from 2 on"),
        ({"seeds": (4, 4)}, "one for each of the 5 'ns'"),
        ({"distance_seeds": 0}, "'distance-seeds'"),
        ({"time": 0.0}, "'time' must be above 0"),
        ({"p": 0.5}, "'p' must be at least 1"),
        ({"noise": "independent:diffusion=1"}, "'noise'"),
        ({"law": "ball", "cov": (1.0, 1.0)}, "gaussian law"),
        ({"law": "cube", "geometry": "sphere"}, "does not live on a sphere"),
        ({"law": "von-mises", "d": 3}, "circle"),
    ],
)
def test_settings_out_of_range_are_refused(settings, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        study_of(ConvergeConfig(**settings))


def test_unknown_words_are_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="quantised"):
        ConvergeConfig(reference="quantized")
    with pytest.raises(UnknownName, match="gaussian"):
        study_of(ConvergeConfig(law="gausian"))
