r"""Distances between clouds on a sphere: along great circles, and their average.

.. math:: SSW_p^p = \int W_p^p(P^U \mu, P^U \nu)\, dU, \qquad
          P^U x = \frac{U^T x}{|U^T x|}

over the uniform law of orthonormal frames U of two vectors. Arcs are lengths on the sphere of the
given radius (POT measures them in turns of the unit circle: its number times :math:`2\pi r` is
this one).

Source: Bonet et al., Spherical Sliced-Wasserstein, ICLR 2023.
"""

__all__ = ["circle_distance", "on_sphere", "spherical_sliced"]

import math

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.geometry import Sphere
from vlasov.transport.checks import Atoms, Pair, checked_pair
from vlasov.transport.circle import circle_power, turns
from vlasov.transport.record import require_no_underflow, rescaled
from vlasov.transport.result import Distance
from vlasov.transport.statistics import averaged

_NEAREST = 1e-12  # of the radius: closer to the axis a point has no angle


def on_sphere(a: Cloud, b: Cloud, p: float | int, sphere: Sphere) -> Pair:
    """The two clouds as measures on the unit sphere; the scale is the radius.

    Raises:
        NotOnGeometry: for points off the sphere.
    """
    pair = checked_pair(a, b, p)
    for cloud in (a, b):
        sphere.check(cloud.points)
    a_unit, b_unit = (side.at(side.points / sphere.radius) for side in (pair.a, pair.b))
    return Pair(a_unit, b_unit, pair.p, sphere.radius)


def circle_distance(pair: Pair) -> Distance:
    """The exact distance by arc length between measures on a circle of the plane."""
    a, b = (side.at(turns(side.points)[:, None]) for side in (pair.a, pair.b))
    power, gap = circle_power(a, b, pair.p)
    require_no_underflow(power, lambda: circle_power(a, b, 1.0)[0])
    return rescaled(
        power, p=pair.p, scale=2 * math.pi * pair.scale, method="best cut of the circle",
        optimal=True, gap=gap,
    )  # fmt: skip


def spherical_sliced(
    a: Cloud,
    b: Cloud,
    p: float | int = 2,
    *,
    radius: float = 1.0,
    frames: int | Float[Tensor, "k d 2"] = 200,
    generator: torch.Generator | None = None,
) -> Distance:
    """The p-th root of the mean p-th power over great circles: an estimate, with standard error.

    A number of frames is drawn uniformly by `generator` (one with seed 0 where none is given).
    The columns of a given frame are made orthonormal.

    Raises:
        NotOnGeometry: for points off the sphere.
        InvalidValue: for no frame, or a point at right angles to a great circle.
        ShapeMismatch: for frames of another shape.
    """
    pair = on_sphere(a, b, p, Sphere(radius))
    planes = _frames(frames, a.d, generator)
    powers = torch.stack([_slice(pair, plane) for plane in planes])
    scale = 2 * math.pi * radius
    drawn = isinstance(frames, int)
    mean, facts = averaged(powers, p=pair.p, scale=scale, name="great circles", drawn=drawn)
    method = f"sliced over {len(planes)} great circles (estimate)"
    return rescaled(mean, p=pair.p, scale=scale, method=method, optimal=False, facts=facts)


def _frames(
    given: int | Tensor, d: int, generator: torch.Generator | None
) -> Float[Tensor, "k d 2"]:
    if isinstance(given, Tensor):
        raw = given.to(device="cpu", dtype=torch.float64)
    else:
        source = torch.Generator().manual_seed(0) if generator is None else generator
        raw = torch.randn(max(given, 0), d, 2, generator=source, dtype=torch.float64)
    if d < 2 or tuple(raw.shape[1:]) != (d, 2):
        raise ShapeMismatch(
            f"Frames on the sphere of R^{d} need shape (k, {d}, 2) with d of at least 2 but got "
            f"{tuple(raw.shape)}. Give two spanning columns for each great circle."
        )
    if len(raw) == 0:
        raise InvalidValue("Slices need one great circle at least but got 0. Ask for some.")
    return torch.linalg.qr(raw).Q


def _slice(pair: Pair, plane: Float[Tensor, "d 2"]) -> Float[Tensor, ""]:
    """The p-th power on one great circle, in turns."""
    a, b = (side.at(_angles(side, plane)) for side in (pair.a, pair.b))
    return circle_power(a, b, pair.p)[0]


def _angles(side: Atoms, plane: Tensor) -> Float[Tensor, "n 1"]:
    seen = side.points @ plane
    shortest = float(seen.detach().norm(dim=-1).min())
    if shortest < _NEAREST:
        raise InvalidValue(
            f"A projection to a great circle needs points off its axis but one lies at "
            f"{shortest:.3g} of the radius. Draw other frames, or move that point."
        )
    return turns(seen)[:, None]
