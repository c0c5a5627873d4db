"""Laws by name: a cloud file, a run folder, one of its frames, or a Gaussian.

``tokens.npz`` · ``runs/demo`` (the last frame) · ``runs/demo:0`` (the first; -2 the last but one)
· ``gaussian:mean=0,1,cov=1,0.5`` where cov is one number for all directions, one for each
direction, or all d x d entries row by row.
"""

__all__ = ["read_law"]

from pathlib import Path

import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.experiments.load import load_run
from vlasov.gaussian import Gaussian
from vlasov.run import Run

_GAUSSIAN = "gaussian:"


def read_law(name: str) -> Cloud | Gaussian:
    """The law of that name.

    Raises:
        InvalidValue: for a file that cannot be read, a frame that is not there, or numbers that
            are no Gaussian.
        RunFolderError: for a folder that holds no run.
    """
    if name.startswith(_GAUSSIAN):
        return _gaussian(name)
    if Path(name).is_dir():
        return _run(name).final
    folder, colon, frame = name.rpartition(":")
    if colon and Path(folder).is_dir():
        return _frame(folder, frame)
    return Cloud.load(name)


def _run(folder: str) -> Run:
    found = load_run(folder)
    if not isinstance(found, Run):
        raise InvalidValue(
            f"'{folder}' holds a report without frames. Give the folder of a `vlasov simulate`."
        )
    return found


def _frame(folder: str, frame: str) -> Cloud:
    run = _run(folder)
    try:
        return run.cloud(int(frame))
    except (ValueError, IndexError):
        raise InvalidValue(
            f"'{folder}' has frames 0 to {len(run.points) - 1} but '{frame}' was asked for. Give "
            "one of them, or the folder alone for the last."
        ) from None


def _gaussian(name: str) -> Gaussian:
    numbers: dict[str, list[float]] = {"mean": [], "cov": []}
    key = ""
    for part in name.removeprefix(_GAUSSIAN).split(","):
        head, equals, tail = part.rpartition("=")
        key = head if equals else key
        try:
            numbers[key].append(float(tail))
        except (KeyError, ValueError):
            raise InvalidValue(
                f"A Gaussian is written gaussian:mean=0,1,cov=1,0.5 but '{part}' in '{name}' does "
                "not fit. Give numbers after mean= and cov=."
            ) from None
    mean = torch.tensor(numbers["mean"], dtype=torch.float64)
    return Gaussian(mean, _covariance(numbers["cov"], len(mean), name))


def _covariance(entries: list[float], d: int, name: str) -> torch.Tensor:
    cov = torch.tensor(entries, dtype=torch.float64)
    if d and len(entries) == d * d:
        return cov.view(d, d)
    if d and len(entries) in {1, d}:
        return torch.diag(cov.expand(d))
    raise InvalidValue(
        f"A covariance in R^{d} has 1, {d} or {d * d} numbers but '{name}' has {len(entries)}. "
        "Give mean= and cov=, as in gaussian:mean=0,0,cov=1."
    )
