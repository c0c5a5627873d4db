"""`vlasov reduce`: the report against closed forms, and what it refuses."""

import dataclasses

import pytest
import torch

from vlasov.errors import InvalidValue, NotFinite, UnknownName, Unsupported
from vlasov.experiments.experiment import Context
from vlasov.experiments.reduce_config import ReduceConfig, with_saddle
from vlasov.experiments.reduce_run import REDUCE
from vlasov.experiments.settings import from_mapping

GROWTH = torch.tensor([[1.0, 0.8], [0.8, -2.0]], dtype=torch.float64)  # A + A^T of the saddle


def _run(**settings):
    return REDUCE.prepare(ReduceConfig(**settings))(Context())


def _preset(name, **settings):
    return REDUCE.prepare(from_mapping(ReduceConfig, {**REDUCE.presets[name], **settings}))(
        Context()
    )


def test_the_default_blows_up_where_the_closed_form_does():
    report = _run(exact=True, frames=21)
    end = 1 / float(torch.linalg.eigvalsh(GROWTH)[-1])
    assert report.result["outcome"] == "blow-up"
    assert report.result["blow_up_time"] == pytest.approx(end, rel=1e-6)
    assert report.result["exact_blow_up_time"] == pytest.approx(end, rel=1e-12)
    assert report.result["largest_difference"] < 1e-8  # rtol 1e-9 over a few dozen steps
    assert report.result["rank"] == 1


def test_small_eigenvalues_stay_exact_beside_those_that_blow_up():
    law = _run(frames=21).tables["law"]
    *_, t = law.column("t")
    low = float(torch.linalg.eigvalsh(GROWTH)[0])
    assert law.column("trace")[-1] > 1e8
    assert law.column("eigenvalue_2")[-1] == pytest.approx(1 / (1 - t * low), rel=1e-6)


def test_the_integer_counter_example_blows_up_though_s_is_negative():
    report = _preset("counter-example")
    assert report.result["blow_up_time"] == pytest.approx(1.374304, abs=1e-6)
    assert any(note.startswith("Holds: S = VA + A^T V^T <= 0") for note in report.notes)


def test_l2_attention_with_singular_keys_blows_up():
    report = _preset("l2-blow-up")
    assert report.result["blow_up_time"] == pytest.approx(2.5, rel=1e-6)
    assert any(note.startswith("Does not hold: K injective") for note in report.notes)


def test_a_law_clusters_on_the_line_that_the_theory_names():
    report = _preset("line")
    assert (report.result["outcome"], report.result["rank"]) == ("converged", 1)
    start = torch.diag(torch.tensor([1.0, 0.6], dtype=torch.float64))
    kernel = torch.tensor([[-0.6], [0.8]], dtype=torch.float64)
    limit = kernel @ torch.linalg.inv(kernel.mT @ torch.linalg.inv(start) @ kernel) @ kernel.mT
    # |Sigma(t) - limit| = O(1/t) at t = 3000
    torch.testing.assert_close(report.arrays["cov"][-1], limit, atol=1e-3, rtol=0)
    spectrum = report.tables["spectrum"]
    axis = [spectrum.column("direction_1")[0], spectrum.column("direction_2")[0]]
    assert axis == pytest.approx([-0.6, 0.8], abs=1e-3)


def test_a_preset_converges_to_a_point():
    report = _preset("clustering")
    assert (report.result["outcome"], report.result["rank"]) == ("converged", 0)


def test_statements_agree_with_the_run():
    notes = _run(exact=True).notes
    assert sum("In this run agreed" in note for note in notes) >= 2
    assert not any("violated" in note for note in notes)


@pytest.mark.parametrize("attention", ["softmax", "l2", "linear"])
def test_independent_positions_make_a_mask_idle(attention):
    settings = {"attention": attention, "query": "-1,0.3;0,-0.5", "time": 1.0, "frames": 5}
    bare = _run(**settings)
    masked = _run(**settings, mask="causal", positions="independent")
    assert torch.equal(masked.arrays["cov"], bare.arrays["cov"])


def test_noise_alone_widens_the_law_linearly():
    report = _run(value="0", noise="independent:diffusion=0.3", time=2.0, frames=5)
    eye = torch.eye(2, dtype=torch.float64)
    exact = (1 + 2 * 0.3 * report.arrays["times"])[:, None, None] * eye
    torch.testing.assert_close(report.arrays["cov"], exact, rtol=1e-9, atol=0)


def test_frames_of_long_runs_are_even_in_the_logarithm():
    config = {"query": "-1", "time": 99.0}
    times = _run(**config).arrays["times"]
    steps = torch.log1p(times).diff()
    torch.testing.assert_close(steps, steps.mean().expand_as(steps))
    assert _run(**config, frames=4).arrays["times"].tolist() == pytest.approx([0, 33, 66, 99])


def test_a_fixed_step_written_as_text_is_a_number():
    report = _run(step="0.5", integrator="euler", time=1.0, query="-1", frames=3)
    step = 1 - 0.5 * 1.0  # Euler on X' = -Sigma X from I
    assert report.arrays["cov"][1, 0, 0].item() == pytest.approx(step**2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attention": "sigmoid"}, "Gaussian"),
        ({"attention": "unnormalised"}, "Gaussian"),
        ({"attention": "hardmax"}, "Gaussian"),
        ({"attention": "softmax+sigmoid", "heads": 2}, "Gaussian"),
        ({"mask": "causal"}, "independent"),
        ({"terms": ("mlp:hidden=4",)}, "Gaussian"),
        ({"noise": "common:diffusion=1"}, "common"),
        ({"exact": True, "query": "random", "value": "random"}, "closed form"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_reduced_is_refused_by_name(settings, words):
    with pytest.raises(Unsupported, match=words):
        REDUCE.prepare(ReduceConfig(**settings))


def test_a_reference_past_the_blow_up_is_refused():
    with pytest.raises(InvalidValue, match=r"ends at t\* = 0\.83333"):
        REDUCE.prepare(ReduceConfig(exact=True, save_at=(0.5, 1.0)))
    report = _run(exact=True, save_at=(0.25, 0.5))
    assert report.tables["law"].column("t")[:3] == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"d": 0}, InvalidValue, "'d' must be at least 1"),
        ({"time": 0.0}, InvalidValue, "'time' must be above 0"),
        ({"frames": 1}, InvalidValue, "'frames' must be at least 2"),
        ({"atol": -1.0}, InvalidValue, "'atol'"),
        ({"frames": 3, "save_at": (1.0,)}, InvalidValue, "exclude each other"),
        ({"save_at": (3.0,)}, InvalidValue, "'save-at' takes times"),
        ({"step": "small"}, InvalidValue, "'step' takes a number"),
        ({"dtype": "float16"}, UnknownName, "dtype"),
        ({"positions": "shuffled"}, InvalidValue, "positions"),
        ({"attention": "l2", "beta": -1.0}, NotFinite, "beta < 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_settings_out_of_range_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        REDUCE.prepare(ReduceConfig(**settings))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_saddle_grows_along_one_line(d):
    written = with_saddle(ReduceConfig(d=d)).query
    rows = torch.tensor([[float(x) for x in row.split(",")] for row in written.split(";")])
    assert rows.shape == (d, d)
    assert int((torch.linalg.eigvalsh(rows + rows.mT) > 0).sum()) == 1
    assert with_saddle(dataclasses.replace(ReduceConfig(d=d), query="2")).query == "2"
