"""Text: bytes rather than characters, held-out validation, damage named."""

from pathlib import Path

import pytest

from vlasov.errors import InvalidValue
from vlasov.lra import load_task


def _reviews(folder: Path, count: int = 10, *, test: int = 2) -> Path:
    for part, number in (("train", count), ("test", test)):
        for polarity in ("neg", "pos"):
            place = folder / part / polarity
            place.mkdir(parents=True)
            for index in range(number):
                (place / f"{index}_7.txt").write_text(f"{part} {polarity} {index}")
    return folder


def _texts(examples) -> list[str]:
    ids = [examples.sequence(row) for row in range(len(examples))]
    return [bytes((one - 1).tolist()).decode() for one in ids]


def test_ids_are_bytes_plus_one_not_characters(tmp_path):
    folder = _reviews(tmp_path)
    (folder / "test/neg/0_7.txt").write_text("é漢", encoding="utf-8")
    assert load_task("text", folder).test.sequence(0).tolist() == [196, 170, 231, 189, 163]


def test_every_byte_has_an_id_below_the_vocabulary(tmp_path):
    folder = _reviews(tmp_path)
    (folder / "test/neg/0_7.txt").write_bytes(bytes(range(256)))
    found = load_task("text", folder)
    assert found.test.sequence(0).tolist() == list(range(1, 257))
    assert found.vocabulary == 257


def test_labels_follow_the_folders_and_no_text_is_lost(tmp_path):
    found = load_task("text", _reviews(tmp_path))
    every = {
        name: dict(zip(_texts(part), part.labels.tolist(), strict=True))
        for name, part in found.parts().items()
    }
    assert {name: len(texts) for name, texts in every.items()} == {
        "train": 18,
        "validation": 2,
        "test": 4,
    }
    assert all(("pos" in text) == label for part in every.values() for text, label in part.items())
    both = every["train"] | every["validation"]
    assert set(both) == {f"train {p} {i}" for p in ("neg", "pos") for i in range(10)}
    assert found.notes == ("validation: 10% of train, held out with seed 0",)


def test_the_seed_chooses_what_is_held_out_and_nothing_else(tmp_path):
    folder = _reviews(tmp_path, 30)
    one, again, other = (load_task("text", folder, seed=seed) for seed in (0, 0, 1))
    assert one.validation.digest() == again.validation.digest()
    assert one.validation.digest() != other.validation.digest()
    assert one.test.digest() == other.test.digest()


def test_unlabelled_reviews_and_other_files_are_passed_over(tmp_path):
    folder = _reviews(tmp_path)
    (folder / "train/unsup").mkdir()
    (folder / "train/unsup/0_0.txt").write_text("no label")
    (folder / "train/neg/urls.html").write_text("no review")
    found = load_task("text", folder)
    assert len(found.train) + len(found.validation) == 20


@pytest.mark.parametrize(("length", "kept", "cut"), [(None, 1000, 1), (4000, 1500, 0)])
def test_long_texts_are_cut_and_counted(tmp_path, length, kept, cut):
    folder = _reviews(tmp_path)
    (folder / "test/neg/0_7.txt").write_text("x" * 1500)
    found = load_task("text", folder, length=length)
    assert len(found.test.sequence(0)) == kept
    assert ("test: 1 of 4 texts cut at 1000 bytes" in found.notes) == bool(cut)


def test_texts_of_train_that_occur_again_are_counted(tmp_path):
    folder = _reviews(tmp_path, 40)
    for path in sorted((folder / "train/pos").iterdir())[:20]:
        path.write_text("twice")
    (folder / "test/pos/0_7.txt").write_text("twice")
    assert "1 of 4 test examples occur in train, too" in load_task("text", folder).notes
    (folder / "test/pos/0_7.txt").write_text("once")
    assert not any("test examples" in note for note in load_task("text", folder).notes)


@pytest.mark.parametrize("inner", ["", "aclImdb", "aclImdb/aclImdb"])
def test_the_reviews_are_found_where_they_are_nested(tmp_path, inner):
    _reviews(tmp_path / "d" / inner)
    assert len(load_task("text", tmp_path / "d").test) == 4


def test_two_copies_are_refused(tmp_path):
    _reviews(tmp_path / "aclImdb")
    _reviews(tmp_path / "aclImdb/aclImdb")
    with pytest.raises(InvalidValue, match=r"'.*aclImdb', '.*aclImdb/aclImdb' all hold"):
        load_task("text", tmp_path)


def test_half_of_the_reviews_is_refused(tmp_path):
    _reviews(tmp_path)
    (tmp_path / "test").rename(tmp_path / "elsewhere")
    with pytest.raises(InvalidValue, match="lacks 'test/neg', 'test/pos'"):
        load_task("text", tmp_path)


def test_a_polarity_without_reviews_is_refused(tmp_path):
    folder = _reviews(tmp_path, test=0)
    with pytest.raises(InvalidValue, match=r"test/neg' has none. Complete the copy"):
        load_task("text", folder)


def test_an_empty_review_is_refused_by_name(tmp_path):
    folder = _reviews(tmp_path)
    (folder / "train/pos/3_7.txt").write_text("")
    with pytest.raises(InvalidValue, match=r"'.*train/pos/3_7.txt' is empty"):
        load_task("text", folder)


def test_a_review_that_cannot_be_opened_is_refused_by_name(tmp_path):
    folder = _reviews(tmp_path)
    (folder / "train/pos/a.txt").mkdir()
    with pytest.raises(InvalidValue, match=r"'.*a.txt' is none \(Is a directory\)"):
        load_task("text", folder)


def test_the_subset_of_the_reviews_loads(lra_data):
    found = load_task("text", lra_data)
    assert [len(part) for part in found.parts().values()] == [3600, 400, 2000]
    assert found.floors == {"majority": 0.5}
    assert not any("occur in train" in note for note in found.notes)
