r"""The convex hull of a cloud: its vertices and its volume, for d <= 4.

A cloud thinner than :math:`10^{-10}` of its length in some direction, or than the rounding of its
tokens, counts as flat there: its vertices are those of the hull in the directions it fills, and
its volume is 0.
"""

__all__ = ["HullVertices", "HullVolume", "hull_indices"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.observables.base import Observable, per_cloud

_FLAT = 1e-10
_LARGEST_WIDTH = 4


def _in_own_directions(x: Tensor) -> Tensor:
    """The points in orthonormal coordinates of the directions they fill, in fp64."""
    centred = (x - x.mean(0)).double()
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    turned = centred @ directions.mT
    extents = turned.abs().amax(0)
    rounding = 8 * torch.finfo(x.dtype).eps * float(x.abs().max())
    return turned[:, extents > (_FLAT * extents.amax()).clamp_min(rounding)]


def hull_indices(x: Float[Tensor, "n d"]) -> Int[Tensor, " m"]:
    """Indices of the vertices of the convex hull; one index for each vertex."""
    flat = _in_own_directions(x.detach())
    if flat.shape[-1] == 0:
        return torch.zeros(1, dtype=torch.int64, device=x.device)
    if flat.shape[-1] == 1:
        ends = [int(flat.argmin()), int(flat.argmax())]
        return torch.tensor(ends, device=x.device)
    from scipy.spatial import ConvexHull  # heavy: only where a hull is asked for

    return torch.from_numpy(ConvexHull(flat.cpu().numpy()).vertices).long().to(x.device)


def _volume(x: Tensor) -> Tensor:
    flat = _in_own_directions(x.detach())
    if flat.shape[-1] < x.shape[-1]:
        return x.new_zeros(())
    if x.shape[-1] == 1:
        return x.amax() - x.amin()
    from scipy.spatial import ConvexHull

    return x.new_tensor(ConvexHull(flat.cpu().numpy()).volume)


def _require_small_width(cloud: Cloud, *, name: str) -> None:
    if cloud.d > _LARGEST_WIDTH:
        raise Unsupported(
            f"Observable '{name}' needs width d <= {_LARGEST_WIDTH} but the cloud has "
            f"d = {cloud.d}. Project the cloud first, or watch 'diameter' and 'covariance'."
        )


@dataclass(frozen=True)
class HullVertices(Observable):
    """The number of vertices of the convex hull.

    Raises:
        Unsupported: for d > 4.
    """

    name: ClassVar[str] = "hull_vertices"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The number of vertices; 2 on a line, 1 at a point."""
        _require_small_width(cloud, name=self.name)
        return per_cloud(cloud, lambda x, w: x.new_tensor(len(hull_indices(x))))


@dataclass(frozen=True)
class HullVolume(Observable):
    """The volume of the convex hull: length for d = 1, area for d = 2.

    Raises:
        Unsupported: for d > 4.
    """

    name: ClassVar[str] = "hull_volume"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The volume; 0 for a flat cloud."""
        _require_small_width(cloud, name=self.name)
        return per_cloud(cloud, lambda x, w: _volume(x))
