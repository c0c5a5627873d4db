"""The sizes and choices of a Transformer, checked before a weight is drawn."""

__all__ = ["TransformerConfig"]

import math
from collections.abc import Iterable
from dataclasses import dataclass

from vlasov._fields import require_kinds
from vlasov.attention import build_attention
from vlasov.catalogue import nearest
from vlasov.engines import ENGINES
from vlasov.errors import InvalidValue, Unsupported

POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi")
MLPS = ("none", "relu", "gelu", "gelu-tanh", "swiglu")
POOLINGS = ("mean", "cls", "last")
HEADS = ("classify", "two-tower", "language")
INITS = ("gaussian", "he", "torch")
ROTARY_PAIRS = ("halves", "neighbours")


@dataclass(frozen=True)
class TransformerConfig:
    """A Transformer without its stabilisers.

    Args:
        width: numbers per token, d.
        depth: layers, each attention then MLP.
        heads: attention heads.
        kv_heads: heads of keys and values, each shared by heads/kv_heads queries; None for heads.
        head_width: width k of queries, keys and values; None for width/heads.
        attention: a variant by spec string, or one per head joined by ``+``; ``none``.
        beta: factor of the scores; None for 1/sqrt(k).
        causal: a token sees itself and earlier ones.
        positions: ``none``, ``sinusoidal``, ``learned``, ``rotary`` or ``alibi``.
        rotary_base: base of the rotary angles.
        rotary_pairs: ``halves`` turns coordinate i with i + k/2, ``neighbours`` 2i with 2i + 1.
        max_positions: longest sequence, ``cls`` included; ``none`` does not limit it.
        mlp: ``none``, ``relu``, ``gelu`` (exact), ``gelu-tanh`` or ``swiglu``.
        mlp_width: hidden width; None for 4 d.
        bias: whether the maps of attention and MLP have offsets.
        vocabulary: tokens are entries of a table of this size.
        patch: tokens are vectors of this many numbers, mapped linearly.
        bytes: tokens are bytes; same as a vocabulary of 256.
        embedding_norm: a LayerNorm after the embedding, with the eps of the scheme.
        classes: outputs of ``classify`` and ``two-tower``; 0 for states only.
        pooling: ``mean`` over real tokens, a ``cls`` token put in front, or the ``last`` token.
        head: ``classify``, ``two-tower`` (pairs of sequences) or ``language`` (next token).
        tied: the language head is the token table.
        dropout: share of numbers dropped after embedding and branches, in training.
        init: ``gaussian`` (variance 1/fan-in), ``he`` (2/fan-in before a ReLU), or ``torch``.
        engine: how attention sums are evaluated.

    With neither vocabulary, patch nor bytes the model takes points of width d.

    Raises:
        InvalidValue: for sizes that do not fit, or a field of another type.
        UnknownName: for a choice that does not exist.
        Unsupported: for a combination without meaning.
    """

    width: int = 128
    depth: int = 6
    heads: int = 8
    kv_heads: int | None = None
    head_width: int | None = None
    attention: str = "softmax"
    beta: float | None = None
    causal: bool = False
    positions: str = "sinusoidal"
    rotary_base: float = 10_000.0
    rotary_pairs: str = "halves"
    max_positions: int = 1024
    mlp: str = "gelu"
    mlp_width: int | None = None
    bias: bool = True
    vocabulary: int = 0
    patch: int = 0
    bytes: bool = False
    embedding_norm: bool = False
    classes: int = 0
    pooling: str = "mean"
    head: str = "classify"
    tied: bool = False
    dropout: float = 0.0
    init: str = "gaussian"
    engine: str = "auto"

    def __post_init__(self) -> None:
        require_kinds(self)
        for name in ("width", "depth", "heads", "max_positions"):
            if (found := getattr(self, name)) < 1:
                raise InvalidValue(f"A Transformer needs {name} of at least 1 but got {found}.")
        for name in ("vocabulary", "patch", "classes"):
            if (found := getattr(self, name)) < 0:
                raise InvalidValue(f"{name} cannot be negative but is {found}; 0 is none.")
        choices = {
            "positions": POSITIONS, "mlp": MLPS, "pooling": POOLINGS, "head": HEADS,
            "init": INITS, "rotary_pairs": ROTARY_PAIRS,
        }  # fmt: skip
        for name, known in choices.items():
            _require_one_of(name, getattr(self, name), known)
        if self.attention != "none":
            build_attention(self.attention)
        ENGINES.build(self.engine)
        self._check_heads()
        self._check_numbers()
        self._check_inputs()

    def _check_heads(self) -> None:
        if self.head_width is None and self.width % self.heads:
            raise InvalidValue(
                f"The heads must divide the width but {self.width} is no multiple of "
                f"{self.heads}; change one of them, or give head_width."
            )
        if self.head_width is not None and self.head_width < 1:
            raise InvalidValue(f"head_width must be at least 1 but is {self.head_width}.")
        if self.kv_heads is not None and (self.kv_heads < 1 or self.heads % self.kv_heads):
            raise InvalidValue(
                f"kv_heads must divide the heads but {self.heads} is no multiple of "
                f"{self.kv_heads}; each key head serves as many query heads."
            )
        if self.positions == "rotary" and self.k % 2:
            raise InvalidValue(
                f"Rotary positions turn pairs of coordinates but the head width is {self.k}; "
                "make it even."
            )

    def _check_numbers(self) -> None:
        if self.mlp_width is not None and self.mlp_width < 1:
            raise InvalidValue(f"mlp_width must be at least 1 but is {self.mlp_width}.")
        if not 0 <= self.dropout < 1:
            raise InvalidValue(f"dropout is a share in [0, 1) but is {self.dropout}.")
        if self.beta is not None and not math.isfinite(self.beta):
            raise InvalidValue(f"beta must be a finite number but is {self.beta}; give one.")
        if not (math.isfinite(self.rotary_base) and self.rotary_base > 0):
            raise InvalidValue(f"rotary_base must be above 0 but is {self.rotary_base}.")

    def _check_inputs(self) -> None:
        if sum(map(bool, (self.vocabulary, self.patch, self.bytes))) > 1:
            raise InvalidValue(
                f"Tokens are entries, patches or bytes but vocabulary={self.vocabulary}, "
                f"patch={self.patch} and bytes={self.bytes}; give one of the three."
            )
        if self.head == "language" and not self.entries:
            raise Unsupported(
                "A language head predicts entries of a vocabulary but there is none; give "
                "vocabulary, or bytes=True."
            )
        if self.head == "language" and not self.causal:
            raise Unsupported(
                "A language head predicts the next token, which a token must not see; set "
                "causal=True."
            )

        if self.pooling == "cls" and self.causal:
            raise Unsupported(
                "A cls token stands in front and must see the others but causal=True hides them; "
                "take pooling='last' or 'mean'."
            )

    @property
    def entries(self) -> int:
        """Size of the token table; 0 where there is none."""
        return 256 if self.bytes else self.vocabulary

    @property
    def k(self) -> int:
        """Width of queries, keys and values of one head."""
        return self.width // self.heads if self.head_width is None else self.head_width

    @property
    def score_factor(self) -> float:
        """The factor beta of the scores."""
        return 1 / math.sqrt(self.k) if self.beta is None else self.beta

    @property
    def hidden(self) -> int:
        """Hidden width of the MLP."""
        return 4 * self.width if self.mlp_width is None else self.mlp_width


def _require_one_of(name: str, found: str, known: Iterable[str]) -> None:
    if found not in known:
        raise nearest(found, known, kind=name)
