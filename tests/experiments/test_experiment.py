"""Experiments other than simulations: reports on disk, pieces, interruption, resuming."""

import shutil
from dataclasses import dataclass

import pytest
import torch

from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments.experiment import Experiment, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run, load_simulation
from vlasov.experiments.monitor import Watch
from vlasov.experiments.report import Report, Table
from vlasov.experiments.settings import option


@dataclass(frozen=True)
class Settings:
    count: int = option(3, "How many.")
    seed: int = option(0, "Seed.")


def _prepare(config):
    if config.count < 1:
        raise InvalidValue("'count' must be at least 1.")

    def job(context):
        pieces = context.pieces(config.count)
        found = [
            pieces.get(f"part-{i}", lambda i=i: {"square": torch.tensor(float(i * i))})["square"]
            for i in range(config.count)
        ]
        table = Table.of_columns({"i": range(config.count), "square": [float(x) for x in found]})
        return Report(
            {"status": "finished", "message": "Done.", "largest": max(found)},
            {"squares": table},
            {"all": torch.stack(found)},
            ("A note.",),
        )

    return job


SQUARES = Experiment("squares", Settings, _prepare)


def _folder(tmp_path):
    return RunFolder.create(tmp_path / "run")


def test_a_report_comes_back_from_its_folder(tmp_path):
    report = carry_out(SQUARES, Settings(), _folder(tmp_path))
    found = load_run(tmp_path / "run")
    assert isinstance(found, Report)
    assert found.tables == report.tables
    assert found.notes == ("A note.",)
    assert torch.equal(found.arrays["all"], report.arrays["all"])
    assert not (tmp_path / "run" / "pieces").exists()
    with pytest.raises(RunFolderError, match="not of `vlasov simulate`"):
        load_simulation(tmp_path / "run")


def test_cells_keep_their_kind_and_digits():
    table = Table(("x", "n", "word", "flag", "none"), ((0.1 + 0.2, 3, "a,b", True, None),))
    found = Table.parse(table.text())
    assert found == table
    assert [type(cell) for cell in found.rows[0]] == [float, int, str, bool, type(None)]


def test_an_interrupted_experiment_goes_on_where_it_was(tmp_path):
    calls = iter([False, False, True])
    folder = _folder(tmp_path)
    stopped = carry_out(SQUARES, Settings(), folder, watch=Watch(interrupted=lambda: next(calls)))
    assert stopped.result["status"] == "interrupted"
    assert len(list((tmp_path / "run" / "pieces").iterdir())) == 2
    report = carry_out(SQUARES, Settings(), RunFolder.open(tmp_path / "run"), resume=True)
    assert report.tables["squares"].column("square") == [0.0, 1.0, 4.0]
    again = carry_out(SQUARES, Settings(), RunFolder.open(tmp_path / "run"), resume=True)
    assert again.tables == report.tables


def test_progress_reaches_one(tmp_path):
    seen = []
    carry_out(SQUARES, Settings(count=4), _folder(tmp_path), watch=Watch(progress=seen.append))
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_refused_settings_leave_no_folder_and_no_loss(tmp_path):
    with pytest.raises(InvalidValue, match="count"):
        carry_out(SQUARES, Settings(count=0), _folder(tmp_path))
    assert not (tmp_path / "run").exists()
    carry_out(SQUARES, Settings(), _folder(tmp_path))
    folder = RunFolder.create(tmp_path / "run", overwrite=True)
    with pytest.raises(InvalidValue, match="count"):
        carry_out(SQUARES, Settings(count=0), folder)
    assert load_run(tmp_path / "run").result["status"] == "finished"


def test_other_settings_or_another_experiment_do_not_resume(tmp_path):
    carry_out(SQUARES, Settings(), _folder(tmp_path))
    folder = RunFolder.open(tmp_path / "run")
    with pytest.raises(RunFolderError, match="settings"):
        carry_out(SQUARES, Settings(count=5), folder, resume=True)
    with pytest.raises(RunFolderError, match=r"vlasov squares`, not of `vlasov cubes"):
        carry_out(Experiment("cubes", Settings, _prepare), Settings(), folder, resume=True)


def test_a_missing_table_is_named(tmp_path):
    carry_out(SQUARES, Settings(), _folder(tmp_path))
    (tmp_path / "run" / "squares.csv").unlink()
    with pytest.raises(RunFolderError, match=r"squares\.csv"):
        load_run(tmp_path / "run")


def _fails_late(config):
    def job(context):
        context.pieces(2).get("one", lambda: {"x": torch.zeros(1)})
        raise InvalidValue("Found out late.")

    return job


def test_a_job_that_fails_late_gives_the_folder_back_as_it_was(tmp_path):
    carry_out(SQUARES, Settings(), _folder(tmp_path))
    before = {path.name for path in (tmp_path / "run").iterdir()}
    late = Experiment("squares", Settings, _fails_late)
    with pytest.raises(InvalidValue, match="late"):
        carry_out(late, Settings(), RunFolder.create(tmp_path / "run", overwrite=True))
    assert {path.name for path in (tmp_path / "run").iterdir()} == before
    assert load_run(tmp_path / "run").result["status"] == "finished"
    with pytest.raises(InvalidValue, match="late"):
        carry_out(late, Settings(), RunFolder.create(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_what_a_long_job_has_done_outlives_its_failure(tmp_path):
    late = Experiment("squares", Settings, _fails_late, keeps=True)
    with pytest.raises(InvalidValue, match="late"):
        carry_out(late, Settings(), _folder(tmp_path))
    report = carry_out(SQUARES, Settings(), RunFolder.open(tmp_path / "run"), resume=True)
    assert report.tables["squares"].column("square") == [0.0, 1.0, 4.0]


def test_a_folder_that_vanishes_is_one_sentence(tmp_path):
    def prepare(config):
        def job(context):
            shutil.rmtree(tmp_path / "run")
            return Report({"status": "finished"})

        return job

    with pytest.raises(RunFolderError, match="Give the folder of a run"):
        carry_out(Experiment("squares", Settings, prepare), Settings(), _folder(tmp_path))


def test_an_incomplete_run_tries_again_what_failed(tmp_path):
    endings = iter(["incomplete", "finished", "never"])

    def prepare(config):
        return lambda context: Report({"status": next(endings)})

    twice = Experiment("squares", Settings, prepare)
    carry_out(twice, Settings(), _folder(tmp_path))
    for _ in range(2):
        again = carry_out(twice, Settings(), RunFolder.open(tmp_path / "run"), resume=True)
        assert again.result["status"] == "finished"
