"""`vlasov ablate`: what it writes, prints and refuses."""

import csv
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("unchecked_types")

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--schemes pree", "did you mean 'pre'"),
        ("--heads 3", "no multiple of 3"),
        ("--seeds 0", "'seeds' must be at least 1"),
    ],
)
def test_a_refusal_is_a_sentence_and_writes_nothing(call, words, sentence):
    result = call("ablate", *SMALL, *words.split())
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not Path("run").exists()
