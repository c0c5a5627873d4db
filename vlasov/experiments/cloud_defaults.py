"""Settings left open, decided: by the geometry, by the tokens, by the checkpoint."""

__all__ = ["with_equation", "with_start"]

import dataclasses
import math

from vlasov.cloud import Cloud
from vlasov.engines import ENGINES
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.pretrained import BertCheckpoint

_NEAR = 0.3  # of the typical norm: tokens this close count as one cluster
_WIDE = 16  # of wider tokens a covariance at every frame would fill the disk
_FRAMES = 100
_FRAME_BYTES = 10**9  # of all frames together, where the user does not say how many


def with_start(config: CloudConfig) -> CloudConfig:
    """Where drawn tokens live and from which law they come; tokens of a file leave this open."""
    if config.tokens is not None:
        return config
    geometry = config.geometry or "sphere"
    gaussian = config.mean or config.cov or not geometry.startswith("sphere")
    init = config.init or ("gaussian" if gaussian else "sphere")
    return dataclasses.replace(config, geometry=geometry, init=init)


def with_equation(
    config: CloudConfig, cloud: Cloud, checkpoint: BertCheckpoint | None
) -> CloudConfig:
    """Everything else, for the tokens at the start.

    A checkpoint normalises its tokens after every layer: unless told otherwise they move on the
    sphere of their root-mean-square norm, in the precision of the checkpoint.
    """
    norm = float(cloud.points.square().sum(-1).mean().sqrt())
    open_choices: dict[str, object] = {
        "geometry": "euclid" if checkpoint is None else f"sphere:radius={norm:.6g}",
        "beta": None if checkpoint is None else checkpoint.beta,
        "time": 12.0 if checkpoint is None else checkpoint.config.layers * config.layer_time,
        "step": 0.05 if checkpoint is None else 0.1,
        "dtype": "float64" if checkpoint is None else "float32",
    }
    decided = _filled(config, open_choices)
    on_sphere = str(decided.geometry).startswith("sphere")
    decided = _filled(
        decided,
        {"beta": 9.0 if on_sphere else 1.0, "observe": _observables(config, cloud.d, norm)},
    )
    decided = _filled(decided, {"integrator": _integrator(decided)})
    decided = _thinned(decided, cloud)
    project = config.project or (checkpoint is not None and config.geometry is None)
    return dataclasses.replace(decided, n=cloud.n, d=cloud.d, project=project)


def _thinned(config: CloudConfig, cloud: Cloud) -> CloudConfig:
    """Fewer frames than usual for a cloud of which a hundred would take more than a gigabyte."""
    asked = config.save_every is not None or config.frames is not None or config.save_at
    size = cloud.points.nelement() * max(DTYPES[str(config.dtype)].itemsize, 4)
    intervals = max(1, _FRAME_BYTES // size - 1)
    if asked or config.keep == "last" or intervals >= _FRAMES:
        return config
    if isinstance(config.step, str):
        return dataclasses.replace(config, frames=intervals + 1)
    steps = math.ceil(float(config.time or 0.0) / float(config.step or 1.0) - 1e-9)
    usual = math.ceil(steps / _FRAMES)
    return dataclasses.replace(config, save_every=max(1, usual, math.ceil(steps / intervals)))


def _integrator(config: CloudConfig) -> str:
    """One that estimates the error of its steps wherever there is such a method."""
    if ENGINES.build(config.engine).random:
        return "euler"
    if config.noise is not None:
        return "heun"
    return "tsit5" if config.step == "adaptive" else "dopri5"


def _filled(config: CloudConfig, choices: dict[str, object]) -> CloudConfig:
    missing = {k: v for k, v in choices.items() if getattr(config, k) in (None, ())}
    return dataclasses.replace(config, **missing)


def _observables(config: CloudConfig, d: int, norm: float) -> tuple[str, ...]:
    # tokens of a file have a scale of their own
    clusters = "clusters" if config.tokens is None else f"clusters:radius={_NEAR * norm:.3g}"
    spread = "covariance" if d <= _WIDE else "effective_rank"
    return ("mean", spread, "diameter", clusters, "mean_cosine")
