"""ListOps files: brackets kept, parentheses dropped, cuts counted, damage named."""

from pathlib import Path

import pytest

from vlasov.errors import InvalidValue
from vlasov.lra import load_task
from vlasov.lra.description import check_data
from vlasov.lra.listops import ListOps
from vlasov.lra.listops_files import FILES, read_lists, text_form
from vlasov.lra.listops_grammar import Grammar
from vlasov.lra.listops_values import value

HEADER = "Source\tTarget"
LINE = "( ( ( [SM 9 ) 8 ) ] )\t7"


def _file(folder: Path, *lines: str, end: str = "\n", name: str = "basic_train.tsv") -> Path:
    path = folder / name
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def _release(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        _file(folder, HEADER, *(lines or (LINE,)), name=name)
    return folder


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_brackets_are_tokens_and_parentheses_are_not(tmp_path, end):
    path = _file(
        tmp_path, HEADER, "[MAX 1 [MIN 2 3 ] 9 ]\t9", "[MAX 1 [MIN 2 3 9 ] ]\t2", LINE, end=end
    )
    read = read_lists(path, length=100)
    assert read.lists == [
        bytes([2, 7, 1, 8, 9, 5, 15, 5]),
        bytes([2, 7, 1, 8, 9, 15, 5, 5]),
        bytes([4, 15, 14, 5]),
    ]
    assert read.labels == [9, 2, 7]
    assert [value(tokens) for tokens in read.lists] == read.labels


@pytest.mark.parametrize("source", ["(  ( ( [SM 9 ) 8 )  ] )", " ( ( ( [SM 9 ) 8 ) X ) "])
def test_blanks_and_the_new_name_of_the_bracket_change_nothing(tmp_path, source):
    read = read_lists(_file(tmp_path, HEADER, f"{source}\t7"), length=9)
    assert read.lists == [bytes([4, 15, 14, 5])]


def test_the_limit_counts_tokens_that_are_kept(tmp_path):
    path = _file(tmp_path, HEADER, "( ( ( ( [SM 9 ) 8 ) 7 ) ] )\t4")
    assert read_lists(path, length=5).lists == [bytes([4, 15, 14, 13, 5])]
    assert read_lists(path, length=5).cut == 0
    assert read_lists(path, length=4).lists == [bytes([4, 15, 14, 13])]
    assert read_lists(path, length=4).cut == 1


def test_cut_lists_are_counted_and_refused_above_a_share(tmp_path):
    lines = [LINE] * 19 + ["[MAX 1 2 3 ]\t3"]
    folder = _release(tmp_path / "d", *lines)
    notes = load_task("listops", folder, length=4).notes
    assert notes[0] == "basic_train.tsv: 1 of 20 lists cut at 4 tokens"
    assert len(notes) == 3
    assert load_task("listops", folder, length=5).notes == ()
    _release(folder, *lines[1:])
    with pytest.raises(InvalidValue, match=r"At most 5% .* longer than 4 tokens but 1 of 19"):
        load_task("listops", folder, length=4)
    assert len(load_task("listops:cut=0.5", folder, length=4).notes) == 3


@pytest.mark.parametrize(
    ("lines", "phrase"),
    [
        (("Target\tSource", LINE), "begins with 'Source', a tab and 'Target' but line 1"),
        ((HEADER, LINE, "[MAX 1 2 ]"), "needs 2 columns set apart by tabs but line 3 .* has 1"),
        ((HEADER, f"{LINE}\t7"), "line 2 of .* has 3"),
        ((HEADER, LINE, ""), "line 3 of .* has 1"),
        ((HEADER, "[MAX 1 2 ]\t10"), "integer from 0 to 9 but line 2 of .* has '10'"),
        ((HEADER, "[MAX 1 2 ]\t1.5"), "has '1.5'"),
        ((HEADER, "[MAX 1 2 ]\tnan"), "has 'nan'"),
        ((HEADER, "[MAX 1 2 ]\tx"), "has 'x'"),
        ((HEADER, "[AVG 1 2 ]\t1"), r"line 2 of .* has '\[AVG'"),
        ((HEADER, "[MAX 1 23 ]\t1"), "has '23'"),
        ((HEADER, "[MAX 1 é ]\t1"), "has 'é'"),
        ((HEADER, "( )\t1"), "line 2 of .* has ''"),
        ((HEADER,), "needs a list but .* has none"),
        ((), "needs a list but .* has none"),
    ],
)
def test_a_damaged_file_is_refused_by_name_and_line(tmp_path, lines, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        read_lists(_file(tmp_path, *lines), length=100)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "basic_val.tsv"
    path.write_bytes(b"Source\tTarget\n[MAX \xff 1 ]\t1\n")
    with pytest.raises(InvalidValue, match=r"line 2 of '.*basic_val.tsv' has"):
        read_lists(path, length=9)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "basic_val.tsv"
    path.write_bytes(b"\xef\xbb\xbfSource\tTarget\n[MAX 3 1 ]\t3\n")
    assert read_lists(path, length=9).labels == [3]


def test_lists_are_written_as_nested_binary_pairs():
    drawn = next(Grammar(16, 64).lists(0))
    text = text_form(drawn)
    assert text.count("(") == text.count(")")
    kept = [word for word in text.split() if word not in "()"]
    assert len(kept) == len(drawn.tokens)


def test_made_files_read_back_as_the_lists_they_were_made_of(tmp_path):
    told = []
    task = ListOps(shortest=16, longest=64)
    task.make(tmp_path, count=40, seed=3, watch=told.append)
    found = load_task("listops", tmp_path)
    drawn = task.generate(length=2000, limit=40, seed=3)
    for read, made in zip(found.parts().values(), drawn.parts().values(), strict=True):
        assert read.digest() == made.digest()
    assert told == list(range(1, 61))
    content = (tmp_path / "basic_train.tsv").read_bytes()
    assert content.startswith(b"Source\tTarget\r\n")
    assert content.count(b"\r\n") == content.count(b"\n") == 41


@pytest.mark.parametrize("inner", ["", "listops-1000", "lra_release/lra_release/listops-1000"])
def test_the_release_is_found_where_it_is_nested(tmp_path, inner):
    _release(tmp_path / "data" / inner)
    assert len(load_task("listops", tmp_path / "data").train) == 1


def test_two_copies_are_refused_by_name(tmp_path):
    _release(tmp_path / "nest/listops-1000")
    _release(tmp_path / "nest/nest/listops-1000")
    with pytest.raises(InvalidValue, match=r"'.*nest/listops-1000', '.*nest/nest/listops-1000'"):
        load_task("listops", tmp_path / "nest")
    assert len(load_task("listops", tmp_path / "nest/nest").train) == 1


def test_half_of_the_release_is_refused_by_what_is_missing(tmp_path):
    folder = _release(tmp_path / "d")
    (folder / "basic_val.tsv").unlink()
    with pytest.raises(InvalidValue, match=r"d' lacks 'basic_val.tsv'. Complete the copy"):
        load_task("listops", folder)


def test_a_folder_without_the_release_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match=r"have none of them. Check the path"):
        load_task("listops", tmp_path)
    with pytest.raises(InvalidValue, match=r"needs a folder but '.*nowhere' is none"):
        load_task("listops", tmp_path / "nowhere")


def test_a_check_computes_the_labels_again(tmp_path):
    task = ListOps()
    good = check_data(task, _release(tmp_path / "good"), length=2000)
    assert "train: 1 examples (the release has 96,000) of 4 to 4 tokens" in good.lines
    for number, line in enumerate(("[MAX 1 2 ]\t7", "[MAX 1 2\t2")):
        bad = check_data(task, _release(tmp_path / str(number), LINE, line), length=2000)
        assert not bad.ok
        assert sum("1 of 2" in said and "the first is number 2" in said for said in bad.lines) == 3


def test_the_subset_of_the_release_loads(lra_data):
    found = load_task("listops", lra_data)
    assert [len(part) for part in found.parts().values()] == [1000, 200, 200]
    assert (found.train.lengths.min(), found.train.lengths.max()) == (501, 1994)
    assert found.notes == ()
    assert 0.3 < found.floors["root operator"] < 0.45 < found.floors["one level"]
