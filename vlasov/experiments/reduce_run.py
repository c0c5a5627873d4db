"""The experiment behind `vlasov reduce`: a Gaussian law carried by the equation, and its end."""

__all__ = ["REDUCE"]

import math
from dataclasses import dataclass
from typing import Any

from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.equation import equation_of
from vlasov.experiments.equation_config import gaussian_law
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.paper.job import figure_job
from vlasov.experiments.reduce_config import ReduceConfig, with_saddle
from vlasov.experiments.reduce_reference import Reference, reference_of
from vlasov.experiments.reduce_tables import law_table, spectrum_table
from vlasov.experiments.report import Report
from vlasov.experiments.settings import read_value
from vlasov.experiments.statement_notes import statement_notes
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction import Reduction, reduce
from vlasov.reduction.outcome import Outcome, outcome_of

_FRAMES = 101
_LONG = 20.0  # beyond, frames are even in log(1 + t): limits are approached as 1/t


@dataclass(frozen=True, eq=False)
class _Study:
    """Everything that the settings name."""

    config: ReduceConfig
    pde: TransformerPDE
    law: Gaussian
    reference: Reference | None

    def reduced(self, max_steps: int | None) -> Reduction:
        config = self.config
        return reduce(
            self.pde,
            self.law,
            until=config.time,
            step=_step(config.step),
            integrator=config.integrator,
            rtol=config.rtol,
            atol=config.atol,
            save_at=_times(config),
            max_steps=max_steps,
            positions=config.positions,
            threshold=config.threshold,
        )

    def report(self, context: Context) -> Report:
        run = self.reduced(self.config.max_steps)
        end = outcome_of(self.pde, run, positions=self.config.positions)
        arrays = {"times": run.times, "mean": run.mean, "cov": run.cov, "flow": run.flow}
        if self.reference is not None:
            count = self.reference.frames(run)
            arrays["exact_cov"] = self.reference.laws(run.times[:count].to(run.mean)).cov
        bare = self.pde.replace(mask=None)  # reduced only where the mask changes nothing
        notes = statement_notes(bare, self.law, run, until=self.config.time)
        context.watch.progress(1.0)
        return Report(
            self._result(run, end),
            {
                "law": law_table(run, self.reference, noisy=self.pde.noise is not None),
                "spectrum": spectrum_table(run.final),
            },
            {name: array.detach().cpu() for name, array in arrays.items()},
            (*_thresholds(end), *notes),
        )

    def _result(self, run: Reduction, end: Outcome) -> dict[str, Any]:
        found = {
            "status": run.status,
            "message": end.messages[0],
            "attention": self.pde.attention.name,
            "beta": self.pde.beta,
            "outcome": end.kinds[0],
            "blow_up_time": run.blow_up_time,
            "followed_to": run.member_stopped_at[0],
            "rank": int(end.rank),
            "trace": float(end.cov.trace()),
            "growth_of_the_trace": float(end.figures.growth),
            "relative_speed": float(end.figures.speed),
            "stationarity_residual": None if end.residual is None else float(end.residual),
            "steps": run.steps,
            "evaluations": run.evaluations,
        }
        if self.reference is not None:
            found |= {
                "closed_form": self.reference.form.case,
                "exact_blow_up_time": self.reference.blow_up_time,
                "largest_difference": self.reference.largest(run),
            }
        return {name: value for name, value in found.items() if value is not None}


def _prepare(config: ReduceConfig) -> Job:
    if config.figure is not None:
        return figure_job(config)
    pde = equation_of(with_saddle(config))
    law = gaussian_law(config).to(dtype=DTYPES[config.dtype or "float64"], device=config.device)
    if config.save_at and not all(0 <= t <= config.time for t in config.save_at):
        raise InvalidValue(
            f"'save-at' takes times from 0 to the end time {config.time:g} but got "
            f"{min(config.save_at):g} to {max(config.save_at):g}. Correct them, or set --time."
        )
    study = _Study(config, pde, law, None)
    study.reduced(max_steps=1)  # what cannot be reduced is refused before a file is touched
    if not config.exact:
        return study.report
    return _Study(config, pde, law, reference_of(pde, law, wanted=config.save_at)).report


def _times(config: ReduceConfig) -> tuple[float, ...]:
    """The times of the frames: as written, or from 0 to the end."""
    if config.save_at:
        return config.save_at
    count, end = config.frames or _FRAMES, config.time
    shares = [k / (count - 1) for k in range(count - 1)]
    if config.frames is not None or end <= _LONG:
        return (*(end * share for share in shares), end)
    return (*(math.expm1(math.log1p(end) * share) for share in shares), end)


def _step(given: str | float) -> str | float:
    if given == "adaptive":
        return given
    try:
        step = read_value(float, given, name="step")
    except InvalidValue:
        raise InvalidValue(
            f"'step' takes a number above 0 or 'adaptive' but got {given!r}. Correct it."
        ) from None
    return float(str(step))


def _thresholds(end: Outcome) -> tuple[str, ...]:
    rule = end.rule
    return (
        f"Converged: |Sigma'|_F below {rule.speed:g} of the trace at the start, per unit of time. "
        f"Diverged: the trace grew {rule.levels[1]:g} times. Rank: eigenvalues above "
        f"{rule.share:g} of the trace at the end and {rule.floor:g} of that at the start.",
    )


REDUCE = Experiment(
    "reduce",
    ReduceConfig,
    _prepare,
    presets={
        "blow-up": {"time": 2.0, "exact": True},
        "clustering": {
            "query": "-1,0.6;0,-0.2", "cov": (1.0, 0.3, 0.3, 0.5), "time": 20_000.0,
        },
        "line": {
            "query": "-0.64,-0.48;-0.48,-0.36", "cov": (1.0, 0.0, 0.0, 0.6), "time": 3000.0,
            "exact": True,
        },
        "counter-example": {
            "query": "-1,-1;2,-1", "value": "-1,-1;1,0", "time": 2.0,
        },
        "l2-blow-up": {
            "attention": "l2", "query": "0,1;0,0", "key": "1,0;0,0", "value": "0,0;0,1",
            "cov": (0.5, 0.4, 0.4, 1.0), "time": 3.0,
        },
    },
)  # fmt: skip
