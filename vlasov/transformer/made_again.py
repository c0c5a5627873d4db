"""Diffused tokens that a norm needs for its gradient: made again there instead of kept.

The step keeps its input for its own gradient, so that its output can be had from it for one more
pass. Without this a diffusion would cost the memory of one more state.
"""

__all__ = ["made_again"]

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from vlasov.transformer.heat_steps import maker


def made_again(x: Tensor) -> AbstractContextManager[object]:
    """Within it, x is not kept for gradients if it is the result of a diffusion step."""
    make = maker(x)
    if make is None:
        return nullcontext()
    place, shape, kind = x.data_ptr(), x.shape, x.dtype

    def pack(kept: Tensor) -> Tensor | Callable[[], Tensor]:
        same = kept.data_ptr() == place and kept.shape == shape and kept.dtype == kind
        return make if same else kept

    def unpack(kept: Tensor | Callable[[], Tensor]) -> Tensor:
        return kept if isinstance(kept, Tensor) else kept()

    return saved_tensors_hooks(pack, unpack)
