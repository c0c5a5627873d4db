"""Grids that go on with more tasks, arms or seeds, and what is no more of the same."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from lra_grids import made_result

from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments import lra_work
from vlasov.experiments.experiment import carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.lra_widening import lost_or_changed
from vlasov.lra.training_result import write_result

SMALL = LraConfig(tasks=("listops",), size="tiny", train_examples=8, seeds=2, seed=1)
ARMS = "none after-embedding:1"


def stand_in(found):
    """Instead of training: notes the runs asked for."""

    def train(recipe, splits, **given):
        found.append((recipe.task, str(given["diffusions"]), given["seed"]))
        given["folder"].mkdir(parents=True, exist_ok=True)
        write_result(given["folder"], made_result(0.4))
        return made_result(0.4)

    return train


@pytest.fixture
def asked(monkeypatch):
    """The runs that would have been trained."""
    found = []
    monkeypatch.setattr(lra_work, "train", stand_in(found))
    return found


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder of a finished grid of two runs."""
    folder = tmp_path_factory.mktemp("ended") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lra_work, "train", stand_in([]))
        carry_out(TRAIN, SMALL, RunFolder.create(folder))
    return folder


@pytest.fixture
def grid(ended, tmp_path):
    """A copy of it."""
    return RunFolder.open(shutil.copytree(ended, tmp_path / "run"))


def resumed(grid, config):
    return carry_out(TRAIN, config, grid, resume=True)


@pytest.mark.parametrize(("change", "new"), [
    ({"seed": 0, "seeds": 4}, [("listops", "none", seed) for seed in (0, 3)]),
    ({"diffusion": ARMS}, [("listops", "after-embedding:1", seed) for seed in (1, 2)]),
    ({"tasks": ("pathfinder", "listops"), "train_examples": "listops=8,pathfinder=12"},
     [("pathfinder", "none", seed) for seed in (1, 2)]),
])  # fmt: skip
def test_only_the_runs_that_are_new_are_done(grid, asked, change, new, made_pathfinder):
    config = replace(SMALL, **change)
    if "pathfinder" in config.names:
        config = replace(config, data=str(made_pathfinder), generate=("listops",))
    report = resumed(grid, config)
    assert asked == new
    assert report.result["status"] == "finished"
    assert len(report.tables["runs"].rows) == 2 + len(new)


@pytest.fixture(scope="session")
def made_pathfinder(tmp_path_factory):
    """A few images."""
    from vlasov.lra import TASKS

    folder = tmp_path_factory.mktemp("images") / "pathfinder32"
    TASKS.build("pathfinder").make(folder, count=16, seed=0)
    return folder


@pytest.mark.parametrize(("change", "words"), [
    ({"seeds": 1}, "seed 2 is no longer asked for and was run"),
    ({"seed": 2}, "seed 1 is no longer asked for"),
    ({"diffusion": "after-mlp"}, "the diffusion 'none' is no longer asked for"),
    ({"train_examples": 9}, "'limit' of 'listops' is 9 and was 8"),
    ({"size": "cpu"}, "'size' of 'listops' is cpu and was tiny"),
    ({"tasks": ("listops:cut=true",)}, "'listops' is now 'listops:cut=true'"),
    ({"tasks": ("text",), "data": "x"}, "the task 'listops' is no longer asked for"),
    ({"data": "x"}, "the examples of 'listops' are now read and were generated"),
    ({"devices": 2}, "'devices' is 2 and was 1"),
])  # fmt: skip
def test_less_or_another_run_is_told(change, words):
    assert re.search(words, "; ".join(lost_or_changed(SMALL, replace(SMALL, **change))))


@pytest.mark.parametrize(
    "change", [{"seeds": 1}, {"train_examples": 9}, {"diffusion": "after-mlp"}]
)
def test_less_or_another_run_is_refused_and_nothing_is_lost(grid, asked, change):
    before = {path: path.read_bytes() for path in grid.path.glob("*.*")}
    with pytest.raises(RunFolderError, match=r"not those of the run in .* and was"):
        resumed(grid, replace(SMALL, **change))
    assert {path: path.read_bytes() for path in grid.path.glob("*.*")} == before
    assert not asked


def test_what_cannot_be_run_leaves_the_grid_as_it_was(grid):
    wider = replace(SMALL, diffusion="none across-heads:4")
    with pytest.raises(InvalidValue, match="across"):
        resumed(grid, wider)
    assert grid.has_result
    assert json.loads((grid.path / "config.json").read_text())["diffusion"] == ""


def test_the_same_settings_write_nothing(grid):
    before = (grid.path / "config.json").stat().st_mtime_ns
    resumed(grid, replace(SMALL))
    assert (grid.path / "config.json").stat().st_mtime_ns == before
    assert grid.has_result


def test_settings_that_no_number_depends_on_are_noted(grid):
    resumed(grid, replace(SMALL, workers=2))
    assert grid.config()["workers"] == 2
    assert grid.has_result
