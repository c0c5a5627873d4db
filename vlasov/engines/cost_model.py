r"""What a sum costs by each engine, from a table measured once: the rule behind `auto`.

.. math:: t_{\mathrm{fused}},\; t_{\mathrm{direct}} = t_0 + n_q n_k\, c(\mathrm{width}), \qquad
          t_{\mathrm{tree}} = T_d(n, R)

with T interpolated, in logarithms, between numbers of tokens and radii R of a ball of tokens;
beyond the last number it grows by the last slope. Of clumps the trees take the time that was
measured for twenty of them, in proportion to their number. The table of the package was measured
on one machine; `vlasov bench --calibrate` writes one for this machine to the user's cache
folder, which is then read instead. Seconds are those of one thread whatever their number, so that
the choice does not depend on it.

Source: spec, engines page, "Rule behind engine='auto'".
"""

__all__ = ["CLUMPS", "Costs", "Work"]

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from vlasov.engines.tree_halves import WALKED

Rates = dict[str, list[float]]
Grid = list[list[float]]

CLUMPS = 20
"""How many clumps a table of them was measured with."""
_CAUSAL = 1.6
"""Times as long as over all keys, measured: 0.7 to 2.5 in one to three dimensions."""


@dataclass(frozen=True)
class Work:
    """A sum: numbers of queries and keys, widths of keys and values, and its radius.

    `radius` is the R of a ball in which the trees find as much to do, and `clumps` how many
    clumps there are, if they are few, see `spread`.
    """

    queries: int
    keys: int
    width: int
    values: int
    radius: float = 0.0
    clumps: int = 0
    single: bool = False
    triangular: bool = False

    @property
    def pairs(self) -> float:
        """The number of pairs that are seen."""
        return self.queries * self.keys / (2.0 if self.triangular else 1.0)


@dataclass(frozen=True)
class Costs:
    """Seconds on one thread.

    Args:
        calls: seconds of a call of ``"fused"``, ``"direct"`` and ``"monomials"`` on a few tokens.
        centre: nanoseconds of a token, and of a monomial of it, in a sum about one centre.
        pairs: nanoseconds of a pair at each of `widths`, by ``"fused float64"`` and so on.
        widths: of keys, increasing.
        sizes, radii: where the trees were measured, increasing.
        trees: seconds by ``str(d)``: one list for each radius, as long as it was measured.
        clumped: radii at which twenty clumps were measured, increasing.
        clumps: the same for these.
    """

    calls: dict[str, float]
    centre: list[float]
    pairs: Rates
    widths: list[int]
    sizes: list[int]
    radii: list[float]
    trees: dict[str, Grid]
    clumped: list[float]
    clumps: dict[str, Grid]

    def numbers(self) -> Iterator[float]:
        """Every number of the table."""
        yield from itertools.chain(self.calls.values(), self.centre, self.widths, self.sizes)
        yield from itertools.chain(self.radii, *self.pairs.values())
        grids = itertools.chain(self.trees.values(), self.clumps.values())
        yield from itertools.chain(self.clumped, *(row for grid in grids for row in grid))

    def quadratic(self, engine: str, work: Work) -> float:
        """Seconds of an engine that meets every pair."""
        rate = self.rate(engine, max(work.width, work.values), work.single)
        return self.calls[engine] + rate * work.pairs

    def rate(self, engine: str, width: int, single: bool) -> float:
        """Seconds of a pair."""
        column = next((i for i, w in enumerate(self.widths) if w >= width), len(self.widths) - 1)
        return 1e-9 * self.pairs[f"{engine} {'float32' if single else 'float64'}"][column]

    def about_one_centre(self, work: Work, monomials: int) -> float:
        """Seconds of so many monomials."""
        token, one = self.centre
        columns = (1 + work.values) / (1 + work.width)
        tokens = work.queries + work.keys
        return self.calls["monomials"] + 1e-9 * tokens * (token + one * monomials * columns)

    def near_linear(self, work: Work) -> float:
        """Seconds of the trees; infinite for widths that were not measured."""
        measured = sorted(int(d) for d in self.trees)
        d = next((d for d in measured if d >= work.width), None)
        if d is None:
            return math.inf
        channels = (1 + work.values) / (1 + d)
        n = (work.queries + work.keys) / 2
        whole = self._whole(str(d), n, work) * channels
        if not work.triangular:
            return whole
        # those of fewer tokens are nearly direct
        return _CAUSAL * whole if n > WALKED else whole + self.quadratic("direct", work)

    def _whole(self, d: str, n: float, work: Work) -> float:
        """Seconds over all keys, with as many values as coordinates."""
        ball = self._met(self.radii, self.trees[d], n, work.radius)
        if not work.clumps:
            return ball
        clumps = work.clumps / CLUMPS * self._met(self.clumped, self.clumps[d], n, work.radius)
        return min(ball, max(self._met(self.radii, self.trees[d], n, 0.0), clumps))

    def _met(self, radii: list[float], grid: Grid, n: float, radius: float) -> float:
        low, high, share = _between(radii, radius)
        below, above = (_grown(self.sizes, grid[row], n) for row in (low, high))
        return math.exp(share * math.log(above) + (1 - share) * math.log(below))


def _between(knots: list[float], x: float) -> tuple[int, int, float]:
    """The neighbours of x among increasing knots, and where between them in logarithms."""
    if x <= knots[0]:
        return 0, 0, 0.0
    if x >= knots[-1]:
        return len(knots) - 1, len(knots) - 1, 0.0
    high = next(i for i, knot in enumerate(knots) if knot >= x)
    share = math.log(x / knots[high - 1]) / math.log(knots[high] / knots[high - 1])
    return high - 1, high, share


def _grown(sizes: list[int], seconds: list[float], n: float) -> float:
    """Seconds at n tokens; beyond the last size by the last slope, which is 1 to 2."""
    last = len(seconds) - 1
    if n <= sizes[last]:
        low, high, share = _between([float(s) for s in sizes[: last + 1]], n)
        return seconds[low] * (seconds[high] / seconds[low]) ** share
    slope = math.log(seconds[last] / seconds[last - 1]) / math.log(sizes[last] / sizes[last - 1])
    return seconds[last] * (n / sizes[last]) ** min(max(slope, 1.0), 2.0)
