r"""What the layers of a network do to the cloud of its tokens, state by state.

A stack of states :math:`X_0, \dots, X_L` (after the embedding and after each layer) has the axes
``(L + 1, *batch, n, d)``. With weights :math:`w` and :math:`u_i = x_i / |x_i|`

.. math::

    \mathrm{norm} = \sqrt{\textstyle\sum_i w_i |x_i|^2 / d}, \qquad
    \mathrm{token\ cosine} = \frac{|\sum_i w_i u_i|^2 - \sum_i w_i^2}{1 - \sum_i w_i^2}, \qquad
    \mathrm{input\ cosine} = \sum_i w_i \cos(x_i, x_i^{0})

.. math::

    \mathrm{rank\ one\ distance} = |X - 1 m^T| / |X|, \qquad
    \mathrm{effective\ rank} = \exp\Bigl(-\sum_k p_k \log p_k\Bigr)

with the shares p of the covariance eigenvalues. The token cosine is the mean over pairs of
distinct tokens. A spread below `floor` times the size of the cloud is rounding: such directions
count as none, and a cloud without any other has effective rank 0. From the first state that is not
finite on (`overflow`) every number is NaN.

Source: predictions V45 to V47b of the specification.
"""

__all__ = [
    "Diagnostics",
    "diagnose",
    "effective_rank",
    "input_cosine",
    "rank_one_distance",
    "token_cosine",
    "token_norm",
]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import LogWeights, Points
from vlasov.errors import InvalidValue, ShapeMismatch

