r"""Blow-ups against the law of V = I: they come where A + A^T has a positive eigenvalue.

.. math:: t^* = 1 / \lambda_{\max}(L_0^T (A + A^T) L_0)

Source: spec 2.2.
"""

__all__ = ["blow_up_note"]

from collections.abc import Mapping

import torch
from torch import Tensor

from vlasov.attention import Softmax
from vlasov.experiments.phase_ends import KINDS
from vlasov.experiments.phase_systems import Systems
from vlasov.pde import TransformerPDE
from vlasov.reduction.closed_forms import softmax_blow_up_time

_SLACK = 1e-5  # relative, of a blow-up time


def blow_up_note(
    pde: TransformerPDE, systems: Systems, ends: Mapping[str, Tensor], until: float
) -> str | None:
    """Whether every system of one softmax head with V = I blew up when it should; else None."""
    value = systems.maps["value"]
    eye = torch.eye(value.shape[-1]).to(value)
    bare = not pde.terms and pde.noise is None and systems.diffusion is None
    biased = any(name.endswith("bias") for name in systems.maps)
    one_head = isinstance(pde.attention, Softmax) and value.shape[-3] == 1
    if not (bare and one_head and not biased and torch.equal(value, eye.expand_as(value))):
        return None
    score = pde.beta * (systems.maps["key"].mT @ systems.maps["query"])[:, 0]
    expected = softmax_blow_up_time(systems.law().factor, score + score.mT).double().cpu()
    blown = ends["kind"] == KINDS.index("blow-up")
    due = expected <= until
    gap = (ends["blow_up_time"] / expected - 1)[blown & due].abs()
    worst = float(gap.max()) if len(gap) else 0.0
    verdict = "agreed" if bool((blown == due).all()) and worst < _SLACK else "violated"
    return (
        f"V = I: a system blows up where A + A^T has a positive eigenvalue, at "
        f"1/lambda_max(Sigma_0 (A + A^T)) [spec 2.2]. In this run {verdict}: {int(due.sum())} due "
        f"by the end, {int(blown.sum())} seen; times differ by {worst:.1e} at most, relative; "
        f"{int((torch.isfinite(expected) & ~due).sum())} are due later."
    )
