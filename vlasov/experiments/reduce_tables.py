"""The tables of a reduction: the law along time, and the covariance at the end."""

__all__ = ["law_table", "spectrum_table"]

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from vlasov.experiments.reduce_reference import Reference
from vlasov.experiments.report import Cell, Table
from vlasov.gaussian import Gaussian
from vlasov.reduction.result import Reduction


def law_table(run: Reduction, reference: Reference | None = None, *, noisy: bool = False) -> Table:
    """Time, mean, eigenvalues with the largest first, and trace; beside them the closed form.

    Without noise eigenvalues are squares of singular values of the moved factor: small ones stay
    accurate beside large ones. Frames past the end of the closed form have no reference.
    """
    moved = run.flow[..., : run.start.d] @ run.start.factor
    eigenvalues = _spectrum(run.cov) if noisy else _squares(moved)
    columns: dict[str, Sequence[Cell]] = {
        "t": run.times.tolist(),
        **_numbered("mean", run.mean),
        **_numbered("eigenvalue", eigenvalues),
        "trace": run.cov.diagonal(dim1=-2, dim2=-1).sum(-1).tolist(),
    }
    if reference is not None:
        count, rest = reference.frames(run), len(run.times)
        exact = _squares(reference.laws(run.times[:count].to(run.mean)).factor)
        found = {
            **_numbered("exact_eigenvalue", exact),
            "difference": reference.differences(run).tolist(),
        }
        columns |= {name: [*known, *[None] * (rest - count)] for name, known in found.items()}
    return Table.of_columns(columns)


def spectrum_table(law: Gaussian) -> Table:
    """The eigenvalues of a covariance, the largest first, their shares, and their directions."""
    vectors, _, _ = torch.linalg.svd(law.factor)
    values, directions = _squares(law.factor), _upright(vectors.mT)
    total = float(values.sum())
    return Table.of_columns(
        {
            "eigenvalue": values.tolist(),
            "share": (values / total if total > 0 else values).tolist(),
            **_numbered("direction", directions),
        }
    )


def _upright(rows: Tensor) -> Tensor:
    """Unit vectors with their largest entry positive: the sign of an axis says nothing."""
    largest = rows.gather(-1, rows.abs().argmax(-1, keepdim=True))
    return rows * torch.where(largest < 0, -1.0, 1.0)


def _squares(factor: Tensor) -> Tensor:
    """The eigenvalues of ``L L^T``, the largest first; zeros where L has fewer columns."""
    values = torch.linalg.svdvals(factor).square()
    missing = factor.shape[-2] - values.shape[-1]
    return torch.nn.functional.pad(values, (0, missing))


def _spectrum(cov: Tensor) -> Tensor:
    return torch.linalg.eigvalsh(cov).flip(-1).clamp(min=0.0)


def _numbered(name: str, values: Tensor) -> Mapping[str, Sequence[Cell]]:
    return {f"{name}_{i + 1}": column.tolist() for i, column in enumerate(values.unbind(-1))}
