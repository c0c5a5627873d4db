"""The figures of the paper by name."""

__all__ = ["FIGURES", "Recipe", "figure", "figure_report"]

from collections.abc import Mapping
from typing import Protocol

from vlasov.experiments.paper.cone import Grid
from vlasov.experiments.paper.ellipses import Ellipses
from vlasov.experiments.paper.lines import isotropic, kernel
from vlasov.experiments.paper.parameters import contracting, mixed, one_row, spreading, two_lines
from vlasov.experiments.paper.planar import Planar
from vlasov.experiments.paper.ranks import Ranks
from vlasov.experiments.paper.request import Request
from vlasov.experiments.report import Report
from vlasov.experiments.settings import choice


class Recipe(Protocol):
    """What computes a figure."""

    def report(self, request: Request) -> Report:
        """The numbers of the figure."""
        ...


FIGURES: Mapping[str, Recipe] = {
    "to-zero": Planar(
        view="cone",
        panels=("softmax", "l2", "two-head", "sinkhorn"),
        draw=contracting,
        stream=0,
        grid=Grid(10, 0.5),
        until=1e5,
        expects="Expected: every covariance tends to 0, as 1/t.",
    ),
    "to-line": Planar(
        view="cone",
        panels=("softmax", "l2"),
        draw=one_row,
        stream=100,
        grid=Grid(10, 0.5),
        until=1e6,
        lines=lambda drawn: kernel(drawn.query),
        expects="Expected: limits of rank one along ker Q, the same under both.",
    ),
    "to-plane": Planar(
        view="cone",
        panels=("two-head",),
        draw=one_row,
        stream=100,
        grid=Grid(10, 0.5),
        until=300.0,
        plane=lambda drawn: drawn.query[0, [0, 1, 0]],
        expects="Expected: limits of rank two on the plane (Sigma q)_1 = 0; the second head is "
        "empty.",
    ),
    "two-lines": Planar(
        view="cone",
        panels=("softmax", "l2"),
        draw=two_lines,
        stream=202,
        grid=Grid(20, 1.0, every=2),
        until=600.0,
        speed=1e-7,
        lines=lambda drawn: isotropic(drawn.score),
        expects="Expected: limits of rank one on the two isotropic directions of A + A^T.",
        oddity="The softmax list of the scripts is overwritten by that of L2 before it is drawn; "
        "here softmax is drawn.",
    ),
    "blow-up": Planar(
        view="disc",
        panels=("softmax", "two-head", "l2", "sinkhorn"),
        draw=spreading,
        stream=300,
        grid=Grid(40, 1.0, every=3),
        until=1e3,
        expects="Expected: softmax heads blow up at rank one; L2 and Sinkhorn grow "
        "exponentially, Sinkhorn at a shape that need not have rank one.",
    ),
    "mixed": Planar(
        view="disc",
        panels=("softmax", "l2", "two-head"),
        draw=mixed,
        stream=448,
        grid=Grid(30, 1.0, every=2),
        until=3e3,
        lines=lambda drawn: isotropic(drawn.score),
        expects="Expected: some starts converge, with one head to rank one, and others diverge.",
        published=("softmax", "l2", "one-head"),
        oddity="The multi-head panel of the scripts has one head, which is softmax.",
    ),
    "ranks": Ranks(),
    "ellipses": Ellipses(),
}
"""Each gives, at seed 0, the outcomes that the paper shows."""


def figure(
    name: str, *, seed: int = 0, as_published: bool = False, size: int | None = None
) -> Report:
    """The numbers of one figure of the paper: tables of outcomes, and paths to draw.

    Args:
        name: one of `FIGURES`.
        seed: of every draw.
        as_published: scores scaled, and ranks counted, as the scripts of the paper do.
        size: points along a side of the grid of starts, or draws of the histograms; by default
            those of the paper.

    Raises:
        UnknownName: for another name.
        InvalidValue: for a size below 1.

    Source: spec section 4; Castin, Ablin, Carrillo, Peyré (2025).

    Example:
        >>> round(figure("ellipses").result["blow_up_time"], 6)
        0.716607
    """
    return figure_report(name, Request(seed=seed, as_published=as_published, size=size))


def figure_report(name: str, request: Request) -> Report:
    """As `figure`, with the pieces kept where the request says.

    Raises:
        UnknownName: for another name.
    """
    choice(name, FIGURES, name="figure")
    found = FIGURES[name].report(request)
    head = {
        "status": "finished",
        "message": f"Figure '{name}' is computed.",
        "figure": name,
        "seed": request.seed,
        "as_published": request.as_published,
    }
    return Report({**head, **found.result}, found.tables, found.arrays, found.notes)
