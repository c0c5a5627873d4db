"""Small tasks that networks are trained on: sequences with a symbol to name at every place."""

__all__ = ["TASKS", "Characters", "Copy", "ListOps", "Reverse", "Task", "task_of"]

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_tokens import SAMPLE
from vlasov.lra.listops_grammar import Drawn, Grammar
from vlasov.lra.listops_words import DIGIT, WORDS

Batch = tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]
"""Inputs and what to say at each place; both are entries of a vocabulary."""


class Task(ABC):
    """A law of sequences and targets.

    `causal`: a place may depend on itself and those before it only. `whole`: it must see all.
    """

    name: ClassVar[str]
    causal: ClassVar[bool] = False
    whole: ClassVar[bool] = False
    usual_length: ClassVar[int] = 12

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """Number of symbols."""

    @property
    @abstractmethod
    def chance(self) -> float:
        """Cross-entropy of the best answer that does not look at the sequence, in nats."""

    @abstractmethod
    def draw(self, size: int, n: int, generator: torch.Generator) -> Batch:
        """Independent sequences of `n` symbols with their targets."""


@dataclass(frozen=True)
class Copy(Task):
    """Say the symbol at each place; symbols are independent and uniform."""

    name: ClassVar[str] = "copy"
    symbols: int = 8

    def __post_init__(self) -> None:
        if self.symbols < 2:
            raise InvalidValue(f"A task needs at least 2 symbols but got {self.symbols}.")

    @property
    def vocabulary(self) -> int:
        """The symbols."""
        return self.symbols

    @property
    def chance(self) -> float:
        """The logarithm of their number."""
        return math.log(self.symbols)

    def draw(self, size: int, n: int, generator: torch.Generator) -> Batch:
        """Uniform symbols; the targets are the inputs."""
        inputs = torch.randint(self.symbols, (size, n), generator=generator)
        return inputs, inputs


@dataclass(frozen=True)
class Reverse(Copy):
    """Say the sequence from its end; symbols are independent and uniform (prediction V53)."""

    name: ClassVar[str] = "reverse"
    whole: ClassVar[bool] = True

    def draw(self, size: int, n: int, generator: torch.Generator) -> Batch:
        """Uniform symbols; the targets are the inputs from the last to the first."""
        inputs, _ = super().draw(size, n, generator)
        return inputs, inputs.flip(-1)


@dataclass(frozen=True)
class Characters(Task):
    """Say the next character at each place of a window of the sample text."""

    name: ClassVar[str] = "characters"
    causal: ClassVar[bool] = True
    usual_length: ClassVar[int] = 32

    @property
    def vocabulary(self) -> int:
        """The different characters of the text."""
        return int(_text().max()) + 1

    @property
    def chance(self) -> float:
        """The entropy of the frequencies of the characters."""
        return _entropy(_text())

    def draw(self, size: int, n: int, generator: torch.Generator) -> Batch:
        """Windows at uniform places; the targets are one character further.

        Raises:
            InvalidValue: for a window longer than the text.
        """
        text = _text()
        if n >= len(text):
            raise InvalidValue(
                f"The sample text has {len(text)} characters but sequences of {n} and one more "
                "are wanted; lower n."
            )
        starts = torch.randint(len(text) - n, (size, 1), generator=generator)
        windows = text[starts + torch.arange(n + 1)]
        return windows[:, :-1], windows[:, 1:]


@dataclass(frozen=True)
class ListOps(Task):
    """Say the value of a nested list at each place; blanks fill the sequence behind the list.

    Lists are those of the Long Range Arena of more than a quarter of the places.
    """

    name: ClassVar[str] = "listops"
    whole: ClassVar[bool] = True
    usual_length: ClassVar[int] = 48

    @property
    def vocabulary(self) -> int:
        """The words of a list, and the blank 0; a value is the entry of its digit."""
        return len(WORDS) + 1

    @property
    def chance(self) -> float:
        """The entropy of the values of 20,000 lists of the usual length."""
        return _entropy(self.draw(20_000, self.usual_length, torch.Generator())[1][:, 0])

    def draw(self, size: int, n: int, generator: torch.Generator) -> Batch:
        """Different lists, filled up with blanks on the right.

        Raises:
            InvalidValue: for sequences that no list fits.
        """
        seed = int(torch.randint(2**62, (1,), generator=generator))
        lists = list(islice(Grammar(max(1, n // 4), n + 1).lists(seed), size))
        targets = torch.tensor([DIGIT + one.value for one in lists])
        return _filled(lists, n), targets[:, None].expand(-1, n)


TASKS: Catalogue[Task] = Catalogue("task", [Reverse, Copy, Characters, ListOps])


def task_of(spec: str) -> Task:
    """The task that a spec string such as ``reverse:symbols=4`` names.

    Raises:
        UnknownName: for an unknown task, with the nearest one.
        InvalidValue: for an argument that cannot be read.
    """
    return TASKS.build(spec)


def _filled(lists: Sequence[Drawn], n: int) -> Int[Tensor, "batch n"]:
    """The tokens of each list and blanks behind them."""
    rows = [list(one.tokens) + [0] * (n - len(one.tokens)) for one in lists]
    return torch.tensor(rows)


def _entropy(symbols: Int[Tensor, " count"]) -> float:
    """The entropy of the frequencies of symbols, in nats."""
    shares = symbols.bincount().double() / len(symbols)
    return float(-torch.special.xlogy(shares, shares).sum())


@functools.cache
def _text() -> Int[Tensor, " length"]:
    """The sample text as places in the sorted list of its characters."""
    text = SAMPLE.read_text(encoding="utf-8")
    entries = {letter: k for k, letter in enumerate(sorted(set(text)))}
    return torch.tensor([entries[letter] for letter in text])
