"""Labelled token sequences of unequal length, stored flat, and padded batches of them."""

__all__ = ["Batch", "Examples", "stacked", "stacked_bytes"]

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor

from vlasov.errors import InvalidValue, ShapeMismatch

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples side by side, as long as the longest of them.

    Args:
        inputs: token ids of shape ``b n``, or ``b 2 n`` with two towers; 0 where there is none.
        padding: True where there is no token; of the shape of the inputs.
        labels: the classes.
    """

    inputs: Int[Tensor, "b *towers n"]
    padding: Bool[Tensor, "b *towers n"]
    labels: Int[Tensor, " b"]


@dataclass(frozen=True, eq=False)
class Examples:
    """Sequences one after the other; an example owns `towers` neighbouring ones.

    Args:
        tokens: the ids of all sequences, from 1 on: 0 is no token.
        offsets: where each sequence begins, and where the last one ends.
        labels: the class of each example.
        towers: sequences of one example.
        zero_is_padding: the ids may be 0, and such positions are masked: the rule of the
            published code, under which black pixels are no tokens.
    """

    tokens: Integer[Tensor, " total"]
    offsets: Int[Tensor, " sequences_plus_1"]
    labels: Int[Tensor, " m"]
    towers: int = 1
    zero_is_padding: bool = False

    def __post_init__(self) -> None:
        _require_consistent(self)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Int[Tensor, "m towers"]:
        """The number of tokens of each sequence."""
        return self.offsets.diff().view(len(self), self.towers)

    def batch(self, rows: Sequence[int] | Int[Tensor, " b"]) -> Batch:
        """The examples of these numbers, padded on the right to the longest of them."""
        chosen = torch.as_tensor(rows, dtype=torch.int64)
        lengths = self.lengths[chosen]
        begins = self.offsets[:-1].view(len(self), self.towers)[chosen]
        positions = torch.arange(int(lengths.max()))
        padding = positions >= lengths[..., None]
        places = (begins[..., None] + positions).clamp(max=len(self.tokens) - 1)
        inputs = self.tokens[places].long().masked_fill(padding, 0)
        if self.zero_is_padding:
            padding = inputs == 0
        if self.towers == 1:
            inputs, padding = inputs[:, 0], padding[:, 0]
        return Batch(inputs, padding, self.labels[chosen])

    def sequence(self, row: int, tower: int = 0) -> Integer[Tensor, " n"]:
        """The ids of one sequence."""
        begin, end = self.offsets[row * self.towers + tower :][:2].tolist()
        return self.tokens[begin:end]

    def select(self, rows: Sequence[int] | Int[Tensor, " b"]) -> "Examples":
        """The examples of these numbers, in this order."""
        chosen = torch.as_tensor(rows, dtype=torch.int64)
        lengths = self.lengths[chosen].flatten()
        begins = self.offsets[:-1].view(len(self), self.towers)[chosen].flatten()
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shifts = (begins - offsets[:-1]).repeat_interleave(lengths)
        tokens = self.tokens[shifts + torch.arange(len(shifts))]
        return replace(self, tokens=tokens, offsets=offsets, labels=self.labels[chosen])

    def digest(self) -> str:
        """The SHA-256 of ids, lengths and labels, whatever type the ids are stored in."""
        found = hashlib.sha256(f"{self.towers} {self.zero_is_padding} ".encode())
        for part in (self.tokens, self.offsets, self.labels):
            for piece in part.split(_PIECE):  # a whole copy in 8 bytes a token may not fit
                found.update(piece.to(torch.int64).numpy().astype("<i8").tobytes())
        return found.hexdigest()


def stacked(
    sequences: Iterable[npt.NDArray[np.integer]],
    labels: Sequence[int] | npt.NDArray[np.integer],
    *,
    towers: int = 1,
    zero_is_padding: bool = False,
) -> Examples:
    """Examples from one array of ids for each sequence.

    Example:
        >>> stacked([np.array([5, 6]), np.array([7])], [0, 1]).batch([0, 1]).inputs.tolist()
        [[5, 6], [7, 0]]
    """
    arrays = [np.asarray(sequence, dtype=np.int16) for sequence in sequences]
    tokens = np.concatenate([np.zeros(0, np.int16), *arrays])
    offsets = np.cumsum([0, *map(len, arrays)])
    return _examples(tokens, offsets, labels, towers, zero_is_padding)


def stacked_bytes(
    texts: Iterable[bytes], labels: Sequence[int], *, towers: int = 1, shift: int = 1
) -> Examples:
    """Examples whose ids are bytes plus a shift: 1 for text, 0 where the bytes are ids already.

    Example:
        >>> stacked_bytes(["é漢".encode()], [0]).tokens.tolist()
        [196, 170, 231, 189, 163]
    """
    flat, lengths = bytearray(), [0]
    for text in texts:
        flat += text
        lengths.append(len(text))
    found = np.frombuffer(flat, dtype=np.uint8)
    tokens = found.astype(np.int16) + np.int16(shift) if shift else found.copy()
    return _examples(tokens, np.cumsum(lengths), labels, towers, False)


def _examples(
    tokens: npt.NDArray[np.integer],
    offsets: npt.NDArray[np.int64],
    labels: Sequence[int] | npt.NDArray[np.integer],
    towers: int,
    zero_is_padding: bool,
) -> Examples:
    return Examples(
        torch.from_numpy(tokens),
        torch.from_numpy(offsets),
        torch.from_numpy(np.asarray(labels, dtype=np.int64)),
        towers,
        zero_is_padding,
    )


def _require_consistent(given: Examples) -> None:
    sequences = len(given.labels) * given.towers
    if given.towers < 1 or len(given.offsets) != sequences + 1:
        raise ShapeMismatch(
            f"{len(given.labels)} labels of {given.towers} towers need {sequences + 1} offsets "
            f"but got {len(given.offsets)}. Give one offset more than there are sequences."
        )
    lengths = given.offsets.diff()
    if given.offsets[0] != 0 or given.offsets[-1] != len(given.tokens) or (lengths < 1).any():
        raise InvalidValue(
            f"Offsets must rise from 0 to the {len(given.tokens)} tokens, and no sequence may be "
            f"empty, but they run from {given.offsets[0]} to {given.offsets[-1]} with "
            f"{int((lengths < 1).sum())} empty sequences. Leave empty sequences out."
        )
    if not given.zero_is_padding and len(given.tokens) and int(given.tokens.min()) < 1:
        raise InvalidValue(
            f"Token ids begin at 1 but the smallest is {int(given.tokens.min())}. Shift them: "
            "0 is padding alone."
        )
