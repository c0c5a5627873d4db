import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from vlasov.attention.masks import Alibi, Causal, Explicit, Window
from vlasov.engines import Auto, Engine, Fused, Visibility
from vlasov.errors import EngineUnsupported

FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"
POSITIONS = torch.arange(6.0, dtype=torch.float64)[None]
CAUSAL = Causal().bind(POSITIONS, POSITIONS)
MASKS = {
    "window": Window(2.0).bind(POSITIONS, POSITIONS),
    "explicit": Explicit(torch.ones(6, 6, dtype=torch.bool)).bind(POSITIONS, POSITIONS),
    "symmetric ALiBi": Alibi(0.5).bind(POSITIONS, POSITIONS),
}


def operands(*, value_width: int = 2, heads: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(0)
    shapes = [(heads, 6, 2), (heads, 6, 2), (heads, 6, value_width), (1, 6)]
    q, k, v, logits = (torch.randn(*s, generator=g, dtype=torch.float64) for s in shapes)
    return q, k, v, logits


def kernels(engine: Engine, *, mask: Visibility | None = None, learned: bool = False) -> set[str]:
    q, k, v, logits = operands(value_width=3, heads=2)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        engine.average(q, k, v, logits.requires_grad_(learned), mask=mask)
    return {event.key for event in seen.key_averages()}


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("engine", [Fused(), Auto()], ids=["fused", "auto"])
@pytest.mark.parametrize("mask", [None, CAUSAL], ids=["all", "causal"])
@pytest.mark.parametrize("learned", [False, True], ids=["fixed", "learned"])
def test_unequal_widths_and_logits_reach_the_flash_kernel(
    engine: Engine, mask: Visibility | None, learned: bool
) -> None:
    seen = kernels(engine, mask=mask, learned=learned)
    assert FLASH in seen
    assert "aten::_scaled_dot_product_attention_math" not in seen


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("kind", MASKS)
def test_auto_takes_row_blocks_for_what_fused_refuses(kind: str) -> None:
    assert FLASH not in kernels(Auto(), mask=MASKS[kind])


@pytest.mark.parametrize("kind", MASKS)
def test_masks_that_are_no_key_logits_are_refused_by_name(kind: str) -> None:
    q, k, v, logits = operands()
    with pytest.raises(EngineUnsupported, match=f"{kind}.*'tiled' or 'dense'"):
        Fused().average(q, k, v, logits, mask=MASKS[kind])
    with pytest.raises(EngineUnsupported, match=kind):
        Fused().log_sum(q, k, logits, mask=MASKS[kind])
    with pytest.raises(EngineUnsupported, match=kind):
        Fused().log_sum(q.requires_grad_(), k, logits, mask=MASKS[kind])


def test_sums_that_are_no_exponential_are_refused_by_name() -> None:
    q, k, v, logits = operands()
    with pytest.raises(EngineUnsupported, match=r"no exponential.*'tiled' or 'dense'"):
        Fused().pair_sum(torch.sigmoid, q, k, v, logits)
    with pytest.raises(EngineUnsupported, match=r"leaders.*'tiled' or 'dense'"):
        Fused().leader_average(q, k, v, logits, tie=0.0)


def test_second_derivatives_are_refused_by_torch() -> None:
    q, k, v, logits = operands()
    q.requires_grad_()
    total = Fused().average(q, k, v, logits).sum()
    (first,) = torch.autograd.grad(total, q, create_graph=True)
    with pytest.raises(RuntimeError, match=r"derivative .* not implemented"):
        torch.autograd.grad(first.sum(), q)


def test_memory_estimates_of_auto_grow_linearly() -> None:
    small, large = (Auto().memory(queries=n, keys=n, width=2, itemsize=8) for n in (10**6, 10**7))
    assert large < 11 * small
    assert large < 10**7 * 8 * 60
