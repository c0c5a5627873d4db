"""From inputs to points: entries of a table, patches or points, with positions added."""

__all__ = ["Embedding", "byte_tokens"]

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from vlasov._numbers import require_finite
from vlasov._shapes import Points
from vlasov.errors import InvalidValue
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.input_checks import require_entries, require_padding, require_vectors
from vlasov.transformer.norm_layers import Norm
from vlasov.transformer.positions import place, sinusoidal

# An axis of their own: a `cls` token makes one point more.
Inputs = Int[Tensor, "*batch tokens"] | Float[Tensor, "*batch tokens features"]
Padding = Bool[Tensor, "*batch tokens"]


def byte_tokens(texts: Sequence[str]) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
    """The UTF-8 bytes of texts, filled up on the right, and True where there is padding.

    Raises:
        InvalidValue: for no text, an empty one, or one outside a list.
    """
    _require_texts(texts)
    coded = [list(text.encode()) for text in texts]
    if not coded or not all(coded):
        raise InvalidValue(
            f"Every text needs one byte at least but {coded.count([])} of {len(coded)} are "
            "empty; leave them out."
        )
    longest = max(map(len, coded))
    ids = torch.tensor([one + [0] * (longest - len(one)) for one in coded])
    lengths = torch.tensor([len(one) for one in coded])
    return ids, torch.arange(longest) >= lengths[:, None]


def _require_texts(given: object) -> None:
    if isinstance(given, list | tuple) and all(isinstance(text, str) for text in given):
        return
    raise InvalidValue(
        f"Bytes come from a list of texts but got {given!r}; write it as in ['a text']."
    )


class Embedding(nn.Module):
    """The table, the positions, the ``cls`` token in front, and the norm after them."""

    def __init__(self, config: TransformerConfig, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.config = config
        self.places: Tensor | None
        d, entries = config.width, config.entries
        self.table = nn.Parameter(torch.zeros(entries, d)) if entries else None
        self.patch = nn.Linear(config.patch, d) if config.patch else None
        self.cls = nn.Parameter(torch.zeros(d)) if config.pooling == "cls" else None
        if config.positions == "sinusoidal":
            self.register_buffer("places", sinusoidal(config.max_positions, d), persistent=False)
        else:
            learned = config.positions == "learned"
            rows = nn.Parameter(torch.zeros(config.max_positions, d)) if learned else None
            self.register_parameter("places", rows)
        self.norm = Norm(d, eps=eps) if config.embedding_norm else None

    def forward(self, inputs: Inputs, padding: Padding | None = None) -> Points:
        """The points of the first state, ``cls`` included.

        Raises:
            InvalidValue: for no token, entries beyond the table, more tokens than positions, or
                inputs and padding of another type or device.
            NotFinite: for NaN or infinity in patches or points.
            ShapeMismatch: for inputs or padding of another shape.
        """
        x = self._content(inputs)
        if self.cls is not None:
            x = torch.cat([self.cls.expand(*x.shape[:-2], 1, -1), x], dim=-2)
        if padding is not None:
            require_padding(padding, inputs.shape[: x.ndim - 1], x)
        self._require_positions(x.shape[-2])
        if self.places is not None:
            x = x + self._positions(self.places, x.shape[-2], padding).to(x.dtype)
        x = x if self.norm is None else self.norm(x)
        return functional.dropout(x, self.config.dropout, self.training)

    def _content(self, inputs: Tensor) -> Tensor:
        if self.table is not None:
            return functional.embedding(require_entries(inputs, self.table), self.table)
        wanted = self.config.patch or self.config.width
        weight = None if self.patch is None else self.patch.weight
        x = require_vectors(inputs, wanted, weight, name="inputs")
        require_finite(x, name="The inputs")
        return x if self.patch is None else self.patch(x)

    def _require_positions(self, n: int) -> None:
        longest = self.config.max_positions
        if self.config.positions != "none" and n > longest:
            raise InvalidValue(
                f"The model has {longest} positions but the sequence has {n} tokens; "
                "shorten it or raise max_positions."
            )

    def _positions(self, places: Tensor, n: int, padding: Tensor | None) -> Tensor:
        if padding is None:
            return places[:n]
        if self.cls is not None:
            padding = functional.pad(padding, (1, 0), value=False)
        return places[place(padding)]
