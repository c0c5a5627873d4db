"""The table of costs that `auto` goes by: of this machine, or the one of the package."""

__all__ = ["FORMAT", "calibrated_file", "costs", "few_pairs", "forget"]

import functools
import itertools
import json
import math
import warnings
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import platformdirs

from vlasov.engines.cost_model import Costs

FORMAT = 2
_LEAST = 1e-15
"""Seconds of a pair, where none were seen."""
_NO_TABLE = (ValueError, TypeError, AttributeError)


def calibrated_file() -> Path:
    """Where the table of this machine is written and read."""
    return Path(platformdirs.user_cache_dir("vlasov", appauthor=False)) / "costs.json"


@functools.cache
def costs() -> Costs:
    """The table of this machine, or the one that comes with the package.

    A file that cannot be read is passed over with a warning.
    """
    path = calibrated_file()
    if path.exists():
        try:
            return _read(path.read_text(encoding="utf-8"))
        except (OSError, RecursionError, ArithmeticError, LookupError, *_NO_TABLE) as error:
            warnings.warn(
                f"The cost table '{path}' cannot be read ({type(error).__name__}: {error}); the "
                "one of the package is used. Run `vlasov bench --calibrate` again.",
                stacklevel=2,
            )
    packaged = resources.files("vlasov.engines") / "costs.json"
    return _read(packaged.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=64)
def few_pairs(width: int, single: bool) -> float:
    """The number of pairs below which nothing beats `fused` by much.

    Another call costs as much for half of them; `fused` gains from several threads sooner.
    """
    table = costs()
    fused, direct = (table.rate(name, width, single) for name in ("fused", "direct"))
    # where direct is slower, trees may be faster, for more pairs
    gain = max(fused - direct if direct < fused else fused, _LEAST)
    return 2 * (table.calls["direct"] - table.calls["fused"]) / gain


def forget() -> None:
    """Read the table again at the next sum."""
    costs.cache_clear()
    few_pairs.cache_clear()


def _read(text: str) -> Costs:
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']} and {FORMAT} was wanted")
    found = Costs(**content["costs"])
    _require_sound(found)
    return found


def _require_sound(found: Costs) -> None:
    """Refuse a table that gives no costs."""
    kinds = [f"{name} {kind}" for name in ("fused", "direct") for kind in ("float64", "float32")]
    measured = (found.radii, found.trees), (found.clumped, found.clumps)
    rows = [(radii, grid) for radii, grids in measured for grid in grids.values()]
    sound = (
        {"fused", "direct", "monomials"} <= set(found.calls) and len(found.centre) == 2,
        set(kinds) <= set(found.pairs),
        all(len(found.pairs[kind]) == len(found.widths) > 0 for kind in kinds),
        all(_increase(x) for x in (found.widths, found.sizes, found.radii, found.clumped)),
        set(found.clumps) == set(found.trees) and all(d.isdecimal() for d in found.trees),
        all(len(grid) == len(radii) for radii, grid in rows),
        all(1 < len(row) <= len(found.sizes) and min(row) > 0 for _, g in rows for row in g),
        all(0 <= x < math.inf for x in found.numbers()),
    )
    if not all(sound):
        raise ValueError("a cost is missing, no number, or negative")


def _increase(knots: Sequence[float | int]) -> bool:
    return len(knots) > 0 and knots[0] > 0 and all(a < b for a, b in itertools.pairwise(knots))
