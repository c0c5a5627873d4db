"""Statements of the theory, each compared with a run of its own equation."""

__all__ = ["checked", "law", "named", "require_agreement", "verdict"]

import torch
from covariance_equation import normal, positive

import vlasov as vl
from vlasov.reduction.reduce import reduce
from vlasov.theory import Checked, Statement, check, statements


def law(d: int, seed: int, mean: float = 0.0) -> vl.Gaussian:
    return vl.Gaussian(
        mean * normal(d, seed=seed), positive(d, seed) + 0.2 * torch.eye(d).double()
    )


def named(found: tuple[Statement, ...]) -> dict[str, Statement]:
    return {one.name: one for one in found}


def checked(
    pde: vl.TransformerPDE, start: vl.Gaussian | vl.Cloud, until: float
) -> dict[str, Checked]:
    """All statements of an equation and a start, compared with its run."""
    if isinstance(start, vl.Gaussian):
        run = reduce(pde, start, until=until, frames=21)
    else:
        run = vl.simulate(pde, start, until=until, step=until / 25)
    return {one.name: check(one, run) for one in statements(pde, start, until=until)}


def verdict(found: dict[str, Checked], name: str) -> tuple[bool | None, str]:
    return found[name].statement.holds, found[name].verdict


def require_agreement(found: dict[str, Checked]) -> None:
    assert [one for one in found.values() if one.verdict == "violated"] == []
