"""From a run to points that fit on paper: one, two or three coordinates of every token and frame.

Up to three dimensions tokens are drawn as they are. Beyond, they are projected on the principal
axes of all frames pooled, so that one pair of axes serves the whole run.
"""

__all__ = ["Scene", "project"]

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Shaped
from scipy.linalg import eigh
from torch import Tensor, bfloat16, float16

from vlasov.errors import NotFinite
from vlasov.plots.colours import origin_colours
from vlasov.plots.members import first_member
from vlasov.plots.style import MANY
from vlasov.run import Run


@dataclass(frozen=True, eq=False)
class Scene:
    """What the pictures of a run draw.

    `radius` is that of the circle or sphere the tokens live on, None where it is not seen as one.
    `remark` says what a reader must know: which cloud of a batch this is.
    """

    times: Float[np.ndarray, " g"]
    points: Float[np.ndarray, "g n m"]
    weights: Float[np.ndarray, " n"]
    colours: Float[np.ndarray, "n 3"]
    labels: tuple[str, ...]
    radius: float | None = None
    remark: str = ""

    @property
    def n(self) -> int:
        """Number of tokens."""
        return self.points.shape[1]

    @property
    def width(self) -> int:
        """Number of coordinates drawn."""
        return self.points.shape[2]

    @property
    def is_density(self) -> bool:
        """Whether there are too many tokens for a marker each, in the plane or on the circle."""
        return self.width == 2 and self.n > MANY

    @cached_property
    def lowest(self) -> Float[np.ndarray, "g m"]:
        """The least coordinates of each frame."""
        return self.points.min(axis=1).astype(np.float64)

    @cached_property
    def highest(self) -> Float[np.ndarray, "g m"]:
        """The largest coordinates of each frame."""
        return self.points.max(axis=1).astype(np.float64)

    @property
    def sizes(self) -> Float[np.ndarray, " g"]:
        """The longest side of each frame's bounding box."""
        return (self.highest - self.lowest).max(axis=1)


def project(run: Run, *, components: int | None = None) -> Scene:
    """The points of a run as they are drawn; of a batch, the first cloud up to its own end.

    Args:
        run: the run.
        components: principal components to keep; by default all coordinates up to d = 3, and two
            beyond.

    Raises:
        NotFinite: for a frame with NaN or infinity, which no picture may hide.
    """
    one = first_member(run)
    points, times = _array(one.points), _array(one.point_times)
    _require_finite(points, times)
    d = points.shape[-1]
    kept = components or (d if d <= 3 else 2)
    weights = np.exp(_array(one.log_weights))
    drawn, labels = points, tuple(_coordinates(d))
    if kept < d:
        drawn, labels = _principal(points, weights, kept)
    on_sphere = str(run.facts.get("geometry", "")).partition(":")[0] == "sphere"
    seen = on_sphere and kept == d and d in {2, 3}
    return Scene(
        times=times,
        points=drawn,
        weights=weights,
        colours=origin_colours(_origin(points[0], weights), directions=on_sphere and d <= 3),
        labels=labels,
        radius=float(np.linalg.norm(points[0], axis=-1).mean()) if seen else None,
        remark="" if one is run else "cloud 0 of the batch",
    )


def _array(x: Tensor) -> Shaped[np.ndarray, "..."]:
    """The numbers on the host; numpy has no bfloat16, and half precision is too coarse to sum."""
    x = x.detach().cpu()
    return (x.float() if x.dtype in (float16, bfloat16) else x).numpy()


def _require_finite(points: Float[np.ndarray, "g n d"], times: Float[np.ndarray, " g"]) -> None:
    for frame, x in enumerate(points):
        if not np.isfinite(x).all():
            raise NotFinite(
                f"A picture needs finite points but frame {frame} (t = {times[frame]:.4g}) of "
                f"{len(points)} holds NaN or infinity. Draw the run cut before that frame."
            )


def _coordinates(d: int) -> list[str]:
    return ["$x$"] if d == 1 else [f"$x_{i + 1}$" for i in range(d)]


def _origin(
    start: Float[np.ndarray, "n d"], weights: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n m"]:
    """What tokens are coloured by: the start, along the first frame's own axes beyond d = 3."""
    return start if start.shape[-1] <= 3 else _principal(start[None], weights, 2)[0][0]


def _principal(
    points: Float[np.ndarray, "g n d"], weights: Float[np.ndarray, " n"], kept: int
) -> tuple[Float[np.ndarray, "g n m"], tuple[str, ...]]:
    """Coordinates along the `kept` widest axes of all frames, and their share of the variance."""
    size = float(np.abs(points).max()) or 1.0  # keeps squares of a cloud about to blow up finite
    centre = np.mean([weights @ (x / size) for x in points], axis=0)
    cov = np.zeros((points.shape[-1],) * 2)
    for x in points:
        moved = x / size - centre
        cov += (weights[:, None] * moved).T @ moved
    d = len(cov)
    values, axes = eigh(cov, subset_by_index=(d - kept, d - 1))
    values, axes = values[::-1], axes[:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(kept)])  # fixes the free sign
    share = np.maximum(values, 0.0) / (np.trace(cov) or 1.0)
    labels = tuple(f"PC {i + 1} ({100 * s:.0f} % of variance)" for i, s in enumerate(share))
    return np.stack([x @ axes - size * centre @ axes for x in points]), labels
