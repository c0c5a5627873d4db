"""`vlasov train`: what it writes, prints and refuses; the training itself is a stand-in."""

import json
import sys
from pathlib import Path

import pytest
from lra_grids import layers_of, made_result

from vlasov.errors import InvalidValue
from vlasov.experiments import lra_work
from vlasov.experiments.lra_arms import Arm
from vlasov.lra.training_result import write_result

DRAWN = ("listops", "--size", "tiny", "--train-examples", "8", "--out", "run")
SMALL = (*DRAWN, "--no-figures")
ARMS = ("--diffusion", "none,after-embedding:1,2", "--diffusion", "after-mlp")


@pytest.fixture(autouse=True)
def trainer(monkeypatch):
    """Writes a made-up result for each run; those of the seeds in it fail."""
    failing = set()

    def train(recipe, splits, **given):
        if given["seed"] in failing:
            raise InvalidValue("No luck. Try again.")
        name = str(given["diffusions"])
        given["folder"].mkdir(parents=True, exist_ok=True)
        accuracy = 0.8 + 0.001 * given["seed"] * len(name) + 0.02 * (name != "none")
        write_result(given["folder"], made_result(accuracy, **layers_of(Arm(name))))

    monkeypatch.setattr(lra_work, "train", train)
    return failing


def test_a_grid_is_tables_pictures_and_words(call):
    result = call("train", *DRAWN, *ARMS, "--seeds", "2")
    assert result.exit_code == 0, result.stderr
    names = {path.name for path in Path("run").iterdir()}
    assert {"accuracy.png", "gains.png", "response.png", "training.png"} <= names
    assert {"paired.csv", "runs.csv", "curves.csv", "alphas.csv", "tables.md", "table-10.csv",
            "listops"} <= names  # fmt: skip
    for words in (
        "ListOps, after-embedding:1,2: ",
        "No test of significance",
        "6 of 6 runs ended",
        "floor",
    ):
        assert words in result.output
    assert "curves" not in result.output.split("Files:")[0]
    assert "100 %" in result.stderr
    assert "\r" not in result.stderr


def test_one_arm_and_one_seed_are_a_single_run(call):
    result = call("train", *SMALL)
    assert result.exit_code == 0, result.stderr
    assert (Path("run") / "listops" / "none" / "seed-0" / "result.json").exists()
    assert "1 of 1 runs ended" in result.output


def test_no_name_of_an_arm_is_cut(call):
    result = call("train", *SMALL, "--diffusion", "none,after-embedding:1,after-embedding:1,2,4")
    assert "…" not in result.stdout


def test_one_json_object(call):
    found = json.loads(call("train", *SMALL, *ARMS, "--json", "--quiet").stdout)
    assert found["result"]["status"] == "finished"
    assert found["config"]["diffusion"] == "none,after-embedding:1,2 after-mlp"


def test_a_failed_run_shows_in_the_exit_status(call, trainer):
    trainer.add(1)
    result = call("train", *SMALL, "--seeds", "2")
    assert result.exit_code == 1
    assert "Failed: ListOps, none, seed 1: No luck. Try again." in result.output
    again = call("train", "--resume", "--out", "run", "--no-figures", "--quiet")
    assert (again.exit_code, again.stdout) == (1, "")
    assert "No luck. Try again." in again.stderr


def test_a_run_is_kept_resumed_or_written_over(call):
    assert call("train", *SMALL).exit_code == 0
    again = call("train", *SMALL)
    assert again.exit_code == 2
    assert "already holds a run" in again.stderr
    assert (
        call("train", "--resume", "--out", "run", "--workers", "2", "--no-figures").exit_code == 0
    )
    other = call("train", "--resume", "--out", "run", "--epochs", "7")
    assert other.exit_code == 2
    assert "'epochs' of 'listops' is 7 and was 2" in other.stderr
    stale = Path("run") / "listops" / "none" / "seed-0" / "stale"
    stale.touch()
    assert call("train", *SMALL, "--overwrite").exit_code == 0
    assert not stale.exists()


def test_a_finished_grid_goes_on_with_more_seeds_and_arms(call):
    assert call("train", *SMALL).exit_code == 0
    kept = Path("run") / "listops" / "none" / "seed-0" / "result.json"
    before = kept.stat().st_mtime_ns
    wider = ("--resume", "--out", "run", "--no-figures", "--seeds", "2")
    result = call("train", *wider, "--diffusion", "none,after-mlp")
    assert result.exit_code == 0, result.stderr
    assert "4 of 4 runs ended" in result.output
    assert kept.stat().st_mtime_ns == before
    again = call("train", "--resume", "--out", "run", "--no-figures")
    assert "4 of 4 runs ended" in again.output
    lost = call("train", *wider, "--diffusion", "after-mlp")
    assert lost.exit_code == 2
    assert "the diffusion 'none' is no longer asked for" in lost.stderr


def test_plot_draws_again(call):
    call("train", *SMALL)
    assert not (Path("run") / "accuracy.png").exists()
    result = call("plot", "run")
    assert result.exit_code == 0, result.stderr
    assert (Path("run") / "accuracy.png").exists()


def test_a_missing_package_is_named(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning.fabric", None)
    result = call("train", *SMALL, "--devices", "2")
    assert result.exit_code == 2
    assert "vlasov[train]" in result.stderr
    assert not Path("run").exists()


@pytest.mark.parametrize(("words", "sentence"), [
    ((), "needs a task but got none"),
    (("listop",), "did you mean 'listops'"),
    (("listops", "--size", "huge"), "Unknown size 'huge'"),
    (("listops", "--diffusion", "after-embeding"), "did you mean 'after-embedding'"),
    (("listops", "--diffusion", ""), "names at least one arm but is empty"),
    (("listops", "--diffusion", "none", "--diffusion", " "), "names at least one arm but is"),
    (("text", "--data", ""), "'data' names a folder but is empty"),
    (("listops", "--seeds", "0"), "'seeds' must be at least 1"),
    (("listops", "--workers", "0"), "'workers' must be at least 1"),
    (("listops", "--epochs", "two"), "'epochs' takes a whole number"),
    (("listops", "--diffusion", "after-embedding:5000"), "strides up to 5000 but the shortest"),
    (("listops", "--diffusion", "after-mlp;steps=99999999999"), "between 1 and 1000"),
    (("listops:shortest=-1",), "bounds of a list"),
    (("text",), "needs a folder of data"),
    (("text", "--data", "nowhere"), "nowhere"),
    (("listops", "--resume"), "--resume goes on with the run in --out DIR"),
])  # fmt: skip
def test_a_refusal_is_a_sentence_and_writes_nothing(call, words, sentence):
    result = call("train", *words, *(() if "--resume" in words else ("--out", "run")))
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not Path("run").exists()
