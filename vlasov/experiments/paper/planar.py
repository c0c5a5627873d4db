"""Figures of planar covariances: a grid of starts under several variants, and where they end."""

__all__ = ["Planar"]

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from vlasov.experiments.paper.cone import Grid
from vlasov.experiments.paper.flows import ends, paths
from vlasov.experiments.paper.parameters import Draw, Parameters
from vlasov.experiments.paper.request import Request
from vlasov.experiments.paper.tables import count_table, panel_sentence, start_table
from vlasov.experiments.paper.variants import ONE_HEAD, equation
from vlasov.experiments.report import Report


@dataclass(frozen=True)
class Planar:
    """The recipe of one figure.

    Attributes:
        view: "cone", in space, or "disc", the shapes Sigma / tr Sigma.
        panels: the variants, one for each panel.
        draw: the parameters, which all panels share.
        stream: added to the seed.
        grid: the starts.
        until: the last time.
        expects: what the theory or the figure of the paper says.
        speed: below this relative speed a system has converged.
        lines: the directions in the plane of the limits of rank one, where they are known.
        plane: the normal, in the coordinates of the cone, of the plane that holds the limits.
        published: the panels of the scripts, where they differ.
        oddity: what the scripts do otherwise.
    """

    view: str
    panels: tuple[str, ...]
    draw: Draw
    stream: int
    grid: Grid
    until: float
    expects: str
    speed: float = 1e-6
    lines: Callable[[Parameters], Tensor] | None = None
    plane: Callable[[Parameters], Tensor] | None = None
    published: tuple[str, ...] | None = None
    oddity: str = ""

    def report(self, request: Request) -> Report:
        """Every start of every panel, reduced and classified."""
        drawn = self.draw(request.generator(self.stream))
        panels = (self.published if request.as_published else None) or self.panels
        lines = {name: self._lines(name, drawn) for name in panels}
        grid = dataclasses.replace(self.grid, side=request.size or self.grid.side)
        start, pieces = grid.covariances(), request.context.pieces(len(panels))
        found: dict[str, dict[str, Tensor]] = {}
        for name in panels:
            found[name] = pieces.get(
                name, lambda name=name: self._panel(name, drawn, grid, request.as_published)
            )
        arrays = {name: getattr(drawn, name) for name in ("query", "key", "value")}
        if self.plane is not None:
            arrays["plane"] = self.plane(drawn)
        for name, piece in found.items():
            arrays[f"{name}_paths"] = piece["paths"]
            arrays[f"{name}_kinds"] = piece["kind"][grid.recorded()]
            arrays[f"{name}_lines"] = lines[name]
        notes = [panel_sentence(name, piece, lines[name]) for name, piece in found.items()]
        return Report(
            {"view": self.view, "panels": list(panels), "starts": len(start)},
            {"starts": start_table(start, found, lines), "counts": count_table(found)},
            arrays,
            (
                *notes,
                self.expects,
                *([self.oddity] if request.as_published and self.oddity else []),
            ),
        )

    def _lines(self, name: str, drawn: Parameters) -> Tensor:
        if self.lines is None or name not in ONE_HEAD:
            return drawn.query.new_zeros(0, 2)
        return self.lines(drawn)

    def _panel(
        self, name: str, drawn: Parameters, grid: Grid, as_published: bool
    ) -> dict[str, Tensor]:
        pde = equation(name, drawn, as_published=as_published)
        start, recorded = grid.covariances(), grid.recorded()
        found = ends(pde, start, until=self.until, speed=self.speed)
        return found | {"paths": paths(pde, start[recorded], found["end"][recorded])}
