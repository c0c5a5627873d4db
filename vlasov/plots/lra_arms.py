"""How arms of a grid look in every picture: their order, their names, and a colour for scales."""

__all__ = [
    "Group",
    "colour_of",
    "groups_of",
    "legend_below",
    "position_name",
    "scale_name",
    "tasks_of",
]

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from vlasov.experiments.lra_arms import BASELINE, Arm
from vlasov.experiments.lra_published import POSITIONS, TASKS
from vlasov.experiments.report import Table
from vlasov.plots.style import CATEGORIES, FAINT, INK, typeset

_COLOURS: Mapping[tuple[int, ...], str] = {
    (): INK,
    (1,): CATEGORIES[0],
    (2,): CATEGORIES[5],
    (4,): CATEGORIES[2],
    (1, 2, 4): CATEGORIES[1],
}
"""Scales -> colour; others are grey."""

_NAMES = {"none": "baseline", "after-mlp": "after MLP"}
_ORDER = list(POSITIONS)
_MOST = 5  # entries in one line below a figure


@dataclass(frozen=True)
class Group:
    """The arms of one position, by their scales; arms beside the paper's are alone."""

    name: str
    arms: dict[tuple[int, ...], str]


def groups_of(arms: Iterable[str]) -> list[Group]:
    """Arms by position in the order of the paper, then the others by name."""
    found: dict[str, dict[tuple[int, ...], str]] = {}
    for arm in dict.fromkeys(arms):
        place = Arm(arm).place
        position, scales = place if place is not None else (arm, ())
        found.setdefault(position, {})[scales] = arm
    ranked = sorted(found, key=lambda name: (*_rank(name), name))
    return [Group(position_name(name), _by_scale(found[name])) for name in ranked]


def position_name(position: str) -> str:
    """A position in words; the spec of an arm that is none of the paper's stays as it is."""
    return _NAMES.get(position, position.replace("-", " ") if position in _ORDER else position)


def scale_name(scales: Sequence[int]) -> str:
    """The scales in a legend."""
    if not scales:
        return BASELINE
    return f"$h = {scales[0]}$" if len(scales) == 1 else f"$h = {', '.join(map(str, scales))}$"


def tasks_of(table: Table) -> list[str]:
    """The tasks of a table, in the order of the paper."""
    found = set(table.column("task"))
    return [task for task in TASKS if task in found]


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """One legend for all panels."""
    legend = figure.legend(
        handles=list(handles), loc="outside lower center", ncols=min(_MOST, len(handles)),
        frameon=False, handlelength=1.6, columnspacing=1.4,
    )  # fmt: skip
    for text in legend.get_texts():
        typeset(text)


def colour_of(scales: tuple[int, ...]) -> str:
    """The colour of these scales."""
    return _COLOURS.get(scales, FAINT)


def _rank(position: str) -> tuple[int, ...]:
    return (_ORDER.index(position),) if position in _ORDER else (len(_ORDER),)


def _by_scale(arms: dict[tuple[int, ...], str]) -> dict[tuple[int, ...], str]:
    return {scales: arms[scales] for scales in sorted(arms, key=lambda one: (len(one), one))}
