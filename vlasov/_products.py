r"""Products of many small matrices at once.

A library call for each matrix of a batch costs more than the arithmetic of a 2 x 2 matrix. Up to
width 4 the product is therefore a sum of outer products over the whole batch, fastest where the
batch is the last axis in memory. Which way is taken depends on the width alone: the product of one
system has the same bits in any batch.
"""

__all__ = ["batch_last", "product"]

from jaxtyping import Float
from torch import Tensor

_SMALL = 4


def product(
    left: Float[Tensor, "*#batch rows inner"], right: Float[Tensor, "*#batch inner columns"]
) -> Float[Tensor, "*batch rows columns"]:
    """The matrix product ``left right``, batch axes broadcast."""
    inner = left.shape[-1]
    if not 0 < inner <= _SMALL:
        return left @ right
    total = left[..., :, :1] * right[..., :1, :]
    for i in range(1, inner):
        # In place: a new array at each turn would cost more than the sums.
        total.addcmul_(left[..., :, i : i + 1], right[..., i : i + 1, :])
    return total


def batch_last(x: Tensor, axes: int = 2) -> Tensor:
    """The same tensor, its batch axes last in memory if one of the `axes` own ones is small."""
    if x.dim() <= axes or min(x.shape[-axes:]) > _SMALL:
        return x
    own = tuple(range(-axes, 0))
    front = tuple(range(axes))
    return x.movedim(own, front).contiguous().movedim(front, own)
