"""Settings of an experiment: read from text or TOML, checked against the fields of a dataclass.

A field's type, default and help are written once, in the dataclass; the command line and files
follow.
"""

__all__ = ["choice", "from_mapping", "option", "read_toml", "read_value", "split_specs"]

import dataclasses
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue

T = TypeVar("T")


def option(default: T, text: str) -> T:
    """A field of a settings dataclass with its help text."""
    return dataclasses.field(default=default, metadata={"help": text})


def from_mapping(kind: type[T], given: Mapping[str, object]) -> T:
    """Settings from names and values; dashes and underscores in names are the same.

    Raises:
        UnknownName: for a name without a field, with the nearest one.
        InvalidValue: for a value of the wrong kind.
    """
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for written, value in given.items():
        name = written.replace("-", "_")
        if name not in hints:
            raise nearest(written, [n.replace("_", "-") for n in hints], kind="setting")
        values[name] = read_value(hints[name], value, name=name.replace("_", "-"))
    return kind(**values)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file.

    Raises:
        InvalidValue: if there is no such file or it is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidValue(f"Cannot read '{path}': {error.strerror}. Give a TOML file.") from None
    except ValueError as error:
        raise InvalidValue(f"'{path}' is not valid TOML: {error}. Correct it.") from None


def read_value(hint: object, value: object, *, name: str) -> object:
    """A value, written as text or already typed, as the type of its field.

    Raises:
        InvalidValue: if it is of another kind.
    """
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in allowed:
        return None
    kinds: list[Any] = [kind for kind in allowed if kind is not type(None)]
    if typing.get_origin(kinds[0]) is tuple:
        return _items(typing.get_args(kinds[0])[0], value, name=name)
    for kind in kinds:
        read = _READERS[kind](value)
        if read is not None:
            return read
    wanted = " or ".join(_WORDS[kind] for kind in kinds)
    raise InvalidValue(f"'{name}' takes {wanted} but got {value!r}. Correct the value.")


def split_specs(text: str) -> list[str]:
    """Spec strings joined by commas; an argument ``key=value`` belongs to the spec before it.

    Example:
        >>> split_specs("mean,mlp:hidden=16,scale=2,diameter")
        ['mean', 'mlp:hidden=16,scale=2', 'diameter']
    """
    specs: list[str] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        if specs and "=" in item and ":" not in item:
            specs[-1] += f",{item}"
        else:
            specs.append(item)
    return specs


def choice(value: str, known: Iterable[str], *, name: str) -> None:
    """Refuse a word that is not one of the known ones.

    Raises:
        UnknownName: with the nearest one.
    """
    names = list(known)
    if value not in names:
        raise nearest(value, names, kind=name)


def _items(kind: type, value: object, *, name: str) -> tuple[Any, ...]:
    given = list(value) if isinstance(value, list | tuple) else [value]
    parts: list[object] = []
    for item in given:
        if isinstance(item, str) and not all(part.strip() for part in item.split(",")):
            raise InvalidValue(
                f"'{name}' needs a value on both sides of a comma but got '{item}'. Write them, "
                "or drop the comma."
                if "," in item
                else f"'{name}' needs a value but got '{item}'. Write one, or drop it."
            )
        if isinstance(item, str):
            parts += split_specs(item) if kind is str else item.split(",")
        else:
            parts.append(item)
    return tuple(read_value(kind, part, name=name) for part in parts)


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _int(value: object) -> int | None:
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


_READERS: Mapping[type, Callable[[object], Any]] = {
    bool: _bool, int: _int, float: _float, str: _str,
}  # fmt: skip
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "text",
}
