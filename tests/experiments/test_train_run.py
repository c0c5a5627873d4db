"""`vlasov ablate --task`: its grid, its seeds, its resuming, and what it refuses."""

import math

import pytest
import torch

from vlasov.errors import InvalidValue, UnknownName, Unsupported
from vlasov.experiments.ablate_cases import cases_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.ablate_sizes import Sizes, sizes_of
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.train_run import Training
from vlasov.experiments.train_tasks import task_of

SMALL = {"width": 8, "n": 5, "depth": (2,), "heads": 2, "seeds": 2, "steps": 12, "batch": 4}
ONE = {"schemes": ("pre",), "residuals": ("on",)}


def config(**settings):
    return AblateConfig(**{"task": "reverse", **SMALL, **settings})


def run(**settings):
    return ABLATE.prepare(config(**settings))(Context())


def test_every_network_is_trained_at_every_rate_from_every_seed():
    report = run(rates=(1e-2, 1e-3), steps=3, schemes=("none", "post"))
    summary = report.tables["summary"]
    keys = [row[:5] for row in summary.rows]
    assert keys == [
        (2, "relu", scheme, residual, rate)
        for residual in ("on", "off")
        for scheme in ("none", "post")
        for rate in (1e-3, 1e-2)
    ]
    assert len(report.tables["training"].rows) == 8 * 3
    assert len(report.tables["verdicts"].rows) == 4
    # weights and batches of a seed are the same at every rate
    first = summary.column("first_loss")
    assert first[::2] == first[1::2]
    assert report.result["message"].startswith("4 networks trained at 2 learning rates")


def test_bands_are_intervals_of_the_mean_over_the_seeds():
    one, other = (run(seed=seed, seeds=1, **ONE).tables["sweep"] for seed in (0, 1))
    both = run(**ONE).tables["sweep"]
    first, second = (table.column("last_loss")[0] for table in (one, other))
    mean, half = (first * second) ** 0.5, 12.7062 * abs(math.log(first / second)) / 2  # Student's
    assert half > 0
    assert both.column("last_loss") == [pytest.approx(mean)]
    assert both.column("last_loss_low") == [pytest.approx(mean * math.exp(-half), rel=1e-3)]
    assert both.column("last_loss_high") == [pytest.approx(mean * math.exp(half), rel=1e-3)]
    assert one.column("last_loss_low") == [None]


def test_one_network_is_no_networks():
    message = run(seeds=1, steps=1, **ONE).result["message"]
    assert message == "1 network trained at 1 learning rate, each from 1 seed."


def test_a_rate_beyond_all_bounds_diverges_and_is_reported():
    report = run(rates=(1e-3, 1e3), schemes=("none",), residuals=("on",))
    assert report.tables["sweep"].column("diverged_seeds") == [0, 2]
    assert report.tables["sweep"].column("last_loss")[1] is None
    steps = report.tables["summary"].column("diverged_at")
    assert steps[0] is None
    assert 1 <= steps[1] < 12
    (words,) = report.tables["verdicts"].column("verdict")
    assert "stable for rate 0.001" in words
    assert f"diverged at step {steps[1]} at rate 1000" in words


def test_float32_trains_to_the_losses_of_float64_within_its_digits():
    ends = [run(dtype=dtype, **ONE).tables["sweep"].column("last_loss") for dtype in (
        "float32", "float64")]  # fmt: skip
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)
    assert ends[0] != ends[1]


@pytest.mark.parametrize("task", ["copy", "characters"])
def test_small_networks_learn(task):
    report = run(task=task, n=6, batch=16, width=16, steps=60, rates=(1e-2,), seeds=1, **ONE)
    (last,) = report.tables["sweep"].column("last_loss")
    assert last < 0.9 * report.result["chance"]
    (words,) = report.tables["verdicts"].column("verdict")
    assert words.startswith("learns")


def test_an_interrupted_training_goes_on_with_the_same_numbers(tmp_path):
    whole = run(**ONE, rates=(1e-3, 1e-2))
    settings = config(**ONE, rates=(1e-3, 1e-2))
    calls = iter([False] * 2 + [True])
    folder = RunFolder.create(tmp_path / "run")
    stopped = carry_out(ABLATE, settings, folder, watch=Watch(interrupted=lambda: next(calls)))
    assert stopped.result["status"] == "interrupted"
    assert len(list((tmp_path / "run" / "pieces").iterdir())) == 2
    resumed = carry_out(ABLATE, settings, RunFolder.open(tmp_path / "run"), resume=True)
    for name, table in whole.tables.items():
        assert resumed.tables[name].rows == table.rows


def network(task):
    """A small network as it is trained on a task."""
    settings = config(task=task, **ONE)
    return Training(settings, task_of(task)).model(cases_of(settings)[0], 0)


def test_v62_no_score_of_a_language_model_depends_on_a_later_character(generator):
    model = network("characters")
    x = torch.randn(1, 6, 8, generator=generator, dtype=torch.float64).requires_grad_()
    scores = model.scores(x)
    for k in range(5):
        slope = torch.autograd.grad(scores[0, k].square().sum(), x, retain_graph=True)[0][0]
        assert slope[k + 1 :].abs().max() == 0.0
        assert slope[: k + 1].abs().amax(-1).min() > 0


def test_v62_the_test_sees_a_leak(generator):
    x = torch.randn(1, 6, 8, generator=generator, dtype=torch.float64).requires_grad_()
    scores = network("reverse").scores(x)
    assert torch.autograd.grad(scores[0, 0].sum(), x)[0][0, 1:].abs().amax(-1).min() > 0


def test_sizes_that_are_left_open_depend_on_the_task():
    assert sizes_of(AblateConfig()) == Sizes((24,), width=64, heads=1, n=64)
    assert sizes_of(AblateConfig(task="reverse")) == Sizes((8,), width=32, heads=2, n=12)
    assert sizes_of(AblateConfig(task="characters", width=16)).n == 32
    assert sizes_of(AblateConfig(task="characters", width=16)).width == 16


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"task": "revrse"}, UnknownName, "did you mean 'reverse'"),
        ({"causal": True}, InvalidValue, "needs tokens that a causal mask hides"),
        ({"task": "characters", "attention": "sinkhorn"}, Unsupported, "bistochastic"),
        ({"task": "characters", "n": 5000}, InvalidValue, "The sample text has"),
        ({"rates": (0.0,)}, InvalidValue, "Learning rates are finite numbers above 0"),
        ({"rates": ()}, InvalidValue, "Learning rates are finite numbers above 0"),
        ({"steps": 0}, InvalidValue, "'steps' must be at least 1"),
        ({"batch": 0}, InvalidValue, "'batch' must be at least 1"),
        ({"substeps": 2}, Unsupported, "'substeps' has no meaning"),
        ({"pde": ("none",)}, Unsupported, "'pde' has no meaning"),
        ({"task": None, "batch": 32}, InvalidValue, "'steps' is a choice for training"),
        ({"schemes": ("own",)}, UnknownName, "Unknown norm"),
    ],
)
def test_settings_without_meaning_are_refused(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        ABLATE.prepare(config(**settings))
