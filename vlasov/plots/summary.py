"""A run on one page: the cloud before and after, its paths, observables, and the facts."""

__all__ = ["summary_figure"]

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from vlasov.plots.clouds import draw_cloud, reduction
from vlasov.plots.members import first_member
from vlasov.plots.observables import observables
from vlasov.plots.projection import Scene, project
from vlasov.plots.stage import new_axes
from vlasov.plots.style import new_figure, note, typeset
from vlasov.plots.trajectories import count_remark, draw_trajectories, runs_against_time
from vlasov.run import Run

_COLUMNS, _MOST = 3, 6
_FACTS = ("attention", "beta", "mask", "geometry", "terms", "noise", "n", "d", "integrator")
_LETTERS = {"beta": "β"}


def summary_figure(run: Run, title: str | None = None) -> Figure:
    """The figure of a run, 7 inches wide; of a batch, its first cloud, as the caption says.

    Up to six observables are drawn; vectors only where fewer than three are numbers.

    Raises:
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    one, scene = first_member(run), project(run)
    names = _chosen(one)
    rows = -(-len(names) // _COLUMNS)
    figure = new_figure(7.0, 2.75 + 1.75 * rows + 0.35)
    grid = figure.add_gridspec(1 + rows, _COLUMNS, height_ratios=[1.45] + [1.0] * rows)
    _clouds(scene, figure, grid)
    for k, name in enumerate(names):
        ax = figure.add_subplot(grid[1 + k // _COLUMNS, k % _COLUMNS])
        _headline(observables(one, ax, name), 3 + k, name.replace("_", " "))
        ax.set_ylabel("")
    if title:
        typeset(figure.suptitle(title), size=11.0)
    caption = textwrap.fill(_caption(one, scene.remark), 150)
    typeset(figure.supxlabel(caption, x=0.01, ha="left"))
    return figure


def _chosen(run: Run) -> list[str]:
    """The numbers recorded, at most six; vectors only fill up the first row."""
    numbers = [name for name, value in run.observables.items() if value.dim() == 1]
    vectors = [name for name, value in run.observables.items() if value.dim() > 1]
    return numbers[:_MOST] + vectors[: max(0, _COLUMNS - len(numbers))]


def _clouds(scene: Scene, figure: Figure, grid: GridSpec) -> None:
    start, end = new_axes(scene, figure, grid[0, 0]), new_axes(scene, figure, grid[0, 2])
    flat = runs_against_time(scene)
    paths = figure.add_subplot(grid[0, 1]) if flat else new_axes(scene, figure, grid[0, 1])
    draw_cloud(scene, start, 0)
    draw_trajectories(scene, paths)
    draw_cloud(scene, end, -1)
    note(start, reduction(scene))
    note(paths, count_remark(scene))
    note(end, reduction(scene))
    _headline(start, 0, f"$t = {scene.times[0]:.4g}$")
    _headline(paths, 1, "paths, ◦ to •")
    _headline(end, 2, f"$t = {scene.times[-1]:.4g}$")


def _headline(ax: Axes, panel: int, text: str) -> None:
    typeset(ax.set_title(f"({'abcdefghi'[panel]}) {text}", loc="left"), size=9.0)


def _caption(run: Run, remark: str) -> str:
    """What was solved, how, and how it ended."""
    known = {**run.facts, "n": run.points.shape[-2], "d": run.points.shape[-1]}
    facts = {name: known[name] for name in _FACTS if known.get(name) is not None}
    what = ", ".join(_equation(_LETTERS.get(name, name), value) for name, value in facts.items())
    end = f"{run.status} at {_equation('t', run.stopped_at)}"
    work = f"{run.steps} steps, {run.evaluations} field evaluations"
    return "; ".join(filter(None, [what, end, work, remark])) + "."


def _equation(name: str, value: object) -> str:
    """Name and value, which no line break parts."""
    written = f"{value:.4g}".replace("-", "−") if isinstance(value, float) else str(value)
    return f"{name} = {written}".replace(" ", "\N{NO-BREAK SPACE}")
