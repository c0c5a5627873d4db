r"""What the stencils of diffusion do: spectrum, stability, frequency response, energy, kernel.

.. math:: \lambda_k = -4\sin^2\frac{\pi k}{2n}, \qquad
          H_h(\omega) = 1 - 4\alpha\sin^2\frac{\omega h}{2}, \qquad
          K_t(r) = e^{-2t} I_r(2t)

Source: :cite:`zhang2025pdetransformer`, Theorem 3.2, Eq. (6) and Table 16; prediction V61.
"""

__all__ = [
    "PAPER_BANDS",
    "band_means",
    "dirichlet_energy",
    "heat_kernel",
    "kernel_integral",
    "response",
    "spectrum",
    "stable_alpha",
    "step_matrix",
]

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy.special
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.errors import InvalidValue
from vlasov.transformer.heat_steps import Stencil, heat_step
from vlasov.transformer.real_tokens import RealTokens

PAPER_BANDS = {
    "h=1": (2.81, 1.75, 0.40, 0.81),
    "h=2": (1.85, 1.89, 0.76, 0.64),
    "h=4": (0.93, 1.67, 1.25, 0.42),
    "mixture": (1.80, 1.71, 0.82, 0.64),
}
"""Table 16 as printed, from the column "Low" to "High"."""

_PIECES = 50


def step_matrix(length: int, rates: Sequence[float], stencil: Stencil) -> Float[Tensor, "n n"]:
    """The matrix of one explicit step on a row, in float64; `rates` is one number per scale.

    Example:
        >>> step_matrix(3, [0.25], Stencil((1,)))[1].tolist()
        [0.25, 0.5, 0.25]
    """
    eye = torch.eye(length, dtype=torch.float64)
    columns = torch.tensor(rates, dtype=torch.float64).unsqueeze(-1).expand(-1, length)
    return heat_step(eye, columns, stencil, RealTokens(length))


def spectrum(length: int) -> Float[Tensor, " n"]:
    """The eigenvalues of the stencil of scale 1 on a row with reflecting ends, falling."""
    modes = torch.arange(length, dtype=torch.float64)
    return 0 - 4 * (math.pi * modes / (2 * length)).sin().square()


def stable_alpha(length: int) -> float:
    """The largest strength of the scale 1 for which no mode of a row of this length grows.

    Raises:
        InvalidValue: for a row of one token, which has no mode that moves.

    Example:
        >>> round(stable_alpha(32), 6)
        0.501207
    """
    if length < 2:
        raise InvalidValue(f"A row needs two tokens to diffuse but has {length}; give 2 or more.")
    return 2 / (4 * math.sin(math.pi * (length - 1) / (2 * length)) ** 2)


def response(
    omega: Float[Tensor, "*shape"], scales: Sequence[int], rates: Sequence[float]
) -> Float[Tensor, "*shape"]:
    """By what one explicit step multiplies a wave of `omega` radians per token, far from the ends.

    Example:
        >>> response(torch.tensor(math.pi), [2], [0.1]).item()  # a stride of 2 does not see it
        1.0
    """
    parts = [rate * (omega * h / 2).sin().square() for h, rate in zip(scales, rates, strict=True)]
    return 1 - 4 * torch.stack(parts).sum(0)


def band_means(
    factor: Callable[[Tensor], Tensor], samples: int = 2000
) -> tuple[float, float, float, float]:
    """The means of ``|factor|`` over the quarters of the frequencies 0 to pi, low to high."""
    omega = (torch.arange(4 * samples, dtype=torch.float64) + 0.5) * (math.pi / (4 * samples))
    low, lower, higher, high = factor(omega).abs().view(4, samples).mean(-1).tolist()
    return low, lower, higher, high


def dirichlet_energy(x: Points) -> Float[Tensor, "*batch"]:
    """The sum of squared differences of neighbours, which no stable step raises."""
    return (x[..., 1:, :] - x[..., :-1, :]).square().sum((-2, -1))


def heat_kernel(distance: int, time: float) -> float:
    """The heat that has come `distance` tokens far on an endless row, of 1 at time 0.

    Example:
        >>> f"{heat_kernel(20, 1.0):.2g}"
        '5.8e-20'
    """
    return float(scipy.special.ive(distance, 2 * time))


def kernel_integral(distance: int, until: float) -> float:
    """The integral of `heat_kernel` over the times from 0 to `until`, by Gauss points."""
    nodes, shares = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(0.0, until, _PIECES + 1)[:-1, None]
    half = until / _PIECES / 2
    times = edges + half * (1 + nodes)
    return float((half * shares * scipy.special.ive(distance, 2 * times)).sum())