_FLOOR = 1e3  # units of rounding


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Numbers of each state, means over the batch; `overflow` is the first that is not finite."""

    norm: Float[Tensor, " states"]
    token_cosine: Float[Tensor, " states"]
    input_cosine: Float[Tensor, " states"]
    effective_rank: Float[Tensor, " states"]
    rank_one_distance: Float[Tensor, " states"]
    overflow: int | None = None


def diagnose(states: Sequence[Points], log_w: LogWeights | None = None) -> Diagnostics:
    """Measure every state of a network on the same tokens, of equal weight by default.

    Raises:
        InvalidValue: for no state, or one that is no tensor of real numbers.
        ShapeMismatch: for states or weights of different shapes.
    """
    _require_states(states, log_w)
    finite = [bool(state.isfinite().all()) for state in states]
    known = finite.index(False) if False in finite else len(states)
    columns = {name: states[0].new_full((len(states),), torch.nan) for name in _MEASURES}
    if known > 0:
        x = torch.stack([state.detach() for state in states[:known]])
        for name, measure in _MEASURES.items():
            columns[name][:known] = _batch_mean(measure(x, log_w))
    return Diagnostics(**columns, overflow=known if known < len(states) else None)


def _require_states(states: Sequence[object], log_w: LogWeights | None) -> None:
    if not states:
        raise InvalidValue("A network has one state at least but got none. Pass its embedding.")
    shapes = list(dict.fromkeys(_shape(state) for state in states))
    weights = shapes[0][:-1] if log_w is None else tuple(log_w.shape)
    if len(shapes) > 1 or len(shapes[0]) < 2 or weights not in (shapes[0][:-1], shapes[0][-2:-1]):
        raise ShapeMismatch(
            f"States have one shape (*batch, n, d) and log weights its beginning but got states "
            f"{shapes} and log weights {weights}. Pass those of one run."
        )


def _shape(state: object) -> tuple[int, ...]:
    if isinstance(state, Tensor) and state.is_floating_point():
        return tuple(state.shape)
    found = state.dtype if isinstance(state, Tensor) else type(state).__name__
    raise InvalidValue(
        f"The states of a network are tensors of real numbers but one is {found}. Pass those of "
        "`Transformer.states`."
    )


def token_norm(x: Points, log_w: LogWeights | None = None) -> Float[Tensor, "*batch"]:
    """The root mean square of all coordinates.

    Example:
        >>> token_norm(torch.tensor([[1.0, 7.0]])).item()
        5.0
    """
    scaled, scale = _scaled(x)
    return scale * (_weights(x, log_w) * scaled.square().mean(-1)).sum(-1).sqrt()


def token_cosine(x: Points, log_w: LogWeights | None = None) -> Float[Tensor, "*batch"]:
    """The mean cosine of two distinct tokens; NaN for a single one.

    Example:
        >>> token_cosine(torch.tensor([[1.0, 0.0], [0.0, 3.0]])).item()
        0.0
    """
    u, there = _directions(x)
    w = _weights(x, log_w) * there
    w = w / w.sum(-1, keepdim=True)
    same = w.square().sum(-1)
    return ((w[..., None] * u).sum(-2).square().sum(-1) - same) / (1 - same)


def input_cosine(
    x: Points, start: Points, log_w: LogWeights | None = None
) -> Float[Tensor, "*batch"]:
    """The mean over tokens of the cosine between a token and where it started; 0 at the origin."""
    (u, _), (v, _) = _directions(x), _directions(start)
    return (_weights(x, log_w) * (u * v).sum(-1)).sum(-1)


def rank_one_distance(x: Points, log_w: LogWeights | None = None) -> Float[Tensor, "*batch"]:
    """The part of the cloud that is not its mean, relative to all of it, in Frobenius norms."""
    centred, whole = _parts(x, log_w)
    size = torch.linalg.matrix_norm(whole)
    return torch.linalg.matrix_norm(centred) / torch.where(size > 0, size, 1.0)


def effective_rank(
    x: Points, log_w: LogWeights | None = None, *, floor: float | None = None
) -> Float[Tensor, "*batch"]:
    """The exponential of the entropy of the covariance spectrum; 0 for tokens that coincide.

    Standard deviations below `floor` (by default 1000 roundings) of the size of the cloud count as
    zero.

    Source: Roy and Vetterli (EUSIPCO 2007), for covariance eigenvalues.
    """
    centred, whole = _parts(x, log_w)
    bar = (_FLOOR * torch.finfo(x.dtype).eps if floor is None else floor) * (
        torch.linalg.matrix_norm(whole)
    )
    spread = torch.linalg.svdvals(centred)
    kept = torch.where(spread > bar[..., None], spread, 0.0).square()
    total = kept.sum(-1)
    shares = kept / torch.where(total > 0, total, 1.0)[..., None]
    return torch.where(total > 0, torch.special.entr(shares).sum(-1).exp(), 0.0)


_MEASURES = {
    "norm": token_norm,
    "token_cosine": token_cosine,
    "input_cosine": lambda x, log_w: input_cosine(x, x[:1].expand_as(x), log_w),
    "effective_rank": effective_rank,
    "rank_one_distance": rank_one_distance,
}


def _batch_mean(values: Tensor) -> Tensor:
    return values.flatten(1).mean(-1) if values.dim() > 1 else values


def _weights(x: Tensor, log_w: Tensor | None) -> Tensor:
    return x.new_full(x.shape[:-1], 1 / x.shape[-2]) if log_w is None else log_w.exp().to(x)


def _scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    """The cloud over its largest coordinate, whose squares stay in range; and that coordinate."""
    scale = x.abs().amax((-2, -1))
    return x / torch.where(scale > 0, scale, 1.0)[..., None, None], scale


def _directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors, and where they exist; zero vectors at the origin."""
    largest = x.abs().amax(-1, keepdim=True)
    there = largest > 0
    u = torch.nn.functional.normalize(x / torch.where(there, largest, 1.0), dim=-1, eps=0.5)
    return u, there.squeeze(-1)


def _parts(x: Tensor, log_w: Tensor | None) -> tuple[Tensor, Tensor]:
    """The centred cloud and the whole one, rows times the roots of weights."""
    scaled, _ = _scaled(x)
    w = _weights(x, log_w)[..., None]
    mean = (w * scaled).sum(-2, keepdim=True)
    return (scaled - mean) * w.sqrt(), scaled * w.sqrt()
