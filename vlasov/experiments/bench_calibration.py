"""Measuring what the engines cost on this machine: the table of `engines.costs`.

Balls of tokens, processor seconds of one thread, best of a few calls.
"""

__all__ = ["assembled", "best_seconds", "parts"]

import time
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from vlasov.engines.base import Engine
from vlasov.engines.cost_model import Costs
from vlasov.engines.direct import Direct
from vlasov.engines.fused import Fused
from vlasov.engines.monomials import Monomials
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree import Tree
from vlasov.experiments.bench_clouds import bench_cloud

WIDTHS = [1, 2, 3, 4, 6, 8]
SIZES = [300, 1000, 3000, 10_000, 30_000, 100_000]
RADII = [0.25, 0.5, 1.0, 4.0, 16.0, 64.0, 256.0]
CLUMPED = [1.0, 4.0, 16.0, 64.0, 256.0]
_QUADRATIC: dict[str, Engine] = {"fused": Fused(), "direct": Direct()}
_PAIRS = {"fused": 2000, "direct": 4000}
"""Tokens on which the pairs of an engine are timed."""
_FEW, _MANY = 16, 20_000
_CENTRED = (0.25, 2.0)
"""Radii of sums about one centre."""
_LONGEST = 0.5
"""Seconds of a sum after which no larger one of its kind is timed."""


def best_seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """The fastest of a few calls, after one that compiles and warms."""
    work()
    spent: list[float] = []
    while len(spent) < 10 and sum(spent) < _LONGEST / 2:
        start = clock()
        work()
        spent.append(clock() - start)
    return min(spent)


def parts() -> dict[str, Callable[[], list[float]]]:
    """What is to be measured, by name; all of it takes a few minutes."""
    measure: dict[str, Callable[[], list[float]]] = {
        name: partial(_quadratic, name, engine) for name, engine in _QUADRATIC.items()
    }
    measure["monomials"] = _about_one_centre
    for d in WIDTHS:
        measure |= {f"tree d{d} R{r:g}": partial(_growth, "ball", d, r) for r in RADII}
        measure |= {f"clumps d{d} R{r:g}": partial(_growth, "clumps", d, r) for r in CLUMPED}
    return {name: partial(_on_one_thread, work) for name, work in measure.items()}


def assembled(found: Mapping[str, list[float]]) -> Costs:
    """The table, from what was measured by name."""
    kinds = ("float64", "float32")
    rates = {
        f"{name} {kind}": found[name][1 + turn * len(WIDTHS) :][: len(WIDTHS)]
        for name in _QUADRATIC
        for turn, kind in enumerate(kinds)
    }
    return Costs(
        calls={name: found[name][0] for name in (*_QUADRATIC, "monomials")},
        centre=found["monomials"][1:],
        pairs=rates,
        widths=WIDTHS,
        sizes=SIZES,
        radii=RADII,
        trees={str(d): [found[f"tree d{d} R{radius:g}"] for radius in RADII] for d in WIDTHS},
        clumped=CLUMPED,
        clumps={str(d): [found[f"clumps d{d} R{r:g}"] for r in CLUMPED] for d in WIDTHS},
    )


def _on_one_thread(work: Callable[[], list[float]]) -> list[float]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [float(f"{x:.3g}") for x in work()]
    finally:
        torch.set_num_threads(threads)


def _quadratic(name: str, engine: Engine) -> list[float]:
    """Seconds of a call, and nanoseconds of a pair by number format and width."""
    call = _seconds(engine, _ball(_FEW, 2, 1.0))
    dtypes = (torch.float64, torch.float32)
    return [call] + [_rate(name, engine, call, d, dtype) for dtype in dtypes for d in WIDTHS]


def _rate(name: str, engine: Engine, call: float, d: int, dtype: torch.dtype) -> float:
    n = _PAIRS[name]
    return 1e9 * max(_seconds(engine, _ball(n, d, 4.0).to(dtype)) - call, 0.0) / n**2


def _about_one_centre() -> list[float]:
    """Seconds of a call; nanoseconds of a token and of a monomial, from a few and from many."""
    engine = Monomials()
    call = _seconds(engine, _ball(_FEW, 4, 1.0))
    points: list[tuple[int, float]] = []
    for radius in _CENTRED:
        x = _ball(_MANY, 4, radius)
        logits = torch.zeros(1, _MANY, dtype=x.dtype)
        count = engine.monomials(Pairs(x, x, x, logits)) or 0
        points.append((count, 1e9 * max(_seconds(engine, x) - call, 0.0) / (2 * _MANY)))
    (few, less), (many, more) = points
    one = max(more - less, 0.0) / (many - few)
    return [call, max(less - one * few, 0.0), one]


def _growth(cloud: str, d: int, radius: float) -> list[float]:
    """Seconds of the trees for increasing numbers of tokens, up to the first slow one."""
    found: list[float] = []
    for n in SIZES:
        found.append(_seconds(Tree(), bench_cloud(cloud, n, d, radius)[None]))
        if found[-1] > _LONGEST:
            break
    return found


def _seconds(engine: Engine, x: Tensor) -> float:
    logits = torch.zeros(1, x.shape[-2], dtype=x.dtype)
    return best_seconds(lambda: engine.average(x, x, x, logits), time.thread_time)


def _ball(n: int, d: int, radius: float) -> Tensor:
    return bench_cloud("ball", n, d, radius)[None]
