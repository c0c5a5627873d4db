r"""One colour for each token, by where it started: the eye then sees what mixed and what stayed.

Coordinates go straight to OKLab, where equal distances look equally far:

.. math:: (u, v) \mapsto (L, a, b) = (L_0 - s u,\; c u,\; c v)

so hue is the angle and saturation the radius. Lightness falls along the red-green axis `a`, hence
readers who do not tell red from green still tell those tokens apart.

Source: B. Ottosson, "A perceptual color space for image processing" (2020), for the two matrices.
"""

__all__ = ["origin_colours"]

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps

_TO_CONES = np.array([
    [1.0, 0.3963377774, 0.2158037573],
    [1.0, -0.1055613458, -0.0638541728],
    [1.0, -0.0894841775, -1.2914855480],
])  # fmt: skip
_TO_RGB = np.array([
    [4.0767416621, -3.3077115913, 0.2309699292],
    [-1.2684380046, 2.6097574011, -0.3413193965],
    [-0.0041960863, -0.7034186147, 1.7076147010],
])  # fmt: skip
_LIGHTNESS, _CHROMA = 0.62, 0.135
_LINE_END = 0.9  # the yellow end of viridis vanishes on white paper


def origin_colours(
    origin: Float[np.ndarray, "n m"], *, directions: bool = False
) -> Float[np.ndarray, "n 3"]:
    """Colours of tokens that started at `origin`, in one, two or three coordinates.

    On a circle or sphere (`directions`) the point itself is the colour; elsewhere the distance to
    the middle is measured in units of the cloud's own size.
    """
    if origin.shape[-1] == 1:
        return colormaps["viridis"](_LINE_END * _unit_interval(origin[:, 0]))[:, :3]
    u = _unit_ball(origin, centred=not directions)
    if u.shape[-1] == 2:  # lightness doubles the red-green axis
        lab = np.stack([_LIGHTNESS - 0.13 * u[:, 0], *(_CHROMA * u.T)], axis=-1)
    else:
        lab = np.stack([_LIGHTNESS - 0.02 + 0.16 * u[:, 2], *(_CHROMA * u[:, :2].T)], axis=-1)
    return _srgb(lab)


def _unit_interval(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    span = np.ptp(x)
    return (x - x.min()) / span if span > 0 else np.zeros_like(x)


def _unit_ball(x: Float[np.ndarray, "n m"], *, centred: bool) -> Float[np.ndarray, "n m"]:
    """The points scaled into the unit ball; the outermost two per cent share its surface."""
    moved = x - x.mean(axis=0) if centred else x
    radius = np.linalg.norm(moved, axis=-1, keepdims=True)
    size = float(np.quantile(radius, 0.98)) or 1.0
    return moved / np.maximum(size, radius)


def _srgb(lab: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    linear = np.clip((lab @ _TO_CONES.T) ** 3 @ _TO_RGB.T, 0.0, 1.0)
    return np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055
    )
