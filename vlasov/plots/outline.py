r"""The outline of a covariance in the plane.

.. math:: \{x : (x - m)^\top \Sigma^{-1} (x - m) = r^2\} = m + r\, \Sigma^{1/2} S^1
"""

__all__ = ["outline"]

import numpy as np
from jaxtyping import Float

_POINTS = 181


def outline(
    mean: Float[np.ndarray, " 2"], cov: Float[np.ndarray, "2 2"], deviations: float
) -> Float[np.ndarray, "2 k"]:
    """A closed curve at so many standard deviations, whose points move with the covariance."""
    values, axes = np.linalg.eigh(cov)
    angle = np.linspace(0, 2 * np.pi, _POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    widths = np.sqrt(np.maximum(values, 0.0))  # rounding may put a flat axis below zero
    return mean[:, None] + deviations * (axes * widths) @ axes.T @ circle
