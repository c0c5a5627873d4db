"""Points drawn from a law, or placed so as to stand for it; fp64 tensors on the CPU.

Every draw has a generator of its own on the CPU: a seed gives the same numbers for every device.
"""

__all__ = ["ball", "gaussian", "hermite", "mixture", "quantiles", "quantiles_of", "sphere"]

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._measure import log_of_weights
from vlasov._normal import Normal, normal
from vlasov._numbers import Numbers, floating, require_finite
from vlasov.errors import InvalidValue, ShapeMismatch

Drawn = Float[Tensor, "n d"]
OnLine = Float[Tensor, "n 1"]

_MOST_NODES = 350  # the outer weights of more than 370 are below the smallest double
_MOST_POINTS = 2**24


def gaussian(
    n: int,
    mean: Numbers | None = None,
    cov: Numbers | None = None,
    *,
    d: int | None = None,
    seed: int = 0,
) -> Drawn:
    """Independent draws of N(mean, cov), singular covariances too.

    The mean defaults to 0 and the covariance to the identity, in the width of the other or in `d`;
    plain numbers are a mean and a variance on the line.

    Raises:
        ShapeMismatch: if no width is given, or two that differ.
        NotPositive: for a covariance that is not symmetric or has a negative eigenvalue.
    """
    return _draws(normal(mean, cov, d=d), _positive(n, name="n"), _generator(seed))


def mixture(
    n: int, means: Numbers, covs: Numbers, weights: Numbers | None = None, seed: int = 0
) -> Drawn:
    """Independent draws of a mixture of Gaussians, in the order of the components.

    Means are ``(m, d)``, covariances ``(m, d, d)``, or ``(d, d)`` for all; weights default to 1/m.

    Raises:
        ShapeMismatch: for means, covariances and weights that do not fit each other.
        InvalidValue: for weights that do not sum to one.
    """
    centres, shapes = floating(means, name="Means"), floating(covs, name="Covariances")
    fits = shapes.dim() == 2 or (shapes.dim() == 3 and len(shapes) == len(centres))
    if centres.dim() != 2 or not fits:
        raise ShapeMismatch(
            "A mixture needs means of shape (m, d) and covariances (m, d, d) or (d, d) but got "
            f"{tuple(centres.shape)} and {tuple(shapes.shape)}. Add the missing axes."
        )
    m = len(centres)
    laws = [normal(c, s) for c, s in zip(centres, shapes.expand(m, -1, -1), strict=True)]
    generator = _generator(seed)
    chance = log_of_weights(weights, centres.double().cpu()).exp()
    drawn = chance.multinomial(_positive(n, name="n"), replacement=True, generator=generator)
    counts = drawn.bincount(minlength=m).tolist()
    return torch.cat([_draws(law, k, generator) for law, k in zip(laws, counts, strict=True)])


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _positive(count: int, *, name: str) -> int:
    if count < 1:
        raise InvalidValue(f"`{name}` must be 1 or more but is {count}. Ask for one at least.")
    return count


def _draws(law: Normal, n: int, generator: torch.Generator) -> Tensor:
    return law.mean + torch.randn(n, law.d, generator=generator, dtype=torch.float64) @ law.root


def sphere(n: int, d: int, *, radius: float = 1.0, seed: int = 0) -> Drawn:
    """Independent uniform draws on the sphere of R^d about 0.

    Raises:
        InvalidValue: for a radius, a number or a width that is not positive.
    """
    return _require_radius(radius) * _directions(n, d, _generator(seed))


def ball(n: int, d: int, *, radius: float = 1.0, seed: int = 0) -> Drawn:
    """Independent uniform draws in the ball of R^d about 0.

    Raises:
        InvalidValue: for a radius, a number or a width that is not positive.
    """
    generator = _generator(seed)
    directions = _directions(n, d, generator)
    # P(|x| < r) = (r / radius)^d
    share = torch.rand(n, 1, generator=generator, dtype=torch.float64) ** (1 / d)
    return _require_radius(radius) * share * directions


def _directions(n: int, d: int, generator: torch.Generator) -> Tensor:
    shape = (_positive(n, name="n"), _positive(d, name="d"))
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn / drawn.norm(dim=-1, keepdim=True)


def _require_radius(radius: float) -> float:
    if not (math.isfinite(radius) and radius > 0):
        raise InvalidValue(f"`radius` must be above 0 but is {radius}. Choose a positive length.")
    return radius


def hermite(
    nodes: int, mean: Numbers | None = None, cov: Numbers | None = None
) -> tuple[Drawn, Float[Tensor, " n"]]:
    """Gauss-Hermite product nodes of N(mean, cov) and the logarithms of their weights.

    Polynomials of degree up to ``2 nodes - 1`` have exactly their Gaussian means. A covariance of
    rank r takes ``nodes ** r`` points.

    Raises:
        InvalidValue: for no node, for too many to have a weight in fp64, or for too many points.
        ShapeMismatch: if no width is given, or two that differ.
        NotPositive: for a covariance that is not symmetric or has a negative eigenvalue.
    """
    from numpy.polynomial.hermite_e import hermegauss

    law = normal(mean, cov)
    rank = law.factor.shape[-1]
    if _positive(nodes, name="nodes") > _MOST_NODES or nodes**rank > _MOST_POINTS:
        raise InvalidValue(
            f"At most {_MOST_NODES} nodes and {_MOST_POINTS} points can be had but {nodes} nodes "
            f"in {rank} directions are asked for. Take fewer, or draw with `Cloud.gaussian`."
        )
    abscissae, weights = (torch.from_numpy(array) for array in hermegauss(nodes))
    index = torch.stack(torch.unravel_index(torch.arange(nodes**rank), (nodes,) * rank + (1,)), -1)
    index = index[:, :-1]
    log_w = weights.log()[index].sum(-1).log_softmax(-1)
    return law.mean + abscissae[index] @ law.factor.mT, log_w


def quantiles(n: int, mean: float = 0.0, std: float = 1.0) -> OnLine:
    """The quantiles of N(mean, std^2) at the probabilities (i - 1/2)/n.

    Raises:
        InvalidValue: for a standard deviation that is not positive.
    """
    if not (math.isfinite(std) and std > 0):
        raise InvalidValue(f"`std` must be above 0 but is {std}. For one point write it down.")
    return quantiles_of(n, lambda p: mean + std * torch.special.ndtri(p))


def quantiles_of(n: int, quantile_function: Callable[[Tensor], Numbers]) -> OnLine:
    """The values of a quantile function at the probabilities (i - 1/2)/n.

    Raises:
        ShapeMismatch: if the function does not return one number for each probability.
        NotFinite: for a quantile that is NaN or infinite.
    """
    probabilities = (torch.arange(_positive(n, name="n"), dtype=torch.float64) + 0.5) / n
    x = floating(quantile_function(probabilities), name="Quantiles").double()
    if x.shape != probabilities.shape:
        raise ShapeMismatch(
            f"A quantile function must return {n} numbers for {n} probabilities but returned "
            f"shape {tuple(x.shape)}. Let it act on each entry of a tensor."
        )
    require_finite(x, name="Quantiles")
    return x[:, None]
