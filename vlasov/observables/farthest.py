"""The two points of a set that lie farthest apart: exact, in memory of order n.

A point at distance r from the centre can end a longest segment only if r plus the largest such
distance reaches a length already found. Many that are left after that are searched by a tree of
boxes for d <= 8, and pair by pair beyond, at most n^2 of them.
"""

__all__ = ["farthest_pair"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.observables.boxes import boxes_over

_FEW = 4096  # points whose pairs are compared at once: a fraction of a second
_WIDTH_FOR_TREES = 8
_BLOCK = 2**20


def farthest_pair(x: Float[Tensor, "n d"]) -> tuple[Tensor, Tensor]:
    """Two points of `x` at the largest distance; gradients flow into both."""
    with torch.no_grad():
        kept = _candidates(x)
        if len(kept) <= _FEW:
            i, j = _search(x[kept])
        elif x.shape[-1] <= _WIDTH_FOR_TREES:
            i, j = _by_tree(x[kept])
        else:
            kept = kept[_distinct(x[kept])]
            i, j = _search(x[kept])
    return x[kept[i]], x[kept[j]]


def _lengths(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1)


def _centre(x: Tensor) -> Tensor:
    return (x.amax(0) + x.amin(0)) / 2


def _spread(r: Tensor) -> float:
    return float(r.max() - r.min())


def _candidates(x: Tensor) -> Tensor:
    """Indices of the points that can end a longest segment."""
    r = _lengths(x - _centre(x))
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


def _by_tree(x: Tensor) -> tuple[int, int]:
    """Indices of the farthest two by a walk over pairs of boxes."""
    from vlasov.observables import farthest_tree  # compiles, and loads numba

    x = x.double()
    around = x - _centre(x)
    # where all norms are equal the search is sharp about the origin, else about the middle
    round_about_origin = _spread(_lengths(x)) < _spread(_lengths(around))
    tree = boxes_over((x if round_about_origin else around).cpu().numpy())
    _, i, j = farthest_tree.farthest_two(tree.points, tree.nodes)
    return int(tree.order[i]), int(tree.order[j])


def _distinct(x: Tensor) -> Tensor:
    """One index for each of the distinct points."""
    _, inverse = torch.unique(x, dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1,), len(x), device=x.device)
    return first.scatter_reduce(0, inverse, torch.arange(len(x), device=x.device), "amin")


def _search(x: Tensor) -> tuple[int, int]:
    """Indices of the farthest two among all pairs, far points first."""
    r, order = _lengths(x - _centre(x)).sort(descending=True)
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
