"""`vlasov ablate`: what it writes, prints and refuses."""

import csv
from pathlib import Path

import pytest

SMALL = ("--width", "8", "--n", "6", "--depth", "3", "--seeds", "1", "--out", "run")


def test_the_grid_is_a_table_a_page_and_words(call):
    result = call("ablate", *SMALL, "--mlp", "none", "--substeps", "2")
    assert result.exit_code == 0, result.stderr
    assert (Path("run") / "ablation.png").exists()
    with (Path("run") / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["scheme"], row["residual"]) for row in rows] == [
        (scheme, residual) for residual in ("on", "off") for scheme in ("none", "pre", "post")
    ] + [("pde", "flow")]
    assert {"norm", "token_cosine", "input_cosine", "gradient"} <= rows[0].keys()
    with (Path("run") / "ablation.csv").open() as file:
        layers = list(csv.DictReader(file))
    assert len(layers) == 7 * 4
    assert {"norm_low", "norm_high", "w2_to_pde", "update_ratio"} <= layers[0].keys()
    for word in ("token cosine", "collapses: token cosine above 0.99", "no norm, no residual"):
        assert word in result.output


def test_a_task_trains_the_grid(call):
    words = ("--task", "reverse", "--schemes", "pre", "--residuals", "on", "--rates", "1e-3,1e-2")
    result = call("ablate", *SMALL, "--heads", "2", "--steps", "4", "--batch", "2", *words)
    assert result.exit_code == 0, result.stderr
    assert (Path("run") / "training.png").exists()
    with (Path("run") / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["rate"] for row in rows] == ["0.001", "0.01"]
    assert {"first_loss", "last_loss", "first_gradient", "update_ratio"} <= rows[0].keys()
    for word in ("near chance", "stable: no seed diverged", "training.csv: 8 rows"):
        assert word in result.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--schemes pree", "did you mean 'pre'"),
        ("--schemes pre,,post", "'schemes' needs a value on both sides of a comma"),
        ("--schemes sphere:radius=-1", "The radius of 'sphere' is above 0"),
        ("--schemes ngpt:gain=true", "'ngpt' is RMS without gain"),
        ("--heads 3", "no multiple of 3"),
        ("--seeds 0", "'seeds' must be at least 1"),
        ("--rates 1e-3,1e-2", "'rates' is a choice for training"),
        ("--pde diffusion:rate=8", "stable for rates of the parts up to"),
        ("--pde stability:rate=inf", "takes a finite number but got 'inf'"),
        ("--schemes ngpt:alpha=nan", "takes a finite number but got 'nan'"),
        ("--causal --pde attention,diffusion:rate=0.1", "a causal mask hides"),
        ("--mlp none --residuals mlp", "The grid needs a network but has none"),
    ],
)
def test_a_refusal_is_a_sentence_and_writes_nothing(call, words, sentence):
    result = call("ablate", *SMALL, *words.split())
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not Path("run").exists()
