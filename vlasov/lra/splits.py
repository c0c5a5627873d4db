"""The examples of a task in three parts, with what a reader should know about them."""

__all__ = ["Splits", "held_out"]

from dataclasses import dataclass, replace

import numpy as np
import torch

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples

_SHARE = 4  # of a limit, one part in four for validation and as many for the test


@dataclass(frozen=True, eq=False)
class Splits:
    """Train, validation and test examples of one task.

    Args:
        task: its name.
        train: what is learnt from.
        validation: what stops and chooses; disjoint from the test.
        test: what is reported, once.
        vocabulary: the number of token ids, with 0 for padding.
        classes: the number of labels.
        notes: facts of the loading: what was cut, left out or found twice.
        floors: accuracies on the test that need no attention, by the name of the guess.
    """

    task: str
    train: Examples
    validation: Examples
    test: Examples
    vocabulary: int
    classes: int
    notes: tuple[str, ...]
    floors: dict[str, float]

    def parts(self) -> dict[str, Examples]:
        """The three parts by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def limited(self, limit: int, *, seed: int) -> "Splits":
        """At most `limit` train examples and a quarter of that in the other parts.

        The choice is a draw without regard to the labels, fixed by the seed; the order of the
        examples stays. The floors stay those of the whole: `load_task` measures them anew.
        """
        if limit < 1:
            raise InvalidValue(
                f"A limit of examples must be at least 1 but got {limit}. Leave it out for all."
            )
        rest = max(1, limit // _SHARE)
        return replace(
            self,
            train=_drawn(self.train, limit, seed),
            validation=_drawn(self.validation, rest, seed),
            test=_drawn(self.test, rest, seed),
        )


def held_out(examples: Examples, share: float, *, seed: int) -> tuple[Examples, Examples]:
    """The examples without a drawn share of them, and that share; at least one in each."""
    if len(examples) < 2:
        raise InvalidValue(
            f"Holding out a part needs two examples but got {len(examples)}. Add data."
        )
    count = min(max(1, round(share * len(examples))), len(examples) - 1)
    order = np.random.default_rng(seed).permutation(len(examples))
    kept, out = np.sort(order[count:]), np.sort(order[:count])
    return examples.select(torch.from_numpy(kept)), examples.select(torch.from_numpy(out))


def _drawn(examples: Examples, count: int, seed: int) -> Examples:
    if count >= len(examples):
        return examples
    rows = np.random.default_rng(seed).permutation(len(examples))[:count]
    return examples.select(torch.from_numpy(np.sort(rows)))
