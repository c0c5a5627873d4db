r"""The experiment behind `vlasov converge`: how fast clouds of n tokens approach their limit.

.. math:: W_p(\mu^n(t), \mu(t)) \le C(t, R_0)\, W_p(\mu^n(0), \mu(0))

Source: spec 1.3, 1.4, 5.
"""

__all__ = ["CONVERGE", "DISTANCE", "prepare"]

from collections.abc import Mapping

import torch
from torch import Tensor

from vlasov.errors import NotFinite
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_errors import KINDS
from vlasov.experiments.converge_notes import stability, warnings
from vlasov.experiments.converge_presets import PRESETS
from vlasov.experiments.converge_rates import Rate, distance_rate, moment_rate
from vlasov.experiments.converge_reference import FlowReference
from vlasov.experiments.converge_slopes import Slope, fitted_slope
from vlasov.experiments.converge_study import Study, study_of
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.report import Report, Table
from vlasov.transport import bures_wasserstein

DISTANCE = "distance"
"""The name of the Wasserstein error in tables and arrays."""

_COARSE = 0.2  # share of the smallest error above which a reference is too coarse

Found = Mapping[int, Mapping[str, Tensor]]


def prepare(config: ConvergeConfig) -> Job:
    """Build what the settings name, and refuse what has no limit.

    Raises:
        VlasovError: in one sentence.
    """
    study = study_of(config)

    def job(context: Context) -> Report:
        return _report(study, _measured(study, context))

    return job


CONVERGE = Experiment("converge", ConvergeConfig, prepare, PRESETS)


def _measured(study: Study, context: Context) -> Found:
    """The errors of every number of tokens, block by block."""
    blocks = {n: study.blocks(n) for n in study.config.ns}
    pieces = context.pieces(sum(map(len, blocks.values())))
    found: dict[int, Mapping[str, Tensor]] = {}
    for n, parts in blocks.items():
        measured = [
            pieces.get(f"n{n}-{part.start}", lambda n=n, part=part: study.measure(n, part))
            for part in parts
        ]
        found[n] = {name: torch.cat([one[name] for one in measured]) for name in measured[0]}
    return found


def _report(study: Study, found: Found) -> Report:
    fits = {name: _fit(study, found, name) for name in (*KINDS, DISTANCE)}
    rates = dict.fromkeys(KINDS, moment_rate()) | {DISTANCE: _distance_rate(study)}
    growth = stability(study, found[study.config.ns[0]])
    held = sum(rates[k].verdict(fit.low, fit.high).startswith("holds") for k, fit in fits.items())
    result = {
        "status": "finished",
        "message": f"The expected rate holds for {held} of {len(fits)} errors.",
        "reference": study.reference.name,
        "reference_error_share": _share(study, fits)[0],
        "distance_to": study.compared,
        "dimension": study.source.dimension,
        **{f"slope_{name}": fit.slope for name, fit in fits.items()},
        **{f"half_width_{name}": fit.half_width for name, fit in fits.items()},
        "stability_ratio": None if growth is None else growth.ratio,
        "log_stability_bound": None if growth is None else growth.log_bound,
    }
    notes = [_verdict(study, k, fit, rates[k]) for k, fit in fits.items()]
    notes += [] if growth is None else [growth.sentence(study)]
    notes += [*_losses(study, found), *_coarse(study, fits), *warnings(study)]
    tables = {"slopes": _slopes(fits, rates), "errors": _errors(fits)}
    if _journey(study) is not None:
        tables["journey"] = _journeys(study, found)
    arrays = {f"{name}_n{n}": found[n][name] for n in found for name in fits}
    return Report(result, tables, arrays, tuple(notes))


def _fit(study: Study, found: Found, name: str) -> Slope:
    """The slope over those n of which every cloud came to the end."""
    whole = [n for n in found if bool(found[n][name].isfinite().all())]
    if len(whole) < 2:
        raise NotFinite(
            f"A slope needs two numbers of tokens of which every cloud reaches t = "
            f"{study.config.time:g} but found {len(whole)}. Ask for an earlier time."
        )
    power = study.config.p if name == DISTANCE else 2.0
    samples = [found[n][name] for n in whole]
    return fitted_slope(whole, samples, power=power, seed=study.config.seed)


def _distance_rate(study: Study) -> Rate:
    config, source = study.config, study.source
    gaussian = source.gaussian is not None
    return distance_rate(config.p, source.dimension, gaussian=gaussian, ns=config.ns)


def _verdict(study: Study, name: str, fit: Slope, rate: Rate) -> str:
    label = f"W_{study.config.p:g}" if name == DISTANCE else name
    return (
        f"{label}: slope {fit.slope:.3f}, 95 % interval [{fit.low:.3f}, {fit.high:.3f}] by "
        f"bootstrap over seeds; expected {rate.why}: {rate.verdict(fit.low, fit.high)}."
    )


def _losses(study: Study, found: Found) -> list[str]:
    lost = {n: int((~one["mean"].isfinite()).sum()) for n, one in found.items()}
    return [
        f"{count} of {study.config.clouds(n)} clouds of {n} tokens ended before t = "
        f"{study.config.time:g}: n = {n} is left out of the slopes."
        for n, count in lost.items()
        if count
    ]


def _share(study: Study, fits: Mapping[str, Slope]) -> tuple[float, str]:
    """The error of the reference over the smallest measured one, where it is largest."""
    errors = study.reference_errors.items()
    return max(((error / min(fits[k].errors), k) for k, error in errors), default=(0.0, ""))


def _coarse(study: Study, fits: Mapping[str, Slope]) -> list[str]:
    share, name = _share(study, fits)
    if share <= _COARSE:
        return []
    return [
        f"The reference of {study.config.reference_size} tokens is coarse: its {name} is off by "
        f"about {share:.2g} times the smallest error of the clouds. Raise --reference-size."
    ]


def _slopes(fits: Mapping[str, Slope], rates: Mapping[str, Rate]) -> Table:
    names = list(fits)
    return Table.of_columns(
        {
            "error": names,
            "slope": [fits[k].slope for k in names],
            "low": [fits[k].low for k in names],
            "high": [fits[k].high for k in names],
            "intercept": [fits[k].intercept for k in names],
            "steepest": [rates[k].steepest for k in names],
            "flattest": [rates[k].flattest for k in names],
            "verdict": [rates[k].verdict(fits[k].low, fits[k].high) for k in names],
        }
    )


def _errors(fits: Mapping[str, Slope]) -> Table:
    rows = [
        (name, *row)
        for name, fit in fits.items()
        for row in zip(fit.ns, fit.errors, fit.lows, fit.highs, strict=True)
    ]
    return Table(("error", "n", "value", "low", "high"), tuple(rows))


def _journey(study: Study) -> float | None:
    """W_2 from the law at the start to that at the end, where bias is shown beside it."""
    reference, start = study.reference, study.source.gaussian
    if not (study.wide and isinstance(reference, FlowReference) and start is not None):
        return None
    return float(bures_wasserstein(start, reference.law))


def _journeys(study: Study, found: Found) -> Table:
    names = ("journey", "moment_journey")
    readings = {name: [float(one[name].mean()) for one in found.values()] for name in names}
    exact = [_journey(study)] * len(found)
    return Table.of_columns({"n": list(found), **readings, "exact": exact})
