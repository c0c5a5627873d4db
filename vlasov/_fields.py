"""Records at the door: every field of a settings dataclass is of the kind that it is declared."""

__all__ = ["require_kinds"]

import dataclasses
import functools
import numbers
import types
import typing
from collections.abc import Callable, Mapping

from vlasov.errors import InvalidValue


def require_kinds(record: object) -> None:
    """Refuse a dataclass instance with a field that is no number, text or truth value as declared.

    Whole numbers may stand for real ones; True and False are no numbers. Fields of other types
    are left to their owner.

    Raises:
        InvalidValue: with the name of the field, what it takes, and what was found.
    """
    for name, kinds in _declared(type(record)).items():
        value = getattr(record, name)
        if not any(_IS[kind](value) for kind in kinds):
            wanted = " or ".join(_WORDS[kind] for kind in kinds)
            raise InvalidValue(f"{name} takes {wanted} but is {value!r}; correct it.")


@functools.cache
def _declared(kind: type) -> Mapping[str, tuple[type, ...]]:
    """The simple types that each field of a dataclass may have."""
    hints = typing.get_type_hints(kind)
    found: dict[str, tuple[type, ...]] = {}
    for field in dataclasses.fields(kind):  # pyright: ignore[reportArgumentType]
        hint = hints[field.name]
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        if all(one in _IS for one in kinds):
            found[field.name] = kinds
    return found


def _whole(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Integral)


def _real(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


_IS: Mapping[type, Callable[[object], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: _whole,
    float: _real,
    str: lambda value: isinstance(value, str),
    type(None): lambda value: value is None,
}
_WORDS: Mapping[type, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "None",
}
