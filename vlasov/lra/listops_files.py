"""ListOps as files: nested binary pairs of words in two columns, Source and Target.

An operator with n arguments is written with n + 1 opening parentheses before it and one closing
parenthesis after each argument and after its bracket; parentheses are no tokens.
"""

__all__ = ["FILES", "ReadLists", "read_lists", "text_form", "write_lists"]

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from vlasov.errors import InvalidValue
from vlasov.lra.listops_grammar import Drawn
from vlasov.lra.listops_words import CLOSE, DIGIT, WORDS
from vlasov.lra.rows import label_in, tab_rows

FILES = ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv")

_HEADER = [b"Source", b"Target"]
_IDS = {word.encode(): index for index, word in enumerate(WORDS, 1)} | {b"]": CLOSE}
_OPENINGS = {
    index: (WORDS[index - 1].encode(), bytes([0x80 + index])) for index in range(1, CLOSE)
}
_MARKS = {
    ord("]"): CLOSE,
    **{0x80 + index: index for index in _OPENINGS},
    **{ord(str(digit)): DIGIT + digit for digit in range(10)},
}
_TABLE = bytes(_MARKS.get(byte, 0) for byte in range(256))


class ReadLists(NamedTuple):
    """What a file holds: ids as bytes, labels, and how many lists were cut."""

    lists: list[bytes]
    labels: list[int]
    cut: int


def read_lists(path: Path, *, length: int) -> ReadLists:
    """The lists of a file, at most `length` tokens of each; the limit counts tokens kept.

    Raises:
        InvalidValue: for another header, a word that is none of ListOps, or a wrong label.
    """
    lists: list[bytes] = []
    labels: list[int] = []
    for number, row in enumerate(tab_rows(path, 2)):
        if number:
            lists.append(_ids(row.cells[0], row.where))
            labels.append(label_in(row.cells[1], 10, row.where))
        elif row.cells != _HEADER:
            raise InvalidValue(
                f"A ListOps file begins with 'Source', a tab and 'Target' but {row.where} is "
                f"{b' '.join(row.cells)[:40]!r}. Give a file of the release."
            )
    if not lists:
        raise InvalidValue(f"A ListOps file needs a list but '{path}' has none. Complete it.")
    cut = sum(len(tokens) > length for tokens in lists)
    return ReadLists([tokens[:length] for tokens in lists], labels, cut)


def _ids(source: bytes, where: str) -> bytes:
    """The ids of the words of one line, without a loop over them where all is regular."""
    text = source
    for opening, mark in _OPENINGS.values():
        text = text.replace(opening, mark)
    ids = text.translate(_TABLE, b"() ")
    words = source.count(b" ") + 1
    if ids and 0 not in ids and len(ids) + source.count(b"(") + source.count(b")") == words:
        return ids
    return _checked_ids(source, where)


def _checked_ids(source: bytes, where: str) -> bytes:
    words = [word for word in source.split() if word not in (b"(", b")")]
    strange = [word for word in words if word not in _IDS]
    if strange or not words:
        shown = strange[0].decode(errors="replace")[:40] if strange else ""
        raise InvalidValue(
            f"A list needs the words {' '.join(WORDS)} and parentheses but {where} has '{shown}'. "
            "Correct or remove the line."
        )
    return bytes(_IDS[word] for word in words)


def write_lists(path: Path, lists: Iterable[Drawn]) -> None:
    """A file in the layout of the release, with CRLF line ends as the csv module writes them."""
    with path.open("wb") as file:
        file.write(b"\t".join(_HEADER) + b"\r\n")
        for drawn in lists:
            file.write(f"{text_form(drawn)}\t{drawn.value}\r\n".encode())


def text_form(drawn: Drawn) -> str:
    """A list as nested binary pairs.

    Example:
        >>> text_form(Drawn(tokens=bytes([4, 15, 14, 5]), arguments=bytes([2, 0, 0, 0]), value=7))
        '( ( ( [SM 9 ) 8 ) ] )'
    """
    pairs = zip(drawn.tokens, drawn.arguments, strict=True)
    text = "".join([_PIECES[token, arguments] for token, arguments in pairs])
    return text.removesuffix(" ) ")  # of the outermost list, which is no argument


_PIECES = {
    **{(op, n): "( " * (n + 1) + f"{WORDS[op - 1]} " for op in range(1, 5) for n in range(2, 256)},
    **{(DIGIT + digit, 0): f"{digit} ) " for digit in range(10)},
    (CLOSE, 0): "] ) ) ",
}
