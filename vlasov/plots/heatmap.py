"""The attention matrix as a picture: row i is what token i sees."""

__all__ = ["attention_heatmap"]

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.plots.style import SMALL, dress, require_flat, typeset

_NAMED = 16  # more names than this do not fit beside axes one column wide


def attention_heatmap(
    matrix: Float[Tensor, "..."], ax: Axes, *, tokens: Sequence[str] | None = None
) -> Axes:
    """Draw one attention matrix with its colour bar, queries downwards and keys across.

    Weights of both signs (linear attention) get two-sided colours with white at zero.

    Args:
        matrix: one n × n matrix: `attention_matrix(pde, cloud)[head]`.
        ax: flat axes.
        tokens: names for rows and columns; beyond 16 tokens, every second, third, ...

    Raises:
        ShapeMismatch: for anything but one square matrix, or a wrong number of names.
        NotFinite: for NaN or infinity in the matrix.
    """
    require_flat(ax, wanted="A heat map")
    _check(matrix, tokens)
    weights = matrix.detach().cpu().double().numpy()
    top = float(np.abs(weights).max())
    signed = bool((weights < 0).any())
    image = ax.imshow(
        weights,
        cmap="PuOr" if signed else "cividis",
        vmin=-top if signed else 0.0,
        vmax=top,
        interpolation="nearest",
    )
    ax.set(xlabel="key $j$", ylabel="query $i$")
    dress(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if tokens is not None:
        _name(ax, tokens)
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.05, 1.0)))
    bar.outline.set_visible(False)
    bar.set_label("weight $P_{ij}$")
    dress(bar.ax)
    return ax


def _check(matrix: Float[Tensor, "..."], tokens: Sequence[str] | None) -> None:
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeMismatch(
            f"A heat map needs one square matrix but got shape {shape}. "
            "Choose one cloud and one head, as in `attention_matrix(pde, cloud)[0]`."
        )
    if tokens is not None and len(tokens) != shape[0]:
        raise ShapeMismatch(
            f"A matrix of {shape[0]} tokens needs {shape[0]} names but got {len(tokens)}. "
            "Give one name per token, or none."
        )
    bad = int((~matrix.isfinite()).sum())
    if bad:
        raise NotFinite(
            f"A heat map needs finite weights but {bad} of {matrix.numel()} are NaN or infinite. "
            "Look at the scores: β or the tokens are too large for this precision."
        )


def _name(ax: Axes, tokens: Sequence[str]) -> None:
    places = range(0, len(tokens), -(-len(tokens) // _NAMED))
    names = [tokens[place] for place in places]
    ax.set_xticks(places, names, rotation=90)
    ax.set_yticks(places, names)
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        typeset(text, size=SMALL)
