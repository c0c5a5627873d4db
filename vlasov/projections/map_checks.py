"""The checks of head maps: shapes that fit each other, finite numbers, points of their width."""

__all__ = ["checked", "require_width"]

from collections.abc import Mapping

from torch import Tensor

from vlasov._numbers import Numbers, floating, require_finite
from vlasov.errors import ShapeMismatch
from vlasov.projections.maps import HeadMaps, axes, own_axes


def checked(given: Mapping[str, Numbers]) -> dict[str, Tensor]:
    """Maps and biases, each with a head axis and as many heads as the rest.

    Raises:
        ShapeMismatch: for maps and biases that do not fit each other.
        NotFinite: for NaN or infinity in any of them.
    """
    maps = {name: _with_heads(name, one) for name, one in given.items()}
    _require_fit(maps)
    return _same_heads(maps)


def _with_heads(name: str, given: Numbers) -> Tensor:
    x, own = floating(given, name=f"The {name}"), own_axes(name)
    if x.dim() < own:
        wanted = "(k, d) or (h, k, d)" if own == 2 else "(k,) or (h, k)"
        raise ShapeMismatch(
            f"The {name} must have shape {wanted} but has {tuple(x.shape)}. "
            "For a multiple of the identity write `c * torch.eye(d)`."
        )
    require_finite(x, name=f"The {name}")
    return x.unsqueeze(0) if x.dim() < axes(name) else x


def _require_fit(maps: HeadMaps) -> None:
    k, d = maps["query"].shape[-2:]
    m = maps["output"].shape[-1] if "output" in maps else d
    wanted = {"query": (k, d), "key": (k, d), "value": (m, d), "output": (d, m)}
    wanted |= {f"{name}_bias": shape[:1] for name, shape in wanted.items()}
    for name, one in maps.items():
        found = tuple(one.shape[-own_axes(name) :])
        if found != wanted[name]:
            raise ShapeMismatch(
                f"A query map of shape {(k, d)} needs a {name} of shape {wanted[name]} but got "
                f"{found}. Scores pair equal widths, and values keep the width of a token unless "
                "an output map takes them."
            )


def _same_heads(maps: HeadMaps) -> dict[str, Tensor]:
    counts = {n: one.shape[-1 - own_axes(n)] for n, one in maps.items() if n != "output_bias"}
    heads = max(counts.values())
    if not set(counts.values()) <= {1, heads}:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ShapeMismatch(
            f"All maps need the same number of heads but got {listed}. "
            "Give each a head axis of that length, or none where all heads share it."
        )
    return {name: _repeated(name, one, heads) for name, one in maps.items()}


def _repeated(name: str, x: Tensor, heads: int) -> Tensor:
    own = own_axes(name)
    if name == "output_bias":
        return x
    return x.expand(*x.shape[: -1 - own], heads, *x.shape[-own:])


def require_width(maps: HeadMaps, x: Tensor) -> None:
    """Refuse points of another width.

    Raises:
        ShapeMismatch: with both widths.
    """
    if x.shape[-1] != maps["query"].shape[-1]:
        raise ShapeMismatch(
            f"Projections of width {maps['query'].shape[-1]} cannot act on points of shape "
            f"{tuple(x.shape)}. Build them for the width of the tokens."
        )
