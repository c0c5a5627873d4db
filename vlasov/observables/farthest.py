"""The two points of a set that lie farthest apart: exact, in memory of order n.

A point at distance r from the centre can end a longest segment only if r plus the largest such
distance reaches a length already found. What is left after that is reduced to hull vertices (d <=
3) or, on a sphere, searched for nearest antipodes by a tree; only then are pairs compared, at most
n^2 of them.
"""

__all__ = ["farthest_pair"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.observables.convex import hull_indices

_FEW = 4096  # points whose pairs are compared at once: a fraction of a second
_BLOCK = 2**20


def farthest_pair(x: Float[Tensor, "n d"]) -> tuple[Tensor, Tensor]:
    """Two points of `x` at the largest distance; gradients flow into both."""
    with torch.no_grad():
        kept = _candidates(x)
        if len(kept) > _FEW:
            kept = kept[_distinct(x[kept])]
        if len(kept) > _FEW:
            kept = kept[_reduced(x[kept])]
        i, j = _search(x[kept])
    return x[kept[i]], x[kept[j]]


def _lengths(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1)


def _candidates(x: Tensor) -> Tensor:
    """Indices of the points that can end a longest segment."""
    centre = (x.amax(0) + x.amin(0)) / 2
    r = _lengths(x - centre)
    found = _long_segment(x, int(r.argmax()))
    slack = 1 - 64 * torch.finfo(x.dtype).eps  # the bound itself is rounded
    return (r + r.max() >= found * slack).nonzero().squeeze(-1)


def _long_segment(x: Tensor, end: int) -> Tensor:
    """A length close to the largest: from an end to its farthest point, and on from there."""
    longest = x.new_zeros(())
    for _ in range(4):
        distances = _lengths(x - x[end])
        end = int(distances.argmax())
        longest = torch.maximum(longest, distances[end])
    return longest


def _distinct(x: Tensor) -> Tensor:
    """One index for each of the distinct points."""
    _, inverse = torch.unique(x, dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1,), len(x), device=x.device)
    return first.scatter_reduce(0, inverse, torch.arange(len(x), device=x.device), "amin")


def _reduced(x: Tensor) -> Tensor:
    """Indices that still hold a farthest pair, fewer where the dimension or a sphere allows."""
    r = _lengths(x)
    # |x - y|^2 = 2|x|^2 + 2|y|^2 - |x + y|^2: at equal norms the farthest is nearest to -x
    if x.shape[-1] <= 8 and bool((r - r[0]).abs().max() <= 8 * torch.finfo(x.dtype).eps * r[0]):
        return _nearest_antipodes(x)
    return hull_indices(x) if x.shape[-1] in (2, 3) else torch.arange(len(x), device=x.device)


def _nearest_antipodes(x: Tensor) -> Tensor:
    from scipy.spatial import KDTree  # heavy: only for large clouds

    table = x.double().cpu().numpy()
    gaps, partners = (torch.as_tensor(found) for found in KDTree(-table).query(table))
    end = int(gaps.argmin())
    return torch.tensor([end, int(partners[end])], device=x.device)


def _search(x: Tensor) -> tuple[int, int]:
    """Indices of the farthest two among all pairs, far points first."""
    centre = (x.amax(0) + x.amin(0)) / 2
    r, order = _lengths(x - centre).sort(descending=True)
    y, best, pair = x[order], x.new_full((), -1.0), (0, 0)
    rows = max(1, _BLOCK // len(y))
    for start in range(0, len(y), rows):
        # r falls along the rows: nobody below this bound can reach the best length any more
        reach = int((r[start:] + r[start] >= best).sum())
        if not reach:
            break
        block = torch.cdist(
            y[start : start + rows],
            y[start : start + reach],
            compute_mode="donot_use_mm_for_euclid_dist",
        )
        if block.max() > best:
            best, where = block.max(), divmod(int(block.argmax()), reach)
            pair = (start + where[0], start + where[1])
    return int(order[pair[0]]), int(order[pair[1]])
