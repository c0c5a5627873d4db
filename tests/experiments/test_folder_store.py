"""Run folders: created, refused, written over, opened, and taken back."""

import errno
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from vlasov.atomic_file import replace_file, strict, write_json
from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments import folder_store
from vlasov.experiments.checkpoint import Checkpoint
from vlasov.experiments.folder_store import RunFolder


def begun(path: Path) -> RunFolder:
    folder = RunFolder.create(path)
    folder.begin({"n": 3}, {"seed": 0})
    return folder


def test_a_folder_is_what_was_written_to_it(tmp_path: Path) -> None:
    begun(tmp_path / "a" / "run").write_result({"status": "finished"})
    folder = RunFolder.open(tmp_path / "a" / "run")
    assert folder.config() == {"n": 3}
    assert folder.provenance() == {"program": "vlasov", "schema": 1, "seed": 0}
    assert folder.result() == {"status": "finished"}


def test_i10_the_path_is_kept_as_given(tmp_path: Path) -> None:
    assert begun(tmp_path / "run.v1").path == tmp_path / "run.v1"
    assert (tmp_path / "run.v1").is_dir()


def test_i04_default_names_are_portable_and_do_not_collide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = iter(["0a1b", "0a1b", "0a1b", "2c3d"])
    monkeypatch.setattr(folder_store.secrets, "token_hex", lambda count: next(draws))
    monkeypatch.setattr(folder_store.time, "strftime", lambda form: "20250102-030405")
    names = [RunFolder.create_new("simulate", tmp_path / "runs").path.name for _ in range(2)]
    assert names == ["simulate-20250102-030405-0a1b", "simulate-20250102-030405-2c3d"]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names)


def test_an_existing_run_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"already holds a run\. Add --resume or --overwrite"):
        RunFolder.create(tmp_path / "run")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_of_something_else_is_refused(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunFolderError, match="is not empty and holds no run"):
        RunFolder.create(tmp_path, overwrite=overwrite)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path).path == tmp_path


def test_overwriting_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    old = begun(tmp_path)
    old.write_result({})
    old.write_checkpoint(Checkpoint(1, {}))
    for name in ("summary.png", "notes.txt", ".checkpoint.pt.tmp"):
        (tmp_path / name).write_text("old")
    folder = RunFolder.create(tmp_path, overwrite=True)
    assert folder.has_result, "nothing may go before the new run begins"
    folder.begin({"n": 4}, {"seed": 1})
    assert [
        p.name for p in tmp_path.iterdir() if p.name not in ("provenance.json", "config.json")
    ] == ["notes.txt"]
    assert RunFolder.open(tmp_path).config() == {"n": 4}


def test_a_run_refused_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "a" / "b").discard()
    assert not list(tmp_path.iterdir())


def test_discarding_spares_what_was_there(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    RunFolder.create(tmp_path / "run", overwrite=True).discard()
    assert RunFolder.open(tmp_path / "run").config() == {"n": 3}


def test_an_unwritable_folder_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    # root may write everywhere, and tests may run as root
    monkeypatch.setattr(folder_store.os, "access", lambda path, mode: False)
    with pytest.raises(RunFolderError, match=r"is not writable\. Choose another"):
        RunFolder.create(tmp_path)
    tmp_path.chmod(stat.S_IRWXU)


def test_a_file_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunFolderError, match="Cannot create the run folder"):
        RunFolder.create(tmp_path / "run")


def edit(path: Path, **changes: object) -> None:
    write_json(path, json.loads(path.read_text()) | changes)


@pytest.mark.parametrize(
    ("harm", "phrase"),
    [
        (
            lambda p: edit(p / "provenance.json", schema=2),
            "schema version 2 but this vlasov reads",
        ),
        (lambda p: edit(p / "provenance.json", schema="new"), "schema version new"),
        (lambda p: edit(p / "provenance.json", program="other"), "not written by vlasov"),
        (lambda p: (p / "provenance.json").unlink(), "has no provenance.json"),
        (lambda p: (p / "provenance.json").write_text("{"), "provenance.json' cannot be read"),
        (lambda p: (p / "provenance.json").write_text("[]"), "must hold an object"),
    ],
)
def test_a_folder_that_is_no_run_of_ours_is_refused(
    tmp_path: Path, harm: Callable[[Path], object], phrase: str
) -> None:
    begun(tmp_path / "run")
    harm(tmp_path / "run")
    with pytest.raises(RunFolderError, match=phrase):
        RunFolder.open(tmp_path / "run")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a folder"):
        RunFolder.open(tmp_path / "gone")


def test_i03_a_result_passes_a_strict_parser(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.write_result({"w2": float("nan"), "loss": [float("inf"), -float("inf"), 1.5]})

    def refuse(name: str) -> None:
        raise AssertionError(name)

    result = json.loads((tmp_path / "result.json").read_text(), parse_constant=refuse)
    assert result == {"w2": "NaN", "loss": ["Infinity", "-Infinity", 1.5]}
    assert str(float(result["loss"][1])) == "-inf"


def test_i03_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(InvalidValue, match="type set has no JSON form"):
        strict({1, 2})
    assert strict({"path": Path("a"), 1: (None, True)}) == {"path": "a", "1": [None, True]}


def test_g05_a_stray_temporary_is_no_content(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    (tmp_path / ".result.json.tmp").write_text("{")
    assert not folder.has_result
    assert [path.name for path in folder.contents()] == ["config.json", "provenance.json"]


def test_a_full_disk_keeps_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_json(tmp_path / "result.json", {"n": 3})

    def write(hidden: Path) -> None:
        hidden.write_text("half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunFolderError, match="No space left on device"):
        replace_file(path, write)
    assert json.loads(path.read_text()) == {"n": 3}
    assert list(tmp_path.iterdir()) == [path]
