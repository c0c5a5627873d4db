"""The checks that make a set of points a probability measure; the door of `Cloud`."""

__all__ = ["checked_points", "checked_positions", "log_of_weights", "require_unit_sum", "wide"]

import math

import torch
from torch import Tensor

from vlasov._numbers import Numbers, floating, require_finite
from vlasov.errors import InvalidValue, ShapeMismatch


def wide(dtype: torch.dtype) -> torch.dtype:
    """The precision of weights and positions: that of the points, but fp32 at least."""
    return torch.promote_types(dtype, torch.float32)


def checked_points(given: Numbers) -> Tensor:
    """Finite points with both axes and at least one token."""
    x = floating(given, name="Points")
    if x.dim() < 2:
        raise ShapeMismatch(
            f"A cloud needs points of shape (n, d) but got {tuple(x.shape)}. "
            "For n points on a line write `points[:, None]`, for one point `points[None, :]`."
        )
    if 0 in x.shape:
        raise ShapeMismatch(
            f"A cloud needs one token and one coordinate at least but got shape {tuple(x.shape)}. "
            "Check how the points were selected."
        )
    require_finite(x, name="Points")
    return x


def log_of_weights(given: Numbers | None, x: Tensor) -> Tensor:
    """Logarithms of the weights, normalised; 1/n each where none are given."""
    if given is None:
        return x.new_full(x.shape[:-1], -math.log(x.shape[-2]), dtype=wide(x.dtype))
    w = floating(given, name="Weights")
    _require_one_per_token(w, x, name="weights")
    require_finite(w, name="Weights")
    if bool((w < 0).any()):
        raise InvalidValue(
            f"Weights must be 0 or more but the smallest is {float(w.min()):.3g}. "
            "Remove the tokens of negative weight, or split the cloud by sign."
        )
    require_unit_sum(w)
    log_w = w.to(torch.promote_types(w.dtype, wide(x.dtype))).log().log_softmax(-1)
    return log_w.to(x.device, wide(x.dtype)).expand(x.shape[:-1])


def require_unit_sum(w: Tensor) -> None:
    """Refuse weights whose sum differs from one by more than rounding can explain.

    Raises:
        InvalidValue: with the sum found.
    """
    total = w.detach().sum(-1, dtype=torch.float64).flatten()
    worst = total[(total - 1).abs().argmax()]
    # 1e-6 of the sum for weights typed by hand; two roundings where the format is coarser.
    if not bool((worst - 1).abs() <= max(1e-6, 2 * torch.finfo(w.dtype).eps)):
        raise InvalidValue(
            f"Weights must sum to 1 but sum to {float(worst):.9g}. "
            "Divide them by their sum (log weights: use `log_softmax`)."
        )


def checked_positions(given: Numbers, x: Tensor) -> Tensor:
    """Finite positions, one for each token."""
    positions = floating(given, name="Positions")
    _require_one_per_token(positions, x, name="positions")
    require_finite(positions, name="Positions")
    return positions.to(x.device, wide(x.dtype)).expand(x.shape[:-1])


def _require_one_per_token(numbers: Tensor, x: Tensor, *, name: str) -> None:
    wanted = tuple(x.shape[:-1])
    if tuple(numbers.shape) not in {wanted, wanted[-1:]}:
        raise ShapeMismatch(
            f"Points of shape {tuple(x.shape)} need {name} of shape {wanted} but got "
            f"{tuple(numbers.shape)}. Give one number for each token."
        )
