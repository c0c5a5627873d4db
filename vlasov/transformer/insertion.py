"""Where a Transformer smooths its tokens: diffusions by position, read from one line of text.

``after-embedding:1,2,4;steps=2;norm+after-mlp`` is two positions joined by ``+``. Behind the name
come the scales (1 without), then options: ``norm``, ``conservative``, ``transposed``, and
``alpha=0.2``, ``steps=2``, ``kind=exact``, ``weights=1/0.6/0.3``.
"""

__all__ = ["POSITIONS_OF_DIFFUSION", "Diffusions"]

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue, Unsupported
from vlasov.transformer.diffusion_settings import Diffusion


@dataclass(frozen=True)
class Diffusions:
    """A diffusion for each of the seven positions, None where there is none.

    Args:
        after_embedding: on the embedded tokens, before the first block.
        after_mlp: in each layer, on the state after the MLP branch.
        between_layers: on the state after each layer but the last.
        before_norm: in each branch, on what the norm that reads the state takes.
        in_attention: in each layer, on the values; ``transposed`` on the weights along the keys.
        across_heads: in each layer, on what the heads saw, along the heads.
        after_attention: in each layer, on the state after the attention branch.

    Raises:
        Unsupported: for a transposed diffusion elsewhere than in attention.

    Example:
        >>> str(Diffusions.parse("after-mlp + after-embedding:1,2;norm"))
        'after-embedding:1,2;norm+after-mlp:1'
    """

    after_embedding: Diffusion | None = None
    after_mlp: Diffusion | None = None
    between_layers: Diffusion | None = None
    before_norm: Diffusion | None = None
    in_attention: Diffusion | None = None
    across_heads: Diffusion | None = None
    after_attention: Diffusion | None = None

    def __post_init__(self) -> None:
        for position, diffusion in self:
            if diffusion.transposed and position != "in-attention":
                raise Unsupported(
                    f"Transposed diffusion stands for that of attention weights but is set "
                    f"{position}; take it in-attention, or leave it out."
                )

    @classmethod
    def parse(cls, text: str) -> "Diffusions":
        """The diffusions that a line of text describes; ``none`` or nothing is none.

        Raises:
            UnknownName: for an unknown position or option, with the nearest one.
            InvalidValue: for a position given twice, or a number that cannot be read.
        """
        found: dict[str, Diffusion] = {}
        if text.strip() in ("", "none"):
            return cls()
        for item in text.split("+"):
            position, diffusion = _insertion(item.strip())
            if position in found:
                raise InvalidValue(
                    f"Each position takes one diffusion but '{position}' is given twice; join "
                    "its scales, as in 'after-mlp:1,2'."
                )
            found[position] = diffusion
        return cls(**{name.replace("-", "_"): one for name, one in found.items()})

    def __iter__(self) -> Iterator[tuple[str, Diffusion]]:
        """The positions in use with their diffusions."""
        for field in dataclasses.fields(self):
            diffusion: Diffusion | None = getattr(self, field.name)
            if diffusion is not None:
                yield field.name.replace("_", "-"), diffusion

    @property
    def in_blocks(self) -> tuple[str, ...]:
        """The positions in use that lie in the layers."""
        return tuple(name for name, _ in self if name != "after-embedding")

    def __str__(self) -> str:
        return "+".join(f"{name}:{_written(one)}" for name, one in self) or "none"


POSITIONS_OF_DIFFUSION = tuple(
    field.name.replace("_", "-") for field in dataclasses.fields(Diffusions)
)
"""The names of the positions."""

_FLAGS = ("norm", "conservative", "transposed")
_VALUES: dict[str, Callable[[str], object]] = {
    "alpha": float,
    "steps": int,
    "kind": str,
    "weights": lambda text: tuple(map(float, text.split("/"))),
    "scales": lambda text: tuple(map(int, text.split(","))),
}


_WANTED = {"steps": "a whole number", "scales": "whole numbers"}


def _insertion(text: str) -> tuple[str, Diffusion]:
    head, *options = (part.strip() for part in text.split(";"))
    position, colon, scales = (part.strip() for part in head.partition(":"))
    if position not in POSITIONS_OF_DIFFUSION:
        raise nearest(position, POSITIONS_OF_DIFFUSION, kind="position of diffusion")
    given: dict[str, Any] = {"scales": _value("scales", scales) if colon else (1,)}
    for option in options:
        given |= _option(option)
    return position, Diffusion(**given)


def _option(text: str) -> dict[str, object]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if name not in _FLAGS and name not in _VALUES:
        raise nearest(name, (*_FLAGS, *_VALUES), kind="option of diffusion")
    if (name in _FLAGS) == bool(equals):
        raise InvalidValue(
            f"'{name}' of diffusion {'takes no value' if equals else 'needs a value'} but got "
            f"'{text}'; write '{name if equals else name + '=VALUE'}'."
        )
    return {name: True if name in _FLAGS else _value(name, value)}


def _value(name: str, text: str) -> object:
    try:
        return _VALUES[name](text)
    except ValueError:
        raise InvalidValue(
            f"'{name}' of diffusion takes {_WANTED.get(name, 'numbers')} but got '{text}'; write "
            "it as in 'after-embedding:1,2;steps=2;alpha=0.2;weights=1/0.6'."
        ) from None


def _written(diffusion: Diffusion) -> str:
    """Scales, then the options that differ from their defaults."""
    words = [",".join(map(str, diffusion.scales))]
    for name, default in ((f.name, f.default) for f in dataclasses.fields(diffusion)):
        value = getattr(diffusion, name)
        if name == "scales" or value == default:
            continue
        text = "/".join(map(repr, value)) if name == "weights" else str(value)
        text = text.replace("e+", "e")  # a plus would end the position
        words.append(name if name in _FLAGS else f"{name}={text}")
    return ";".join(words)
