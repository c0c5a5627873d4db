"""Retrieval: two towers of bytes literals, kept or decoded, and damage named by line."""

from pathlib import Path

import pytest

from vlasov.errors import InvalidValue
from vlasov.lra import Splits, load_task

FILES = tuple(f"new_aan_pairs.{part}.tsv" for part in ("train", "eval", "test"))
LINE = b"1.0\tA1\tB2\tb'one\\ntwo'\tb'x \"y\" \\xc3\\xa9'"


def _release(folder: Path, *lines: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def _texts(found: Splits, row: int = 0) -> list[bytes]:
    return [bytes((found.train.sequence(row, tower) - 1).tolist()) for tower in (0, 1)]


def test_the_literal_is_kept_as_it_is(tmp_path):
    found = load_task("retrieval", _release(tmp_path, LINE))
    assert _texts(found) == [b"b'one\\ntwo'", b"b'x \"y\" \\xc3\\xa9'"]
    assert found.train.labels.tolist() == [1]


def test_the_literal_is_decoded_on_request(tmp_path):
    found = load_task("retrieval:decode=true", _release(tmp_path, LINE))
    assert _texts(found) == [b"one\ntwo", 'x "y" é'.encode()]


def test_towers_are_padded_to_the_longest_text_of_the_batch(tmp_path):
    found = load_task("retrieval", _release(tmp_path, LINE, b"0\ta\tb\tcd\te"))
    batch = found.train.batch([0, 1])
    assert batch.inputs.shape == (2, 2, 17)
    assert (~batch.padding).sum(-1).tolist() == [[11, 17], [2, 1]]
    assert batch.inputs[1, :, 0].tolist() == [ord("c") + 1, ord("e") + 1]


@pytest.mark.parametrize(("length", "kept"), [(None, 4000), (100, 100), (20_000, 10_000)])
def test_texts_are_cut_at_the_length_and_never_beyond_ten_thousand(tmp_path, length, kept):
    found = load_task(
        "retrieval", _release(tmp_path, b"0\ta\tb\t%s\ty" % (b"x" * 12_000)), length=length
    )
    assert found.train.lengths.tolist() == [[kept, 1]]
    assert found.notes[0] == f"new_aan_pairs.train.tsv: 1 of 2 texts cut at {kept} bytes"


@pytest.mark.parametrize("end", [b"", b"\r"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("label", "wanted"), [(b"0", 0), (b"1.0", 1), (b"0.000", 0)])
def test_labels_are_integers_written_as_floats(tmp_path, label, wanted, end):
    folder = _release(tmp_path, label + b"\ta\tb\tc\td" + end)
    assert load_task("retrieval", folder).train.labels.tolist() == [wanted]


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        (b"2.0\ta\tb\tc\td", "integer from 0 to 1 but line 2 of .*train.tsv' has '2.0'"),
        (b"\xff\ta\tb\tc\td", "line 2 of .*train.tsv' has '\ufffd'"),
        (b"1.0\ta\tb\tc", "needs 5 columns set apart by tabs but line 2 of .* has 4"),
        (b"1.0\ta\tb\tc\td\te", "line 2 of .* has 6"),
        (b"", "line 2 of .* has 1"),
        (b"1.0\ta\tb\tc\t", "needs a byte but line 2 of .* has an empty one"),
    ],
)
def test_a_damaged_line_is_refused_by_file_and_number(tmp_path, line, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        load_task("retrieval", _release(tmp_path, LINE, line))


@pytest.mark.parametrize("text", [b"plain words", b"b'open", b"'a string'", b"b'\xff'", b"7"])
def test_only_a_bytes_literal_can_be_decoded(tmp_path, text):
    folder = _release(tmp_path, b"1\ta\tb\tb'c'\t" + text)
    assert _texts(load_task("retrieval", folder))[1] == text
    with pytest.raises(InvalidValue, match=r"bytes literals such as b'...' but line 1"):
        load_task("retrieval:decode=true", folder)


def test_a_literal_of_nothing_is_empty_once_decoded(tmp_path):
    folder = _release(tmp_path, b"1\ta\tb\tb''\tb'x'")
    with pytest.raises(InvalidValue, match=r"line 1 of .* has an empty one"):
        load_task("retrieval:decode=true", folder)


def test_a_file_without_pairs_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match=r"needs a pair but .*train.tsv' has none"):
        load_task("retrieval", _release(tmp_path))


def test_half_of_the_release_is_refused(tmp_path):
    folder = _release(tmp_path / "tsv_data", LINE)
    (folder / FILES[2]).unlink()
    with pytest.raises(InvalidValue, match=r"tsv_data' lacks 'new_aan_pairs.test.tsv'"):
        load_task("retrieval", tmp_path)


def test_pairs_of_train_that_occur_again_are_counted(tmp_path):
    same, other = b"1.0\ta\tb\txy\tz", b"1.0\ta\tb\tx\tyz"  # the same bytes, divided elsewhere
    folder = _release(tmp_path, same)
    (folder / FILES[2]).write_bytes(same + b"\n" + other + b"\n")
    assert load_task("retrieval", folder).notes == (
        "1 of 1 validation examples occur in train, too",
        "1 of 2 test examples occur in train, too",
    )


def test_the_subset_of_the_release_loads(lra_data):
    found = load_task("retrieval", lra_data)
    assert [len(part) for part in found.parts().values()] == [1000, 200, 200]
    assert set(found.train.batch([0, 1]).inputs[:, :, 0].flatten().tolist()) == {ord("b") + 1}
    decoded = load_task("retrieval:decode=true", lra_data)
    assert int(found.train.tokens.max()) <= 127 < int(decoded.train.tokens.max())
