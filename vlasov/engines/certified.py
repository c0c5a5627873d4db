"""Certified sums of clouds as tensors: member by member, in causal order, checked."""

__all__ = ["certified_sums", "holds"]

import math

import torch
from torch import Tensor
from torch.nn import functional

from vlasov.engines.direct import direct_sums, reach
from vlasov.engines.engine_report import note
from vlasov.engines.pairs import Pairs
from vlasov.errors import EngineUnsupported, NotConverged, NotFinite

_HALVES_END = 1024
"""Causal sums of no more tokens than this are direct."""
_CHECKED = 64
"""Queries of every sum that are compared with the direct sum."""


def certified_sums(tolerance: float, pairs: Pairs, triangular: bool) -> Tensor:
    """Averages and log-sums, member by member; if `triangular`, over keys 0 to i for query i."""
    batch = pairs.batch
    q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (pairs.q, pairs.k, pairs.v))
    logits = pairs.logits.expand(*batch, pairs.k.shape[-2])
    out = torch.zeros(*batch, q.shape[-2], v.shape[-1] + 1, dtype=torch.float64)
    one = _by_halves if triangular else _whole
    for i in range(batch.numel()):
        index = tuple(int(j) for j in torch.unravel_index(torch.tensor(i), batch)) if batch else ()
        q_i, k_i, v_i, logits_i = (x[index].detach().double() for x in (q, k, v, logits))
        member = Pairs(q_i, k_i, v_i, logits_i)
        out[index] = one(tolerance, member)
    return out.to(pairs.q.dtype)


def _by_halves(tolerance: float, pairs: Pairs) -> Tensor:
    """Keys 0 to i for query i: both halves by themselves, and the later one over the earlier."""
    n = pairs.q.shape[-2]
    if n <= _HALVES_END:
        return direct_sums(pairs, True)
    m = n // 2
    early = Pairs(pairs.q[:m], pairs.k[:m], pairs.v[:m], pairs.logits[:m])
    late = Pairs(pairs.q[m:], pairs.k[m:], pairs.v[m:], pairs.logits[m:])
    across = Pairs(late.q, early.k, early.v, early.logits)
    own, seen = _by_halves(tolerance, late), _whole(tolerance, across)
    return torch.cat([_by_halves(tolerance, early), _merged(own, seen)])


def _merged(a: Tensor, b: Tensor) -> Tensor:
    """The sums over two disjoint groups of keys as one."""
    logs = torch.logaddexp(a[..., -1:], b[..., -1:])
    empty = logs.isneginf()
    share = torch.where(empty, 0.0, (b[..., -1:] - torch.where(empty, 0.0, logs)).exp())
    return torch.cat([a[..., :-1] + share * (b[..., :-1] - a[..., :-1]), logs], dim=-1)


def _whole(tolerance: float, pairs: Pairs) -> Tensor:
    """Averages and log-sums over all keys of one cloud."""
    from vlasov.engines import tree_sums

    operands = (pairs.q, pairs.k, pairs.v)
    if not all(bool(x.isfinite().all()) for x in operands) or bool(pairs.logits.isnan().any()):
        raise NotFinite(
            "Engine 'tree' needs finite tokens but found NaN or infinity; repair them."
        )
    present = ~pairs.logits.isneginf()
    if not bool(present.any()) or not len(pairs.q):
        nothing = torch.zeros(len(pairs.q), pairs.v.shape[-1], dtype=torch.float64)
        return functional.pad(nothing, (0, 1), value=-torch.inf)
    k, v, logits = (x[present] for x in (pairs.k, pairs.v, pairs.logits))
    _require_possible(tolerance, Pairs(pairs.q, k, v, logits))
    top = logits.max()
    found = tree_sums.certified_sum(
        pairs.q.numpy(), k.numpy(), v.numpy(), (logits - top).numpy(), tolerance
    )
    note(found.report)
    logs = torch.from_numpy(found.logs) + top
    averages = torch.from_numpy(found.averages)
    _check(Pairs(pairs.q, k, v, logits), averages, torch.from_numpy(found.bounds))
    return torch.cat([averages, logs.unsqueeze(-1)], dim=-1)


def holds(tolerance: float, pairs: Pairs) -> bool:
    """Whether rounding leaves room for the tolerance in every member."""
    return tolerance >= _least_tolerance(pairs)[0]


def _least_tolerance(pairs: Pairs) -> tuple[float, float]:
    """The smallest tolerance that rounding allows, and the largest exponent behind it."""
    from vlasov.engines.tree_sums import smallest_tolerance

    q, k, logits = pairs.q.detach(), pairs.k.detach(), pairs.logits.detach()
    present = torch.where(logits.isneginf(), torch.inf, logits).amin(-1)
    reach = torch.where(present.isinf(), 0.0, logits.amax(-1) - present)
    size = _longest(q) * _longest(k) + reach
    exponent = float(size.max()) / math.log(2)
    return smallest_tolerance(exponent), exponent


def _longest(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1).amax(-1)


def _require_possible(tolerance: float, pairs: Pairs) -> None:
    least, exponent = _least_tolerance(pairs)
    if not tolerance >= least:
        raise EngineUnsupported(
            f"Engine 'tree' cannot hold a tolerance of {tolerance:.1e} for exponents of "
            f"{exponent:.1e}: rounding alone leaves {least:.1e}. Ask for that, or use engine "
            "'direct'."
        )


def _check(pairs: Pairs, averages: Tensor, bounds: Tensor) -> None:
    """Compare some queries with the direct sum: a bound that fails is an error of the engine."""
    n = len(pairs.q)
    chosen = torch.linspace(0, n - 1, min(n, _CHECKED)).long()
    some = Pairs(pairs.q[chosen], pairs.k, pairs.v, pairs.logits)
    if reach(some) is not None:
        return
    wanted = direct_sums(some, False)[..., :-1]
    off = torch.linalg.vector_norm(averages[chosen] - wanted, dim=-1)
    if not bool((off <= bounds[chosen]).all()):
        raise NotConverged(
            f"Engine 'tree' promised errors below {float(bounds[chosen].max()):.1e} but a direct "
            f"sum differs by {float(off.max()):.1e}. Please report this; use engine 'direct'."
        )
