"""Small tasks that networks are trained on: sequences with a symbol to name at every place."""

__all__ = ["TASKS", "Characters", "Copy", "Reverse", "Task", "task_of"]

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.cloud_tokens import SAMPLE

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
        shares = _text().bincount().double() / len(_text())
        return float(-(shares * shares.log()).sum())

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


TASKS: Catalogue[Task] = Catalogue("task", [Reverse, Copy, Characters])


def task_of(spec: str) -> Task:
    """The task that a spec string such as ``reverse:symbols=4`` names.

    Raises:
        UnknownName: for an unknown task, with the nearest one.
        Unsupported: for ListOps, which cannot be drawn yet.
    """
    if spec.partition(":")[0].strip() == "listops":
        raise Unsupported(
            "The task 'listops' has no generator in vlasov yet. Choose reverse, copy or "
            "characters."
        )
    return TASKS.build(spec)


@functools.cache
def _text() -> Int[Tensor, " length"]:
    """The sample text as places in the sorted list of its characters."""
    text = SAMPLE.read_text(encoding="utf-8")
    entries = {letter: k for k, letter in enumerate(sorted(set(text)))}
    return torch.tensor([entries[letter] for letter in text])
