"""From a least cost in scaled units to a distance in the units of the points."""

__all__ = ["require_no_underflow", "rescaled"]

from collections.abc import Callable, Mapping

from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotFinite
from vlasov.transport.result import Distance
from vlasov.transport.roots import safe_root


def rescaled(  # noqa: PLR0913 - a number, its unit, and what is known of it
    power: Float[Tensor, ""],
    *,
    p: float,
    scale: float,
    method: str,
    optimal: bool,
    gap: float | None = None,
    facts: Mapping[str, float | int | str] | None = None,
) -> Distance:
    """The record of a distance whose p-th power is `power` where `scale` is the unit of length.

    Raises:
        NotFinite: for a p-th power beyond the largest number.
    """
    whole = power * power.new_tensor(scale).pow(p)
    if not bool(whole.isfinite()):
        raise NotFinite(
            f"The p-th power of a distance must be finite but overflows for p = {p:g} and points "
            f"of size {scale:.3g}. Rescale both clouds, or lower p."
        )
    value = scale * safe_root(power, p)
    return Distance(value, whole, p, method, optimal, gap, facts or {})


def require_no_underflow(
    power: Float[Tensor, ""], length: Callable[[], Float[Tensor, ""]]
) -> None:
    """Refuse a power of 0 where mass moves, by a `length` that is asked for only then.

    Raises:
        NotFinite: for different measures whose p-th power is below the least number.
    """
    if float(power.detach()) == 0 and (moved := float(length().detach())) > 0:
        raise NotFinite(
            f"The p-th power of a distance underflows to 0 though mass moves by {moved:.3g} of "
            "the extent. Lower p."
        )
