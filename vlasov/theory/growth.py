r"""How far a compact support can spread, and how fast two laws can part.

.. math:: R(t) \le R_0\, e^{\int_0^t \sum_h |V_h|}, \qquad
          W_p(\mu_t, \nu_t) \le C(t, R_0)\, W_p(\mu_0, \nu_0), \qquad
          \log C = \int_0^t \bigl[L_x(R(s)) + L_\mu(R(s))\bigr] ds

Correct and very loose: for softmax C is a triple exponential of t.

Source: spec 1.3, and 1.4 for causal masks.
"""

__all__ = ["existence_time", "log_stability", "support_radius"]

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import exp1

from vlasov.attention import Linear, Sinkhorn, Unnormalised
from vlasov.attention.masks import Causal
from vlasov.errors import InvalidValue, Unsupported
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections
from vlasov.theory.constants import HeadNorms, constants_of, norms

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANELS = 32
_MOST = 709.0  # the largest exponent within the range of numbers


def support_radius(pde: TransformerPDE, radius: float, t: float) -> float:
    """A radius that no token has left at time t, started within `radius` at time 0.

    Raises:
        Unsupported: for linear and unnormalised attention, which may blow up.

    Example:
        >>> round(support_radius(TransformerPDE(), 2.0, 1.0), 6)
        5.436564
    """
    heads_at, exponent = _heads_at(pde), 0.0
    for start, width in _panels(pde, t):
        exponent += (
            width / 2 * float(_WEIGHTS @ [_rate(heads_at(s)) for s in _times(start, width)])
        )
    return radius * _exp(exponent)


def existence_time(pde: TransformerPDE, radius: float) -> float:
    r"""A time before which no law in the ball of this radius blows up; infinite if it never does.

    Linear: :math:`1/(2 \sum_h |V_h||A_h| R_0^2)`; unnormalised:
    :math:`E_1(a R_0^2)/(2\sum_h |V_h|)` with a the largest :math:`|A_h|`.

    Raises:
        Unsupported: for linear or unnormalised heads beside others.

    Example:
        >>> round(existence_time(TransformerPDE("linear"), 0.7), 9)
        1.020408163
    """
    heads = norms(pde)
    if all(head.member.bounded for head in heads):
        return math.inf
    if all(isinstance(head.member, Linear) for head in heads):
        strength = 2 * sum(head.value * head.score for head in heads) * radius**2
        return 1 / strength if strength > 0 else math.inf
    if all(isinstance(head.member, Unnormalised) for head in heads):
        largest = max(head.score for head in heads) * radius**2
        speed = 2 * sum(head.value for head in heads)
        return float(exp1(largest)) / speed if speed > 0 and largest > 0 else math.inf
    raise Unsupported(
        "A time of existence is known where all heads are linear or all unnormalised; mixtures of "
        "them with others have no explicit one."
    )


def log_stability(
    pde: TransformerPDE,
    radius: float,
    t: float,
    *,
    atom: float | None = None,
    power: float | None = None,
) -> float:
    """The logarithm of C(t, R_0) for supports in the ball of this radius.

    Under a causal mask the distance is the conditional one, and L_mu is divided by the mass
    `atom` at the first position or, for `power` p > 1, multiplied by p/(p - 1); the better of the
    two if both are given. Infinite where even the logarithm leaves the range of numbers.

    Raises:
        Unsupported: for Sinkhorn heads, which have no explicit constant, for linear and
            unnormalised ones, and for masks other than the causal one.
        InvalidValue: under a causal mask without `atom` and `power`.

    Example:
        >>> round(log_stability(TransformerPDE("sigmoid"), 1.0, 0.5), 6)
        0.92957
    """
    heads_at, widened = _heads_at(pde), _masked(pde, atom, power)
    exponent, total = 0.0, 0.0
    for start, width in _panels(pde, t):
        heads = [heads_at(s) for s in _times(start, width)]
        rates = np.array([_rate(one) for one in heads])
        radii = radius * np.exp(np.minimum(exponent + width * (_RUNNING @ rates), _MOST))
        slopes = [_slope(one, float(r), widened) for one, r in zip(heads, radii, strict=True)]
        total += width / 2 * float(_WEIGHTS @ slopes)
        exponent += width / 2 * float(_WEIGHTS @ rates)
    return total


def _running() -> npt.NDArray[np.float64]:
    """The matrix that integrates a polynomial from the left end of [0, 1] to each node."""
    legendre = np.polynomial.legendre
    count = len(_NODES)
    columns = [legendre.legval(_NODES, legendre.legint(unit, lbnd=-1)) for unit in np.eye(count)]
    return np.stack(columns, 1) @ np.linalg.inv(legendre.legvander(_NODES, count - 1)) / 2


_RUNNING = _running()


def _panels(pde: TransformerPDE, t: float) -> Iterator[tuple[float, float]]:
    """Intervals (start, width) between 0 and t that do not straddle a jump of the maps."""
    if not 0 <= t < math.inf:
        raise InvalidValue(f"A time from 0 on is wanted but got {t}; the start is at time 0.")
    edges = [0.0, *pde.breakpoints(0.0, t), t]
    for left, right in pairwise(edges):
        width = (right - left) / _PANELS
        yield from ((left + k * width, width) for k in range(_PANELS))


def _times(start: float, width: float) -> list[float]:
    return (start + width * (_NODES + 1) / 2).tolist()


def _heads_at(pde: TransformerPDE) -> Callable[[float], tuple[HeadNorms, ...]]:
    """The norms as a function of time, computed once where the maps are constant."""
    path = pde.projections
    if path is None or (isinstance(path, Projections) and path.at(0.0) is path):
        constant = norms(pde)
        return lambda t: constant
    return lambda t: norms(pde, t)


def _rate(heads: Sequence[HeadNorms]) -> float:
    """The largest rate at which the radius grows."""
    for head in heads:
        if not head.member.bounded:
            raise Unsupported(
                f"Attention '{head.member.name}' may blow up, so no radius bounds its support for "
                "all times; ask for the time of existence."
            )
    return sum(
        head.value / head.member.eps if isinstance(head.member, Sinkhorn) else head.value
        for head in heads
    )


def _slope(heads: Sequence[HeadNorms], radius: float, widened: float) -> float:
    constants = constants_of(heads, radius)
    if constants.in_measure is None:
        raise Unsupported(
            "No explicit stability constant is known for Sinkhorn attention: it needs the "
            "stability of its potentials; measure the ratio of distances instead."
        )
    return constants.in_space + widened * constants.in_measure


def _masked(pde: TransformerPDE, atom: float | None, power: float | None) -> float:
    """The factor of L_mu."""
    if pde.mask is None:
        return 1.0
    if not isinstance(pde.mask, Causal):
        raise Unsupported(
            f"The stability constant is known without a mask or with 'causal' but got "
            f"'{pde.mask.name}'; leave the mask out."
        )
    options = [1 / atom] if atom is not None and atom > 0 else []
    options += [power / (power - 1)] if power is not None and power > 1 else []
    if not options:
        raise InvalidValue(
            f"Under a causal mask the constant needs a mass `atom` > 0 at the first position or "
            f"a `power` > 1 but got atom={atom} and power={power}; give one of them."
        )
    return min(options)


def _exp(x: float) -> float:
    return math.exp(x) if x < _MOST else math.inf
