"""All tasks by name: what they say of themselves, their data loaded, described and checked."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue, RunFolderError, UnknownName, Unsupported
from vlasov.lra import TASKS, Splits, Task, load_task, majority, stacked_bytes
from vlasov.lra.description import check_data, described
from vlasov.lra.folders import fresh_folder
from vlasov.lra.release import RELEASE_SIZES

READ = [name for name in TASKS if name != "listops"]
FOUND = [name for name in TASKS if TASKS[name].make is Task.make]


def test_the_five_tasks_have_the_sizes_of_the_release():
    assert set(TASKS) == set(RELEASE_SIZES)
    assert len(TASKS) == 5


@pytest.mark.parametrize("name", TASKS)
def test_a_task_loads_real_data(name, lra_data):
    found = load_task(name, lra_data, limit=40)
    task = TASKS.build(name)
    assert [len(part) for part in found.parts().values()] == [40, 10, 10]
    for part in found.parts().values():
        batch = part.batch(range(10))
        assert batch.inputs.shape[-1] <= task.length
        assert part.towers == task.towers
        assert int(batch.inputs[~batch.padding].min()) > 0
        assert int(batch.inputs.max()) < found.vocabulary == task.vocabulary
        assert set(batch.labels.tolist()) <= set(range(found.classes))
    assert found.floors["majority"] == majority(found.train, found.test)
    assert found.task == task.name


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("name", TASKS)
def test_real_data_is_sound(name, lra_data):
    verdict = check_data(TASKS.build(name), lra_data, length=64 if name != "listops" else 2000)
    assert verdict.ok, verdict.lines


@pytest.mark.parametrize("name", READ)
def test_only_lists_are_loaded_without_a_folder(name):
    with pytest.raises(
        Unsupported, match=rf"Loading '{name}' needs a folder of data but got none"
    ):
        load_task(name, None)


@pytest.mark.parametrize("name", FOUND)
def test_what_is_only_found_is_not_made(name, tmp_path):
    with pytest.raises(Unsupported, match=rf"but '{name}' has none\. Its data comes from"):
        TASKS.build(name).make(tmp_path, count=1, seed=0)


@pytest.mark.parametrize("name", TASKS)
def test_a_folder_of_something_else_is_refused(name, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/a.doc").write_text("x")
    with pytest.raises(InvalidValue):
        load_task(name, tmp_path)


def test_an_unknown_task_or_option_is_named():
    with pytest.raises(UnknownName, match="did you mean 'listops'"):
        load_task("listop", None)
    with pytest.raises(UnknownName, match="did you mean 'decode'"):
        load_task("retrieval:decoded=true", None)


@pytest.mark.parametrize("length", [0, -3])
def test_a_length_below_one_is_refused(length):
    with pytest.raises(
        InvalidValue, match=rf"at least 1 but got {length}\. Leave it out for 2000"
    ):
        load_task("listops", None, length=length)


def test_floors_are_measured_on_what_a_limit_leaves(tmp_path):
    TASKS.build("listops:shortest=16,longest=64").make(tmp_path, count=80, seed=0)
    whole, part = (load_task("listops", tmp_path, limit=limit) for limit in (None, 12))
    assert part.floors["majority"] == majority(part.train, part.test)
    assert part.floors != whole.floors


def _splits() -> Splits:
    train = stacked_bytes([b"aa", b"b", b"aa", b"cccc", b"d"], [0, 0, 0, 1, 1])
    test = stacked_bytes([b"b", b"e"], [0, 1])
    return Splits("text", train, test, test, 257, 2, ("a note",), {"majority": 0.5})


def test_a_description_counts_lengths_labels_and_repeats():
    train, _, test = described(_splits())
    assert (train.examples, train.shortest, train.median, train.longest) == (5, 1, 2, 4)
    assert train.labels == (0.6, 0.4)
    assert (train.repeated, train.in_train) == (1, None)
    assert (test.repeated, test.in_train) == (0, 1)


class _Given(TASKS["text"]):
    """A task that loads what it is given."""

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        splits = _splits()
        lone = stacked_bytes([bytes([97 + index]) for index in range(20)], [0] * 20)
        return replace(splits, validation=lone)


def test_a_check_names_classes_without_examples(tmp_path):
    verdict = check_data(_Given(), tmp_path, length=10)
    assert not verdict.ok
    assert verdict.lines == (
        "train: 5 examples (the release has 25,000) of 1 to 4 tokens, 1 of them repeated",
        "validation: 20 examples (the release has 25,000) of 1 to 1 tokens",
        "test: 2 examples (the release has 25,000) of 1 to 1 tokens",
        "a note",
        "wrong: validation has no example of class 1",
    )


def test_a_check_gives_the_sentence_of_the_reader(tmp_path):
    verdict = check_data(TASKS.build("text"), tmp_path, length=10)
    assert not verdict.ok
    assert "have none of them" in verdict.lines[0]


def test_a_fresh_folder_appears_complete(tmp_path):
    with fresh_folder(tmp_path / "a/b") as partial:
        (partial / "x").write_text("1")
        assert not (tmp_path / "a/b").exists()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert (tmp_path / "a/b/x").read_text() == "1"


def _stop_halfway(partial: Path) -> None:
    (partial / "x").write_text("1")
    raise KeyboardInterrupt


def test_what_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), fresh_folder(tmp_path / "a") as partial:
        _stop_halfway(partial)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_a_sentence(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(RunFolderError, match=r"none \(No space left on device\)"),
        fresh_folder(tmp_path / "a"),
    ):
        raise full
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_on_purpose_and_only_by_its_like(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "x").write_text("old")
    with pytest.raises(RunFolderError, match=r"but '.*a' exists"), fresh_folder(folder):
        pass
    with fresh_folder(folder, overwrite=True) as partial:
        (partial / "x").write_text("new")
    assert (folder / "x").read_text() == "new"
    (folder / "mine").write_text("precious")
    with (
        pytest.raises(RunFolderError, match=r"'.*a' holds 'mine', too"),
        fresh_folder(folder, overwrite=True) as partial,
    ):
        (partial / "x").write_text("newer")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "x": "new",
        "mine": "precious",
    }


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(RunFolderError, match=r"a folder to write but .* is none"),
        fresh_folder(tmp_path / "file/a"),
    ):
        pass
