"""Values of lists from their tokens alone, and how far guesses that read one level get."""

__all__ = ["floors", "value"]

import torch
from jaxtyping import Int
from torch import Tensor

from vlasov.lra.examples import Examples
from vlasov.lra.listops_words import CLOSE, DIGIT, MAX, MED, MIN, SUM, WORDS

_IDS = len(WORDS) + 1


def value(tokens: bytes) -> int | None:
    """The value of a list, by a stack that shares nothing with the generator.

    None for tokens that are no single list whose brackets close.

    Example:
        >>> value(bytes([MAX, DIGIT + 1, MIN, DIGIT + 2, DIGIT + 3, CLOSE, DIGIT + 9, CLOSE]))
        9
    """
    open_lists: list[tuple[int, list[int]]] = [(0, [])]
    for token in tokens:
        if token < CLOSE:
            open_lists.append((token, []))
            continue
        found = token - DIGIT
        if token == CLOSE:
            if len(open_lists) < 2 or not open_lists[-1][1]:
                return None
            found = _applied(*open_lists.pop())
        open_lists[-1][1].append(found)
    if len(open_lists) > 1 or len(open_lists[0][1]) != 1:
        return None
    return open_lists[0][1][0]


def _applied(operator: int, digits: list[int]) -> int:
    ordered = sorted(digits)
    if operator == MED:
        half, odd = divmod(len(ordered), 2)
        return ordered[half] if odd else (ordered[half - 1] + ordered[half]) // 2
    return {MIN: ordered[0], MAX: ordered[-1], SUM: sum(ordered) % 10}[operator]


def floors(train: Examples, test: Examples) -> dict[str, float]:
    """Accuracies on the test of two guesses fitted on train.

    One takes the commonest value under the operator of the root; the other evaluates the root
    over its digits, with that guess for each of its nested lists.
    """
    counts = torch.bincount(_root(train) * 10 + train.labels, minlength=10 * _IDS)
    likely = counts.view(_IDS, 10).argmax(1)
    return {
        "root operator": _accuracy(likely[_root(test)], test),
        "one level": _accuracy(_one_level(test, likely), test),
    }


def _accuracy(guesses: Int[Tensor, " m"], test: Examples) -> float:
    return (guesses == test.labels).double().mean().item()


def _root(examples: Examples) -> Int[Tensor, " m"]:
    return examples.tokens[examples.offsets[:-1]].long()


def _one_level(examples: Examples, likely: Int[Tensor, " ids"]) -> Int[Tensor, " m"]:
    """The value of each root if its nested lists had the likely values of their operators."""
    counts = _arguments(examples, likely)
    total = counts.sum(-1, keepdim=True)
    below = counts.cumsum(-1)  # arguments of at most this digit
    lower = (below <= (total - 1) // 2).sum(-1)
    upper = (below <= total // 2).sum(-1)
    found = {
        MIN: (below == 0).sum(-1),
        MAX: (below < total).sum(-1),
        MED: (lower + upper) // 2,
        SUM: (counts * torch.arange(10)).sum(-1) % 10,
    }
    root = _root(examples)
    guesses = likely[root]
    for operator, values in found.items():
        guesses = torch.where(root == operator, values, guesses)
    return guesses


def _arguments(examples: Examples, likely: Int[Tensor, " ids"]) -> Int[Tensor, "m 10"]:
    """How many arguments of each root are 0, 1, ..., 9."""
    tokens = examples.tokens.int()
    opens, closes = (tokens < CLOSE).int(), (tokens == CLOSE).int()
    after = (opens - closes).cumsum(0, dtype=torch.int32)
    before = torch.cat([after.new_zeros(1), after[:-1]])  # lists open before each token
    row = torch.arange(len(examples)).repeat_interleave(examples.lengths[:, 0])
    inside = (before - before[examples.offsets[:-1]][row] == 1) & (closes == 0)
    chosen = tokens[inside]
    digits = torch.where(chosen < CLOSE, likely[chosen], chosen - DIGIT)
    return torch.bincount(row[inside] * 10 + digits, minlength=10 * len(examples)).view(-1, 10)
