"""The query, key and value maps of an equation, from words, numbers or files."""

__all__ = ["chosen_projections", "cloud_projections"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor

from vlasov._numbers import floating
from vlasov.array_files import read_arrays
from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.equation_config import EquationConfig
from vlasov.pretrained import BertCheckpoint
from vlasov.projections import LayeredProjections, ParameterPath, Projections, RedrawnProjections

_NAMES = ("query", "key", "value")
_BIASES = tuple(f"{name}_bias" for name in _NAMES)


def cloud_projections(
    config: CloudConfig, d: int, checkpoint: BertCheckpoint | None
) -> ParameterPath:
    """The maps of a simulation: those of its checkpoint, if it has one."""
    if checkpoint is None:
        return chosen_projections(config, d)
    interpolation = cast(Literal["constant", "linear"], config.interpolation)
    return checkpoint.projections(config.layer_time, interpolation)


def chosen_projections(config: EquationConfig, d: int) -> ParameterPath:
    """The maps for tokens of width `d`.

    Raises:
        UnknownName: for a word that is no map.
        InvalidValue: for a file that holds something else.
    """
    if config.projections is not None:
        return _from_file(config)
    if config.redraw is not None:
        return RedrawnProjections(
            d, config.heads, every=config.redraw, seed=config.seed, scale=config.scale,
            key_width=config.key_width,
        )  # fmt: skip
    random = Projections.random(
        d, config.heads, key_width=config.key_width, seed=config.seed, scale=config.scale
    ).maps()
    query, key, value = (_map(getattr(config, name), random[name], d) for name in _NAMES)
    return Projections(query=query, key=key, value=value)


def _map(word: str, random: Tensor, d: int) -> Tensor:
    eye = torch.eye(d, dtype=torch.float64).expand(len(random), d, d)
    known = {"identity": eye, "negative-identity": -eye, "random": random}
    if word in known:
        return known[word]
    try:
        return float(word) * eye
    except ValueError:
        if ";" in word or "," in word:
            return _written(word)
        if Path(word).suffix:
            return _matrix(Path(word))
        raise nearest(word, known, kind="map") from None


def _written(word: str) -> Tensor:
    """A matrix row by row, as ``1,0;0,1``."""
    try:
        rows = [[float(entry) for entry in row.split(",")] for row in word.split(";")]
    except ValueError:
        raise InvalidValue(
            f"A map written out has numbers in rows, as 1,0;0,1, but got '{word}'. Correct it."
        ) from None
    return floating(rows, name="A map")


def _matrix(path: Path) -> Tensor:
    content = read_arrays(path)
    if not isinstance(content, Tensor):
        raise InvalidValue(f"'{path}' must hold one array. Save the map alone in it.")
    return content


def _from_file(config: EquationConfig) -> ParameterPath:
    path = Path(str(config.projections))
    arrays = read_arrays(path)
    if isinstance(arrays, Tensor):
        raise InvalidValue(f"'{path}' must hold arrays by name. Save query, key and value in it.")
    for name in arrays:
        if name not in (*_NAMES, *_BIASES):
            raise nearest(name, (*_NAMES, *_BIASES), kind=f"array in '{path}'")
    missing = [name for name in _NAMES if name not in arrays]
    if missing:
        raise InvalidValue(f"'{path}' lacks the arrays {', '.join(missing)}. Add them.")
    if arrays["query"].ndim < 4:
        return _maps(arrays)
    layers = {len(array) for array in arrays.values()}
    if len(layers) > 1:
        raise InvalidValue(
            f"The arrays in '{path}' have {sorted(layers)} layers. Give all of them equally many."
        )
    return _stack(arrays, layers.pop(), config)


def _stack(arrays: Mapping[str, Tensor], count: int, config: EquationConfig) -> LayeredProjections:
    def layer(index: int) -> Projections:
        return _maps({name: array[index] for name, array in arrays.items()})

    return LayeredProjections(
        tuple(layer(index) for index in range(count)),
        duration=config.layer_time,
        interpolation=config.interpolation,
    )


def _maps(arrays: Mapping[str, Any]) -> Projections:
    return Projections(**arrays)
