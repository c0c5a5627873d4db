"""Tables and sentences on where the covariances of a figure end."""

__all__ = ["count_table", "panel_sentence", "start_table"]

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from vlasov.experiments.paper.cone import coordinates
from vlasov.experiments.paper.flows import KINDS
from vlasov.experiments.paper.lines import nearest_line
from vlasov.experiments.report import Cell, Table

Piece = Mapping[str, Tensor]

_COLUMNS = (
    "panel", "u", "w", "outcome", "rank", "time", "trace", "u_end", "w_end", "line", "angle",
)  # fmt: skip
_VERBS = {
    "converged": "converged to rank {rank}",
    "blow-up": "blew up at rank {rank}",
    "exponential divergence": "diverged exponentially at rank {rank}",
    "diverged": "diverged at rank {rank}",
    "still moving": "still moved at rank {rank}",
}


def start_table(start: Tensor, found: Mapping[str, Piece], lines: Mapping[str, Tensor]) -> Table:
    """A row for each start of each panel.

    `u`, `w` are its coordinates at trace one; `u_end`, `w_end` those of the last covariance over
    its trace, 0 for a zero covariance. `time` is that of the blow-up, or the last one. `line` is
    the nearest of the lines and `angle` the angle to it in degrees, where the end has rank one.
    """
    rows = [row for name, piece in found.items() for row in _rows(name, start, piece, lines[name])]
    return Table(_COLUMNS, tuple(rows))


def count_table(found: Mapping[str, Piece]) -> Table:
    """How many starts of each panel had each outcome and rank."""
    rows = [
        (name, kind, rank, count)
        for name, piece in found.items()
        for (kind, rank), count in sorted(_outcomes(piece).items())
    ]
    return Table(("panel", "outcome", "rank", "count"), tuple(rows))


def panel_sentence(name: str, piece: Piece, lines: Tensor) -> str:
    """What became of the starts of one panel."""
    counts = _outcomes(piece)
    total = sum(counts.values())
    parts = [
        f"{count} {_VERBS[kind].format(rank=rank)}" for (kind, rank), count in counts.most_common()
    ]
    return f"{name}: of {total} starts {', '.join(parts)}{_on_lines(piece, lines)}."


def _outcomes(piece: Piece) -> Counter[tuple[str, int]]:
    return Counter(zip(_kinds(piece), piece["rank"].tolist(), strict=True))


def _kinds(piece: Piece) -> list[str]:
    return [KINDS[index] for index in piece["kind"].tolist()]


def _on_lines(piece: Piece, lines: Tensor) -> str:
    """How the limits of rank one share the lines, and how far they are from them."""
    chosen = (piece["kind"] == KINDS.index("converged")) & (piece["rank"] == 1)
    if not len(lines) or not bool(chosen.any()):
        return ""
    index, angle = nearest_line(piece["last"][chosen], lines)
    shares = " and ".join(str(int((index == i).sum())) for i in range(len(lines)))
    many = "the line" if len(lines) == 1 else "the lines"
    return f"; {shares} on {many} expected, within {float(angle.max()):.2g} degrees"


def _rows(name: str, start: Tensor, piece: Piece, lines: Tensor) -> list[tuple[Cell, ...]]:
    begun, last = coordinates(start), coordinates(piece["last"])
    trace = last[:, 2]
    shape = last[:, :2] / torch.where(trace > 0, trace, 1.0).unsqueeze(-1)
    columns: list[Sequence[Cell]] = [
        [name] * len(start),
        begun[:, 0].tolist(),
        begun[:, 1].tolist(),
        _kinds(piece),
        piece["rank"].tolist(),
        piece["end"].tolist(),
        trace.tolist(),
        shape[:, 0].tolist(),
        shape[:, 1].tolist(),
        *_to_lines(piece, lines),
    ]
    return list(zip(*columns, strict=True))


def _to_lines(piece: Piece, lines: Tensor) -> tuple[list[Cell], list[Cell]]:
    """The nearest line and the angle to it, of the ends of rank one."""
    flat: list[bool] = (piece["rank"] == 1).tolist()
    if not len(lines):
        return [None] * len(flat), [None] * len(flat)
    index, angle = nearest_line(piece["last"], lines)
    return (
        [i if one else None for i, one in zip(index.tolist(), flat, strict=True)],
        [a if one else None for a, one in zip(angle.tolist(), flat, strict=True)],
    )
