"""The experiment behind `vlasov energy`: does the equation descend its energy, and how fast."""

__all__ = ["ENERGY"]

from dataclasses import dataclass
from typing import Any

from vlasov._setup import stepping
from vlasov.cloud import Cloud
from vlasov.energies.gradient_flow import GradientFlow, gradient_flow, would_be_flow
from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.drawn import drawn_cloud
from vlasov.experiments.energy_config import EnergyConfig
from vlasov.experiments.energy_convexity import Convexity, convexity_of
from vlasov.experiments.energy_notes import energy_notes
from vlasov.experiments.energy_path import EnergyPath, follow
from vlasov.experiments.equation import equation_of
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.report import Report, Table
from vlasov.experiments.statement_notes import statement_notes
from vlasov.integration import AdaptiveStep
from vlasov.pde import TransformerPDE, velocity
from vlasov.run import Run

_PROBES = 3  # of convexity beside the run: each is a piece
_ENDS = {
    "finished": "Reached the end time.",
    "blow-up": "The tokens blow up after t = {:.6g}.",
    "overflow": "The energy exceeds the largest number after t = {:.6g}.",
}


@dataclass(frozen=True, eq=False)
class _Study:
    """Everything that the settings name, and the sentence that refuses the energy, if any does."""

    config: EnergyConfig
    pde: TransformerPDE
    cloud: Cloud
    flow: GradientFlow
    refusal: str | None

    def report(self, context: Context) -> Report:
        pieces = context.pieces(self.config.frames + (_PROBES if self.config.convexity else 0))
        probe = self.refusal is not None
        path = follow(self.pde, self.cloud, self.config, pieces, probe=probe)
        convexity = (
            convexity_of(self.pde, path, self.cloud, self.config, pieces)
            if self.config.convexity
            else None
        )
        notes = energy_notes(path, self.flow, self.refusal, convexity)
        stated = statement_notes(
            self.pde, self.cloud, _as_run(path, self.cloud), until=self.config.time
        )
        return Report(
            self._result(path, convexity),
            {"energy": _table(path)}
            | ({} if convexity is None else {"convexity": convexity.table}),
            {"points": path.points[-1]} | ({} if convexity is None else dict(convexity.arrays)),
            (*notes, *stated),
        )

    def _result(self, path: EnergyPath, convexity: Convexity | None) -> dict[str, Any]:
        last, largest = float(path.times[-1]), float(path.dissipation.max())
        found: dict[str, Any] = {
            "status": path.ended,
            "message": _ENDS[path.ended].format(last),
            "attention": self.pde.attention.name,
            "geometry": self.pde.geometry.name,
            "beta": self.pde.beta,
            "gradient_flow": self.refusal is None,
            "energy_at_start": float(path.energy[0]),
            "energy_at_end": float(path.energy[-1]),
            "monotone": path.monotone,
            "largest_rise": path.largest_rise,
            "largest_gap": float(path.gap.max()),
            "gap_over_largest_dissipation": float(path.gap.max()) / largest
            if largest > 0
            else 0.0,
            "mobility": self.flow.functionals[0].mobility,
        }
        return found if convexity is None else found | {"lambda_at_most": convexity.bound}


def _prepare(config: EnergyConfig) -> Job:
    pde = equation_of(config, geometry=config.geometry, engine=config.engine)
    cloud = _start(config, pde)
    flow, refusal = _flow(pde, cloud, config)
    if refusal is not None and config.convexity:
        raise InvalidValue(f"'convexity' needs an equation with an energy. {refusal}")
    # what cannot be evaluated is refused before a file is touched
    stepping(config.step, config.integrator, "embedded", AdaptiveStep())
    velocity(pde, cloud)
    return _Study(config, pde, cloud, flow, refusal).report


def _start(config: EnergyConfig, pde: TransformerPDE) -> Cloud:
    on_sphere = config.geometry.startswith("sphere")
    open_law = "gaussian" if config.mean or config.cov or not on_sphere else "sphere"
    cloud = drawn_cloud(config, init=config.init or open_law, n=config.n)
    cloud = cloud.with_points(pde.geometry.retract(cloud.points))
    return cloud.to(dtype=DTYPES[config.dtype or "float64"], device=config.device)


def _flow(
    pde: TransformerPDE, cloud: Cloud, config: EnergyConfig
) -> tuple[GradientFlow, str | None]:
    """The gradient flow; where there is none the would-be one and the reason, or a refusal."""
    try:
        return gradient_flow(pde, cloud), None
    except Unsupported as refusal:
        if not config.probe:
            raise Unsupported(
                f"{refusal} With --probe the functional of the attention is watched all the same."
            ) from None
        return would_be_flow(pde, cloud), str(refusal)


def _table(path: EnergyPath) -> Table:
    columns = {
        "time": path.times,
        "energy": path.energy,
        "dissipation": path.dissipation,
        "slope": path.slope,
        "gap": path.gap,
    }
    if path.bound is not None:
        columns["lambda_at_most"] = path.bound
    return Table.of_columns({name: value.tolist() for name, value in columns.items()})


def _as_run(path: EnergyPath, cloud: Cloud) -> Run:
    last = float(path.times[-1])
    return Run(
        path.times,
        path.points,
        path.times,
        cloud.log_weights,
        None,
        path.ended,
        _ENDS[path.ended].format(last),
        last,
    )


ENERGY = Experiment(
    "energy",
    EnergyConfig,
    _prepare,
    presets={
        "nonsymmetric": {
            "geometry": "euclid", "d": 2, "query": "0.3,1;-1,0.3", "value": "0.3,1;-1,0.3",
            "time": 1.0, "step": 0.02, "probe": True,
        },
        "not-convex": {
            "geometry": "euclid", "d": 1, "n": 60, "attention": "softmax",
            "query": "negative-identity", "mean": (0.3,), "cov": (0.0025,), "time": 1.75,
            "step": 0.05, "convexity": True,
        },
        "indefinite": {
            "geometry": "euclid", "d": 2, "attention": "linear", "query": "1,0;0,-1",
            "value": "-1,0;0,1", "time": 2.0, "convexity": True,
        },
    },
)  # fmt: skip
"""`vlasov energy`."""
