"""A grid without training: which runs are done, where, in which order, and what is kept."""

import sys
from dataclasses import replace

import pytest
from lra_grids import layers_of, made_result

from vlasov.errors import InvalidValue, MissingExtra, RunFolderError, Unsupported
from vlasov.experiments import lra_work
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.monitor import Watch
from vlasov.experiments.report import read_report
from vlasov.lra.training_result import write_result

ARMS = "none after-embedding:1,2"
SMALL = LraConfig(tasks=("listops",), size="tiny", train_examples=8, diffusion=ARMS, seeds=2)


class Trainer:
    """Stands for `train`: writes a made-up result and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.fails = set()

    def __call__(self, recipe, splits, **given):
        name = str(given["diffusions"])
        self.asked.append((recipe.task, name, given["seed"]))
        if (name, given["seed"]) in self.fails:
            raise InvalidValue("No luck. Try again.")
        given["folder"].mkdir(parents=True, exist_ok=True)
        accuracy = 0.4 + 0.1 * given["seed"] + 0.01 * (name != "none")
        result = made_result(accuracy, **layers_of(Arm(name)))
        write_result(given["folder"], result)
        return result


@pytest.fixture
def trainer(monkeypatch):
    """No run is trained."""
    one = Trainer()
    monkeypatch.setattr(lra_work, "train", one)
    return one


def run(folder, config=SMALL, **given):
    return carry_out(TRAIN, config, folder, **given)


def test_seeds_come_first_and_every_run_has_its_folder(trainer, tmp_path):
    report = run(RunFolder.create(tmp_path / "run"))
    assert trainer.asked == [
        ("listops", arm, seed) for seed in (0, 1) for arm in ("none", "after-embedding:1,2")
    ]
    assert (tmp_path / "run/listops/after-embedding-1-2/seed-1/result.json").exists()
    assert report.result["status"] == "finished"
    assert report.result["message"] == "4 of 4 runs ended."
    assert report.result["hours"] == 0.04
    assert report.tables["paired"].column("difference")[1] == pytest.approx(0.01)
    assert "ListOps, after-embedding:1,2:" in "\n".join(report.notes)


def test_the_tables_of_the_paper_are_written(trainer, tmp_path):
    run(RunFolder.create(tmp_path / "run"))
    names = {path.name for path in (tmp_path / "run").glob("table*")}
    assert names == {"tables.md", *(f"table-{k:02d}.csv" for k in (6, 7, 10, 11, 12, 14, 15))}
    assert "0.4500" in (tmp_path / "run/tables.md").read_text()


def test_a_report_reads_back(trainer, tmp_path):
    report = run(RunFolder.create(tmp_path / "run"))
    assert read_report(RunFolder.open(tmp_path / "run")) == report


def test_an_interrupted_grid_says_what_it_has_and_goes_on(trainer, tmp_path):
    stopping = Watch(interrupted=lambda: len(trainer.asked) >= 2)
    first = run(RunFolder.create(tmp_path / "run"), watch=stopping)
    assert first.result["status"] == "interrupted"
    assert first.result["message"] == ("2 of 4 runs ended. The others can be done with --resume.")
    assert len(first.tables["runs"].rows) == 2
    whole = run(RunFolder.open(tmp_path / "run"), resume=True)
    assert len(trainer.asked) == 4
    assert whole.result["status"] == "finished"
    assert len(whole.tables["runs"].rows) == 4


def test_a_grid_goes_on_with_its_own_settings_only(trainer, tmp_path):
    run(RunFolder.create(tmp_path / "run"), watch=Watch(interrupted=lambda: True))
    other = LraConfig(tasks=("listops",), size="tiny", train_examples=9, diffusion=ARMS, seeds=2)
    with pytest.raises(RunFolderError, match="settings are not those of the run"):
        run(RunFolder.open(tmp_path / "run"), other, resume=True)


def test_a_run_that_fails_is_told_and_the_others_go_on(trainer, tmp_path):
    trainer.fails = {("none", 0)}
    report = run(RunFolder.create(tmp_path / "run"))
    assert len(trainer.asked) == 4
    assert report.result["status"] == "incomplete"
    assert report.result["message"] == (
        "4 of 4 runs ended. Failed ones are tried again with --resume."
    )
    assert "Failed: ListOps, none, seed 0: No luck. Try again." in report.notes
    assert report.tables["paired"].column("n") == [1, 1]


def test_a_failed_run_is_tried_again_where_the_grid_goes_on(trainer, tmp_path):
    trainer.fails = {("none", 0)}
    stopping = Watch(interrupted=lambda: len(trainer.asked) == 3)
    run(RunFolder.create(tmp_path / "run"), watch=stopping)
    trainer.fails, trainer.asked = set(), []
    report = run(RunFolder.open(tmp_path / "run"), resume=True)
    assert [(name, seed) for _, name, seed in trainer.asked] == [
        ("none", 0), ("after-embedding:1,2", 1)
    ]  # fmt: skip
    assert report.result["status"] == "finished"


def test_a_missing_package_is_refused_and_nothing_is_left(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "lightning.fabric", None)
    config = LraConfig(tasks=("listops",), size="tiny", train_examples=8, devices=2)
    with pytest.raises(MissingExtra, match=r"vlasov\[train\]"):
        run(RunFolder.create(tmp_path / "run"), config)
    assert not (tmp_path / "run").exists()


def test_a_grid_leaves_out_what_a_model_cannot_have(trainer, tmp_path):
    config = LraConfig(tasks=("listops",), size="tiny", train_examples=8, grid=True)
    report = run(RunFolder.create(tmp_path / "run"), config)
    arms = {arm for _, arm, _ in trainer.asked}
    assert "across-heads:1" in arms
    assert "across-heads:4" not in arms
    assert any("across-heads:4 is left out" in note for note in report.notes)


def test_an_arm_named_by_hand_that_a_model_cannot_have_is_refused(trainer, tmp_path):
    config = LraConfig(
        tasks=("listops",), size="tiny", train_examples=8, diffusion="across-heads:4"
    )
    with pytest.raises(InvalidValue):
        run(RunFolder.create(tmp_path / "run"), config)
    assert not (tmp_path / "run").exists()


def test_a_warm_up_that_is_cut_is_a_note(trainer, tmp_path):
    config = LraConfig(tasks=("listops",), size="tiny", train_examples=8, warmup=1000.0)
    report = run(RunFolder.create(tmp_path / "run"), config)
    assert any("warm-up" in note for note in report.notes)


def test_without_data_or_folder_nothing_is_run(tmp_path):
    with pytest.raises(Unsupported):
        TRAIN.prepare(LraConfig(tasks=("text",), size="tiny"))
    with pytest.raises(InvalidValue, match="writes its runs to a folder but got none"):
        TRAIN.prepare(SMALL)(Context())


@pytest.mark.slow
@pytest.mark.timeout(900)  # six processes, each of which loads torch
def test_real_runs_in_processes_end_the_same_whether_or_not_they_were_stopped(tmp_path):
    config = replace(SMALL, train_examples=64, epochs=12, patience=0, seeds=1, workers=2)
    whole = run(RunFolder.create(tmp_path / "whole"), config)
    begun = Watch(interrupted=lambda: any((tmp_path / "stopped").glob("*/*/*/steps.csv")))
    first = run(RunFolder.create(tmp_path / "stopped"), config, watch=begun)
    assert first.result["status"] == "interrupted"
    again = run(RunFolder.open(tmp_path / "stopped"), config, resume=True)
    for name in ("train_loss", "validation_loss", "validation_accuracy"):
        assert again.tables["curves"].column(name) == whole.tables["curves"].column(name)
    assert again.tables["paired"] == whole.tables["paired"]
