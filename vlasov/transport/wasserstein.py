r"""The Wasserstein distance between two laws, by whatever computes it exactly.

.. math:: W_p(\mu, \nu) = \Bigl(\min_\pi \int d(x, y)^p \, d\pi(x, y)\Bigr)^{1/p}

The distance, not its power, and without a factor 1/2: clouds {0, 1} and {3, 4} have
:math:`W_2 = 3`.
"""

__all__ = ["METHODS", "Law", "distance", "wasserstein"]

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers
from vlasov.catalogue import nearest
from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.gaussian import Gaussian
from vlasov.geometry import GEOMETRIES, Geometry, Sphere
from vlasov.transport.checks import Pair, checked_pair, require_exponent
from vlasov.transport.exact import exact_power
from vlasov.transport.gaussian import gaussian_distance
from vlasov.transport.line import pair_power
from vlasov.transport.record import require_no_underflow, rescaled
from vlasov.transport.result import Distance
from vlasov.transport.spherical import circle_distance, on_sphere
from vlasov.transport.to_gaussian import to_gaussian

Law = Cloud | Gaussian

METHODS = {"auto": "auto", "simplex": "network simplex", "paths": "shortest augmenting paths"}
"""The exact methods between clouds; all but `auto` store the matrix of costs."""


def wasserstein(a: Law | Numbers, b: Law | Numbers, p: float | int = 2) -> Float[Tensor, ""]:
    """W_p between clouds or Gaussians in R^d, in fp64, with gradients; see `distance`.

    Points ``(n, d)`` are a cloud of equal weights.

    Example:
        >>> wasserstein([[0.0], [1.0]], [[3.0], [4.0]]).item()
        3.0
    """
    return distance(a, b, p).value


def distance(
    a: Law | Numbers,
    b: Law | Numbers,
    p: float | int = 2,
    *,
    method: str = "auto",
    geometry: str | Geometry = "euclid",
) -> Distance:
    """W_p between two laws, with how it was obtained.

    On the line clouds are sorted, on a circle (the sphere of R^2) they are cut, elsewhere the
    transport problem is solved and its optimality proved; `method` asks for one of `METHODS`.
    On a sphere distances are arc lengths. Between Gaussians p is 2.

    Where the distance is 0, so is its gradient; `power` has its own.

    Raises:
        ShapeMismatch: for a batch of clouds, or laws of different widths.
        NotFinite: for points or costs that are not finite, or a power that underflows.
        InvalidValue: for p below 1.
        Unsupported: for a Gaussian where no exact formula is known.
        NotOnGeometry: for points off the sphere.
        NotConverged: where no solver proves its optimum.
        TooLittleMemory: where the matrix of costs does not fit.
        UnknownName: for an unknown method or geometry.
    """
    if method not in METHODS:
        raise nearest(method, METHODS, kind="method")
    place = GEOMETRIES.build(geometry) if isinstance(geometry, str) else geometry
    left, right = _law(a), _law(b)
    if isinstance(left, Cloud) and isinstance(right, Cloud):
        return _between_clouds(left, right, p, method, place)
    require_exponent(p)
    if p != 2 or isinstance(place, Sphere) or method != "auto":
        raise Unsupported(
            f"Distances to a Gaussian are exact for p = 2 and method 'auto' in R^d but got "
            f"p = {p:g}, '{method}', '{place.name}'. Compare with a cloud of draws."
        )
    return _with_gaussian(left, right)


def _law(given: Law | Numbers) -> Law:
    return given if isinstance(given, Cloud | Gaussian) else Cloud(given)


def _with_gaussian(a: Law, b: Law) -> Distance:
    if isinstance(a, Gaussian) and isinstance(b, Gaussian):
        return gaussian_distance(*(law.to(device="cpu", dtype=torch.float64) for law in (a, b)))
    cloud, law = (a, b) if isinstance(a, Cloud) else (b, a)
    if not isinstance(cloud, Cloud) or not isinstance(law, Gaussian) or cloud.d > 1:
        raise Unsupported(
            f"A cloud and a Gaussian have an exact distance in d = 1 but here d = {cloud.d}. "
            "Use `gelbrich`, a lower bound, or compare with a cloud of draws."
        )
    return to_gaussian(cloud, law)


def _between_clouds(a: Cloud, b: Cloud, p: float | int, method: str, place: Geometry) -> Distance:
    if isinstance(place, Sphere):
        pair = on_sphere(a, b, p, place)
        if method == "auto" and a.d == 2:
            return circle_distance(pair)
        return _solved(pair, sphere=True, solver=METHODS[method])
    pair = checked_pair(a, b, p).scaled()
    if method == "auto" and a.d == 1:
        power = pair_power(pair)
        require_no_underflow(power, lambda: pair_power(replace(pair, p=1.0)))
        return rescaled(power, p=pair.p, scale=pair.scale, method="sorting", optimal=True)
    return _solved(pair, sphere=False, solver=METHODS[method])


def _solved(pair: Pair, *, sphere: bool, solver: str) -> Distance:
    power, plan = exact_power(pair, sphere=sphere, solver=solver)
    return rescaled(
        power,
        p=pair.p,
        scale=pair.scale,
        method=f"{plan.method}, duals checked",
        optimal=True,
        gap=abs(plan.certificate.gap),
        facts={
            "rounding": plan.certificate.rounding,
            "pairs": len(plan.support.mass),
            "tokens": pair.a.n + pair.b.n,
        },
    )
