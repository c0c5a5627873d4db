"""Text from tables: one alone, or train and test; columns, labels, sources, damage named."""

import csv
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue
from vlasov.lra import load_task

ROWS = [("good film", "1"), ("bad film", "0"), ("fine", "pos"), ("dull", "Negative")]


def _table(path: Path, rows: list[tuple[str, ...]], *columns: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns or ("text", "label"), *rows])
    return path


def _texts(examples) -> list[str]:
    ids = [examples.sequence(row) for row in range(len(examples))]
    return [bytes((one - 1).tolist()).decode() for one in ids]


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_table_alone_is_cut_into_three_parts(tmp_path, as_folder):
    rows = [(f"film {index}\nof two lines", str(index % 2)) for index in range(50)]
    path = _table(tmp_path / "d/reviews.csv", rows)
    found = load_task("text", path.parent if as_folder else path)
    assert [len(part) for part in found.parts().values()] == [36, 4, 10]
    texts = [text for part in found.parts().values() for text in _texts(part)]
    assert sorted(texts) == sorted(text for text, _ in rows)
    assert "test: 20% of the table, held out with seed 0" in found.notes


def test_two_tables_are_train_and_test(tmp_path):
    _table(tmp_path / "train.csv", ROWS)
    _table(tmp_path / "test.csv", ROWS[:2])
    found = load_task("text", tmp_path)
    assert dict(zip(_texts(found.test), found.test.labels.tolist(), strict=True)) == {
        "good film": 1,
        "bad film": 0,
    }
    assert len(found.train) + len(found.validation) == 4


def test_only_rows_of_one_source_are_kept(tmp_path):
    rows = [("a", "1", "imdb"), ("b", "0", "imdb"), ("c", "1", "imdb"), ("d", "1", "other")]
    path = _table(tmp_path / "r.csv", rows, "text", "label", "source")
    for name, count in (("text", 3), ("text:origin=", 4)):
        assert sum(map(len, load_task(name, path).parts().values())) == count
    with pytest.raises(InvalidValue, match=r"rows of source 'mine' but .*r.csv' has none"):
        load_task("text:origin=mine", path)


def test_a_source_is_asked_for_only_where_there_are_sources(tmp_path):
    table = _table(tmp_path / "r.csv", ROWS)
    with pytest.raises(InvalidValue, match=r"'mine' need a column 'source' but .*r.csv' has none"):
        load_task("text:origin=mine", table)
    for place in ("train/neg", "train/pos", "test/neg", "test/pos"):
        (tmp_path / "folders" / place).mkdir(parents=True)
    for origin in ("mine", ""):
        with pytest.raises(InvalidValue, match=rf"'text:origin={origin}' chooses rows of a table"):
            load_task(f"text:origin={origin}", tmp_path / "folders")


@pytest.mark.parametrize(
    ("rows", "columns", "phrase"),
    [
        (
            [("x", "1")],
            ("review", "label"),
            "needs columns 'text' and 'label' but .* has review, ",
        ),
        ([*ROWS, ("x", "2")], (), "line 6 of .* has '2'"),
        ([*ROWS, ("x",)], (), "line 6 of .* has ''"),
        ([*ROWS, ("", "1")], (), "line 6 of .* is empty"),
        ([], (), "has none"),
    ],
)
def test_a_damaged_table_is_refused_by_line(tmp_path, rows, columns, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        load_task("text", _table(tmp_path / "r.csv", rows, *columns))


@pytest.mark.parametrize("content", [b"", b"text,label\n\xff\xfe,1\n"])
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match=r"has none. Rename|in UTF-8 but"):
        load_task("text", path)


def test_tables_of_unknown_role_are_refused(tmp_path):
    for name in ("a.csv", "b.csv"):
        _table(tmp_path / name, ROWS)
    with pytest.raises(InvalidValue, match=r"has a.csv, b.csv. Give the table itself"):
        load_task("text", tmp_path)
