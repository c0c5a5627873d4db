"""The cells of a phase diagram: which parameters each has, and the systems that they make."""

__all__ = ["Cells", "cells_of"]

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.cloud_maps import chosen_projections
from vlasov.experiments.equation_config import gaussian_law
from vlasov.experiments.phase_axes import Axis, held_values, require_distinct
from vlasov.experiments.phase_config import PhaseConfig
from vlasov.experiments.phase_systems import Systems, built, drawn
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections

_DEFAULT_AXES = ("a1=-2:2", "a2=-2:2")
_DEFAULT_HELD = {"angle": 30.0, "v2": 0.2, "anisotropy": 4.0}
_SET_BY_MAPS = ("query", "key", "value", "projections", "key_width", "redraw")


@dataclass(frozen=True, eq=False)
class Cells:
    """Values of the parameters by name, and systems in the same order.

    Attributes:
        values: what varies, ``(cells,)`` each; nothing for draws of an ensemble.
        axes: the ranges; of a grid the first varies fastest.
        grid: whether all combinations are there.
        systems: the equations and laws.
    """

    values: Mapping[str, Float[Tensor, " cells"]]
    axes: tuple[Axis, ...]
    grid: bool
    systems: Systems

    def groups(self, size: int) -> list[Tensor]:
        """The cells in groups of at most so many that share their noise, in order."""
        noise = self.systems.diffusion
        every = torch.arange(len(self.systems))
        apart = [every] if noise is None else [every[noise == one] for one in noise.unique()]
        return [part for group in apart for part in group.split(size)]


def cells_of(config: PhaseConfig, pde: TransformerPDE) -> Cells:
    """The cells that the settings name.

    Raises:
        UnknownName: for a parameter that does not exist.
        InvalidValue: for parameters and settings that exclude each other.
    """
    if config.ensemble is not None or (config.random is not None and config.x is None):
        return _ensemble(config, pde)
    axes = tuple(Axis.parse(text) for text in (config.x, config.y) if text is not None)
    held = held_values(config.hold)
    if not axes:
        axes = tuple(Axis.parse(text) for text in _DEFAULT_AXES)
        held = _DEFAULT_HELD | held
    require_distinct([*(axis.name for axis in axes), *held])
    _require_free(config, {*(axis.name for axis in axes), *held})
    values = _grid(axes) if config.random is None else _box(axes, config)
    count = len(next(iter(values.values())))
    fixed = {name: torch.full((count,), value).double() for name, value in held.items()}
    path = chosen_projections(config, config.d)
    if not isinstance(path, Projections):
        raise InvalidValue("A phase diagram takes maps that are constant in time. Drop --redraw.")
    law = gaussian_law(config)
    systems = built(pde, path.maps(), law, {**values, **fixed})
    return Cells(values, axes, config.random is None, _placed(systems, config))


def _ensemble(config: PhaseConfig, pde: TransformerPDE) -> Cells:
    given = [name for name in ("x", "hold", "cov", "mean", *_SET_BY_MAPS) if _given(config, name)]
    given = [name for name in given if name != "key_width"]
    if given:
        raise InvalidValue(
            f"An ensemble draws maps and covariances, so '{given[0]}' has no place. Drop it, or "
            "give axes in place of the ensemble."
        )
    systems = drawn(
        pde,
        count=config.random or 1,
        d=config.d,
        heads=config.heads,
        key_width=config.key_width or config.d,
        ensemble=config.ensemble or "identity",
        seed=config.seed,
    )
    return Cells({}, (), False, _placed(systems, config))


def _require_free(config: PhaseConfig, names: set[str]) -> None:
    """Refuse a parameter beside the setting that it replaces."""
    for name, setting in (("beta", "beta"), ("noise", "noise"), ("a1", "query"), ("a2", "query")):
        if name in names and _given(config, setting):
            raise InvalidValue(
                f"The parameter '{name}' and the setting '{setting}' exclude each other. Keep one."
            )


def _given(config: PhaseConfig, name: str) -> bool:
    default = next(field.default for field in dataclasses.fields(config) if field.name == name)
    return getattr(config, name) != default


def _grid(axes: tuple[Axis, ...]) -> dict[str, Tensor]:
    meshes = torch.meshgrid(*(axis.values() for axis in reversed(axes)), indexing="ij")
    flat = [mesh.flatten() for mesh in reversed(meshes)]
    return {axis.name: values for axis, values in zip(axes, flat, strict=True)}


def _box(axes: tuple[Axis, ...], config: PhaseConfig) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(config.seed)
    shape = (config.random or 1, len(axes))
    shares = torch.rand(*shape, generator=generator, dtype=torch.float64)
    return {axis.name: axis.at(shares[:, i]) for i, axis in enumerate(axes)}


def _placed(systems: Systems, config: PhaseConfig) -> Systems:
    """The systems in the precision and on the device of the settings."""
    dtype, device = DTYPES[config.dtype or "float64"], config.device
    maps = {name: one.to(device=device, dtype=dtype) for name, one in systems.maps.items()}
    mean, cov = (one.to(device=device, dtype=dtype) for one in (systems.mean, systems.cov))
    return Systems(maps, mean, cov, systems.diffusion)
