"""The experiment behind `vlasov bench`: what one softmax sum costs by each engine."""

__all__ = ["BENCH"]

import dataclasses
import itertools
import math
import time

import torch
from torch import Tensor

from vlasov.atomic_file import write_json
from vlasov.engines import ENGINES, Auto, Engine
from vlasov.engines.certified_engine import CertifiedEngine
from vlasov.engines.costs import FORMAT, calibrated_file, forget
from vlasov.engines.pairs import Pairs
from vlasov.errors import EngineUnsupported, RunFolderError
from vlasov.experiments.bench_calibration import assembled, best_seconds, parts
from vlasov.experiments.bench_clouds import bench_cloud
from vlasov.experiments.bench_config import BenchConfig
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.pieces import Pieces
from vlasov.experiments.report import Cell, Report, Table

_TIMED = ("dense", "tiled", "fused", "direct", "monomials", "tree")
_GROWTH = 10.0
"""About how much more the next number of tokens takes: three times as many."""


def _prepared(config: BenchConfig) -> Job:
    measure = parts() if config.calibrate else {}
    grid = list(itertools.product(config.radius, sorted(config.n)))

    def job(context: Context) -> Report:
        pieces = context.pieces(len(measure) + len(grid))
        notes = (_calibrated(pieces),) if measure else ()
        torch.set_num_threads(config.threads or torch.get_num_threads())
        return _report(config, _rows(config, grid, pieces), notes)

    return job


def _calibrated(pieces: Pieces) -> str:
    """Measure this machine and write the table where `auto` looks for it.

    Raises:
        RunFolderError: if the cache folder cannot be written.
    """
    path = calibrated_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"Cannot make the cache folder '{path.parent}': {error.strerror or error}. "
            "Set XDG_CACHE_HOME to a folder that can be written."
        ) from None
    found: dict[str, list[float]] = {}
    for name, work in parts().items():
        piece = pieces.get(name, lambda work=work: {"costs": torch.tensor(work()).double()})
        found[name] = [float(f"{x:.3g}") for x in piece["costs"].tolist()]
    write_json(path, {"format": FORMAT, "costs": dataclasses.asdict(assembled(found))})
    forget()
    return f"'auto' now follows the table of this machine in {path}."


def _rows(
    config: BenchConfig, grid: list[tuple[float, int]], pieces: Pieces
) -> list[tuple[Cell, ...]]:
    """Radius, tokens, milliseconds by engine, the choice, and how far it is from the best."""
    rows: list[tuple[Cell, ...]] = []
    slow: dict[float, set[str]] = {radius: set() for radius in config.radius}
    for radius, n in grid:
        skipped = slow[radius]
        piece = pieces.get(f"R{radius:g} n{n}", lambda a=(n, radius, skipped): _row(config, *a))
        spent = dict(zip((*_TIMED, "auto"), piece["milliseconds"].tolist(), strict=True))
        skipped |= {name for name in _TIMED if spent[name] > 1e3 * config.limit / _GROWTH}
        ratio = round(spent["auto"] / min(x for x in spent.values() if not math.isnan(x)), 2)
        choice = list(ENGINES)[int(piece["choice"])]
        known = [None if math.isnan(x) else x for x in spent.values()]
        rows.append((radius, n, *known, choice, ratio))
    return rows


def _row(config: BenchConfig, n: int, radius: float, skipped: set[str]) -> dict[str, Tensor]:
    """Milliseconds, NaN for an engine that is too slow or refuses; and what `auto` takes."""
    x = bench_cloud(config.cloud, n, config.d, radius, seed=config.seed)
    x = x.to(getattr(torch, config.dtype))
    names = (*_TIMED, "auto")
    spent = [math.nan if name in skipped else _milliseconds(name, x, config) for name in names]
    choice = list(ENGINES).index(Auto(config.tolerance).choice(_pairs(x)).name)
    return {"milliseconds": torch.tensor(spent).double(), "choice": torch.tensor(choice)}


def _milliseconds(name: str, x: Tensor, config: BenchConfig) -> float:
    """Those of the fastest of a few sums."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    engine, operands = _engine(name, config.tolerance), _pairs(x)
    q, k, v, logits = operands.q, operands.k, operands.v, operands.logits
    try:
        with torch.inference_mode():
            spent = best_seconds(lambda: engine.average(q, k, v, logits), clock)
    except EngineUnsupported:
        return math.nan
    return float(f"{1e3 * spent:.3g}")


def _engine(name: str, tolerance: float) -> Engine:
    """With exactly this tolerance, where it takes one."""
    engine = ENGINES.build(name)
    if isinstance(engine, Auto | CertifiedEngine):
        return dataclasses.replace(engine, tolerance=tolerance)
    return engine


def _pairs(x: Tensor) -> Pairs:
    return Pairs(x[None], x[None], x[None], torch.zeros(1, len(x), dtype=x.dtype))


def _report(config: BenchConfig, rows: list[tuple[Cell, ...]], notes: tuple[str, ...]) -> Report:
    one = torch.get_num_threads() == 1
    result = {
        "status": "finished",
        "message": "processor time" if one else "wall time",
        "cloud": config.cloud,
        "d": config.d,
        "tolerance": config.tolerance,
        "threads": torch.get_num_threads(),
        "worst_auto_over_best": max(float(row[-1] or 0.0) for row in rows),
    }
    columns = ("R", "n", *_TIMED, "auto", "choice", "auto / best")
    return Report(result, {"milliseconds": Table(columns, tuple(rows))}, notes=notes)


BENCH = Experiment("bench", BenchConfig, _prepared)
"""One softmax sum by every engine."""
