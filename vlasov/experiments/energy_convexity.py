"""All that is asked about the convexity of an energy, in one table."""

__all__ = ["Convexity", "convexity_of"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.energies import one_token_curvature
from vlasov.energies.gradient_flow import gradient_flow
from vlasov.errors import NotConverged, NotFinite, Unsupported
from vlasov.experiments.energy_config import EnergyConfig
from vlasov.experiments.energy_midpoints import Midpoints, cloud_midpoints, covariance_midpoints
from vlasov.experiments.energy_path import EnergyPath
from vlasov.experiments.pieces import Pieces
from vlasov.experiments.report import Table
from vlasov.pde import TransformerPDE
from vlasov.transport.lower_bound import moments

_TOKENS = 8  # of the random clouds that are joined
_ROUNDING = 1e-9

Row = tuple[str, str, int, int, float]


@dataclass(frozen=True, eq=False)
class Convexity:
    """Rows of the table, arrays of the probes, and reasons why a probe was left out."""

    rows: tuple[Row, ...]
    arrays: Mapping[str, Tensor]
    left_out: tuple[str, ...]

    @property
    def table(self) -> Table:
        """The probes with the largest lambda that each allows."""
        return Table(("probe", "functional", "looked_at", "refuting", "lambda_at_most"), self.rows)

    @property
    def bound(self) -> float:
        """The largest lambda that no probe of the energy contradicts."""
        return min(row[-1] for row in self.rows if row[1] == "F")

    @property
    def sentence(self) -> str:
        """The verdict on the energy of the equation."""
        refuting = [row[0] for row in self.rows if row[1] == "F" and row[3]]
        if refuting:
            return (
                f"The energy is not convex: lambda is at most {self.bound:.6g}, by "
                f"{' and '.join(refuting)}."
            )
        return (
            f"Nothing contradicts convexity of the energy with lambda up to {self.bound:.6g}; "
            "that is no proof."
        )


def convexity_of(
    pde: TransformerPDE, path: EnergyPath, cloud: Cloud, config: EnergyConfig, pieces: Pieces
) -> Convexity:
    """Recipe 1 along the run; on R^d also random midpoints and clouds of one token."""
    law = moments(cloud)
    probes: dict[str, Callable[[], Mapping[str, Tensor]]] = {
        "covariances": lambda: vars(
            covariance_midpoints(pde, law, draws=config.draws, seed=config.seed)
        ),
        "clouds": lambda: vars(
            cloud_midpoints(pde, law, n=_TOKENS, draws=config.draws, seed=config.seed)
        ),
        "one-token": lambda: {"curvature": one_token_curvature(pde, cloud.points.double())},
    }
    found: dict[str, Mapping[str, Tensor]] = {}
    left_out: list[str] = []
    for name, probe in probes.items():
        try:
            found[name] = pieces.get(name, probe)
        except (Unsupported, NotFinite, NotConverged) as refusal:
            left_out.append(f"Left out, {name.replace('-', ' ')}: {refusal}")
    rows = [_along_the_run(path), *_of_midpoints(found), *_of_one_token(found, pde, cloud)]
    return Convexity(tuple(rows), _arrays(found), tuple(left_out))


def _along_the_run(path: EnergyPath) -> Row:
    bound = torch.zeros(0) if path.bound is None else path.bound
    refuting = int((bound < -_ROUNDING).sum())
    return ("D along the run", "F", len(bound), refuting, float(bound.min()))


def _of_midpoints(found: Mapping[str, Mapping[str, Tensor]]) -> list[Row]:
    rows: list[Row] = []
    for name, functional in (("covariances", "f(Sigma)"), ("clouds", "F")):
        if name in found:
            drawn = Midpoints(**found[name])
            probe = f"midpoints of {name}"
            rows.append((probe, functional, len(drawn.gaps), drawn.refuted, drawn.bound))
    return rows


def _of_one_token(
    found: Mapping[str, Mapping[str, Tensor]], pde: TransformerPDE, cloud: Cloud
) -> list[Row]:
    if "one-token" not in found:
        return []
    lowest = found["one-token"]["curvature"][..., 0]
    lowest = lowest[lowest.isfinite()]
    # among all measures these curves are known as geodesics only where the mobility is constant
    constant = gradient_flow(pde, cloud).functionals[0].mobility == "B"
    functional = "F" if constant else "F on one token"
    refuting = int((lowest < -_ROUNDING).sum())
    return [("clouds of one token", functional, len(lowest), refuting, float(lowest.min()))]


def _arrays(found: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The gaps of the midpoints and the pairs that show them best."""
    arrays: dict[str, Tensor] = {}
    for name in ("covariances", "clouds"):
        if name in found:
            drawn = Midpoints(**found[name])
            arrays[f"{name}_gaps"] = drawn.gaps
            arrays[f"{name}_relative_gaps"] = drawn.relative
            arrays[f"{name}_worst"] = drawn.ends[drawn.worst]
    return arrays
