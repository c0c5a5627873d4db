"""Transport along lines through the origin: directions, and the p-th powers along them."""

__all__ = ["slice_power", "slice_powers", "unit_directions"]

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.transport.checks import Pair
from vlasov.transport.line import line_power, matched_power

_BLOCK = 2**22


def unit_directions(
    given: int | Tensor, d: int, generator: torch.Generator | None
) -> Float[Tensor, "k d"]:
    """Unit vectors along given rows, or a number of uniform draws.

    Raises:
        InvalidValue: for no direction, or one of length 0.
        ShapeMismatch: for rows of another width.
    """
    if isinstance(given, Tensor):
        theta = given.to(device="cpu", dtype=torch.float64)
        if theta.shape[-1] != d:
            raise ShapeMismatch(
                f"Directions need the width of the clouds, {d}, but have shape "
                f"{tuple(theta.shape)}. Give one row for each direction."
            )
    else:
        source = torch.Generator().manual_seed(0) if generator is None else generator
        theta = torch.randn(max(given, 0), d, generator=source, dtype=torch.float64)
    length = theta.norm(dim=-1, keepdim=True)
    if len(theta) == 0 or not bool(((length > 0) & length.isfinite()).all()):
        raise InvalidValue(
            f"Slices need one direction at least, all of positive length, but got {len(theta)} "
            f"with lengths from {float(length.detach().min()) if len(theta) else 0:.3g}. "
            "Give a positive number, or rows that are not zero."
        )
    return theta / length


def slice_powers(pair: Pair, theta: Tensor) -> Iterator[Tensor]:
    """The p-th powers along directions, block by block."""
    if not pair.matched or pair.a.weights.requires_grad or pair.b.weights.requires_grad:
        yield from (slice_power(pair, t).unsqueeze(0) for t in theta)
        return
    for block in theta.split(max(1, _BLOCK // pair.a.n)):
        yield matched_power(block @ pair.a.points.mT, block @ pair.b.points.mT, pair.p)


def slice_power(pair: Pair, theta: Tensor) -> Float[Tensor, ""]:
    """The p-th power along one direction."""
    x, y = pair.a.points @ theta, pair.b.points @ theta
    if pair.matched and not (pair.a.weights.requires_grad or pair.b.weights.requires_grad):
        return matched_power(x, y, pair.p)
    return line_power(pair.a.at(x[:, None]), pair.b.at(y[:, None]), pair.p)
