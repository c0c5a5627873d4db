"""Values of nested lists by hand, and how far guesses get on lists made for them."""

import numpy as np
import pytest

from vlasov.lra import stacked_bytes
from vlasov.lra.listops_values import floors, value
from vlasov.lra.listops_words import CLOSE, WORDS

IDS = {word: index for index, word in enumerate(WORDS, 1)} | {"]": CLOSE}


def ids(text: str) -> bytes:
    """The ids of words set apart by blanks."""
    return bytes(IDS[word] for word in text.split())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[MAX 1 [MIN 2 3 ] 9 ]", 9),
        ("[MAX 1 [MIN 2 3 9 ] ]", 2),
        ("[MED 1 2 ]", 1),
        ("[MED 9 1 4 ]", 4),
        ("[MED 1 2 4 9 ]", 3),
        ("[SM 9 8 7 ]", 4),
        ("7", 7),
        ("[MAX 1 2", None),
        ("[MAX 1 ] ]", None),
        ("[MAX ]", None),
        ("1 2", None),
        ("", None),
    ],
)
def test_values_by_hand(text, wanted):
    assert value(ids(text)) == wanted


def test_the_guesses_see_the_root_alone_or_one_level():
    seen = {"[MIN 5 5 ]": 5, "[MIN 5 [SM 1 1 ] 5 ]": 2, "[MIN 5 6 ]": 5, "[SM 4 4 ]": 8}
    asked = {
        "[MIN 5 9 ]": 5,  # both
        "[MIN 7 8 9 ]": 7,  # one level
        "[SM [MIN 1 2 3 ] 9 1 ]": 1,  # neither: the nested one is guessed 5
        "[SM [MIN 5 6 ] [SM 5 3 ] 5 ]": 8,  # both: 5 + 8 + 5 = 18
    }
    train, test = (
        stacked_bytes(map(ids, part), list(part.values()), shift=0) for part in (seen, asked)
    )
    assert floors(train, test) == {"root operator": 0.5, "one level": 0.75}


@pytest.mark.parametrize("operator", ["[MIN", "[MAX", "[MED", "[SM"])
def test_lists_of_one_level_are_guessed_entirely(operator):
    rng = np.random.default_rng(0)
    texts = [
        ids(f"{operator} {' '.join(map(str, rng.integers(0, 10, n)))} ]") for n in range(2, 11)
    ]
    examples = stacked_bytes(texts, [value(text) for text in texts], shift=0)
    assert floors(examples, examples)["one level"] == 1.0
