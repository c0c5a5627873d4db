"""The experiment behind `vlasov distance`: how far apart two laws are, and how that is known."""

__all__ = ["DISTANCE"]

from typing import Any

from vlasov.errors import InvalidValue
from vlasov.experiments.distance_config import DistanceConfig
from vlasov.experiments.distance_laws import read_law
from vlasov.experiments.distance_methods import DISTANCES, Question
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.report import Report
from vlasov.geometry import GEOMETRIES
from vlasov.transport import Distance, gelbrich


def _prepared(config: DistanceConfig) -> Job:
    for name in ("first", "second"):
        if not getattr(config, name):
            raise InvalidValue(f"A distance needs two laws but the {name} has no name.")
    question = Question(
        first=read_law(config.first),
        second=read_law(config.second),
        p=config.p,
        method=config.method,
        geometry=GEOMETRIES.build(config.geometry),
        eps=config.eps or 0.0,
        directions=config.directions,
        seed=config.seed,
    )

    def job(context: Context) -> Report:
        found = DISTANCES[config.method](question)
        return Report(_result(config, question, found), notes=_notes(found))

    return job


def _result(config: DistanceConfig, question: Question, found: Distance) -> dict[str, Any]:
    result: dict[str, Any] = {
        "status": "finished",
        "message": f"{config.first} and {config.second}",
        "distance": float(found),
        "power": float(found.power.detach()),
        "p": found.p,
        "method": found.method,
        "optimal": found.optimal,
    }
    if found.gap is not None:
        result["relative_duality_gap"] = found.gap
    if config.p >= 2 and not question.curved and config.method != "gelbrich":
        # W_p is not below W_2
        result["gelbrich_lower_bound"] = float(gelbrich(question.first, question.second))
    return result | dict(found.facts)


def _notes(found: Distance) -> tuple[str, ...]:
    if found.optimal:
        return ()
    return (f"This is not W_{found.p:g} itself but: {found.method}.",)


DISTANCE = Experiment("distance", DistanceConfig, _prepared)
"""How far apart two laws are."""
