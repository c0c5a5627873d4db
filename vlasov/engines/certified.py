"""Certified sums of one cloud as tensors: checked, bounded, or refused."""

__all__ = ["Sums", "certified_whole", "holds", "least_tolerance"]

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from vlasov.engines.certified_engine import LARGEST
from vlasov.engines.engine_report import note
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.members import present
from vlasov.engines.pair_checks import require_finite
from vlasov.engines.pairs import Pairs
from vlasov.errors import EngineUnsupported

if TYPE_CHECKING:
    from vlasov.engines.tree_sums import Trees


class Sums(NamedTuple):
    """Averages (n, c) and log-sums (n,), with bounds (n,) of their absolute errors."""

    averages: Tensor
    logs: Tensor
    bounds: Tensor
    log_bounds: Tensor


def certified_whole(tolerance: float, pairs: Pairs, trees: "Trees | None" = None) -> Sums:
    """The sums over all keys of one cloud, some of them compared with direct ones.

    With the trees of these queries and keys they are not grown again, and log-sums not compared.

    Raises:
        NotFinite: for tokens or logits that are NaN or infinite.
        EngineUnsupported: for a tolerance below what rounding leaves.
        NotConverged: if a bound does not hold, which is an error of the engine.
    """
    from vlasov.engines import tree_sums

    require_finite("tree", pairs)
    seen = present(pairs)
    if not len(seen.k):
        return _nothing(pairs)
    if seen is not pairs:
        pairs, trees = seen, None
    _require_possible(tolerance, pairs)
    own = trees or tree_sums.trees_over(pairs.q.numpy(), pairs.k.numpy())
    top = pairs.logits.max()
    logits, scale = (pairs.logits - top).numpy(), pairs.value_scale()
    found = tree_sums.certified_sum(own, (pairs.v / scale).numpy(), logits, tolerance)
    if trees is None or pairs.v.shape[-1]:
        tree_sums.check(found)
    logs, bounds = torch.from_numpy(found.logs) + top, torch.from_numpy(found.bounds) * scale
    # adding the largest logit rounds once more
    log_bounds = found.log_bound + torch.finfo(torch.float64).eps * logs.abs()
    largest = float(bounds.max()), float(log_bounds.max())
    note(dataclasses.replace(found.report, bound=largest[0], log_bound=largest[1]))
    return Sums(torch.from_numpy(found.averages) * scale, logs, bounds, log_bounds)


def _nothing(pairs: Pairs) -> Sums:
    n, zero = len(pairs.q), torch.zeros(len(pairs.q), dtype=torch.float64)
    averages = torch.zeros(n, pairs.v.shape[-1], dtype=torch.float64)
    return Sums(averages, torch.full_like(zero, -torch.inf), zero, zero)


def holds(tolerance: float, pairs: Pairs) -> bool:
    """Whether rounding leaves room for the tolerance in every member."""
    return bool(tolerance >= least_tolerance(pairs)[0])


def least_tolerance(pairs: Pairs) -> tuple[float, float]:
    """The smallest tolerance that rounding allows, and the largest exponent behind it."""
    q, k, logits = pairs.q.detach(), pairs.k.detach(), pairs.logits.detach()
    present = torch.where(logits.isneginf(), torch.inf, logits).amin(-1)
    reach = torch.where(present.isinf(), 0.0, logits.amax(-1) - present)
    size = _longest(q) * _longest(k) + reach
    exponent = float(size.max()) / math.log(2)
    return 4 * ROUNDING * (16 + exponent), exponent


def _longest(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1).amax(-1)


def _require_possible(tolerance: float, pairs: Pairs) -> None:
    least, exponent = least_tolerance(pairs)
    if not tolerance >= least:
        advice = "Ask for that, or use" if least <= LARGEST else "Use"
        raise EngineUnsupported(
            f"Engine 'tree' cannot hold a tolerance of {tolerance:.1e} for exponents of "
            f"{exponent:.1e}: rounding alone leaves {least:.1e}. {advice} engine 'direct'."
        )
