"""Named choices: a closed list of classes, built from spec strings such as ``sinkhorn:eps=0.3``.

A spec is ``name`` or ``name:key=value,key=value``. `Catalogue.build` reads it, `Catalogue.spec`
writes it, and the two are inverse to each other on values that differ from the defaults.
"""

import dataclasses
import difflib
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from vlasov.errors import InvalidValue, UnknownName

__all__ = ["Catalogue", "Named", "nearest"]


@runtime_checkable
class Named(Protocol):
    """A dataclass that a catalogue can hold."""

    name: ClassVar[str]


if TYPE_CHECKING:
    T = TypeVar("T", bound=Named)
else:
    T = TypeVar("T")  # beartype cannot check a protocol with a data member


def nearest(found: str, known: Iterable[str], *, kind: str) -> UnknownName:
    """The error for an unknown name: the nearest known one and the whole list.

    Example:
        >>> str(nearest("sotfmax", ["softmax", "l2"], kind="attention"))
        "Unknown attention 'sotfmax': did you mean 'softmax'? Known: l2, softmax."
    """
    names = sorted(known)
    close = difflib.get_close_matches(found.lower(), names, n=1, cutoff=0.4)
    hint = f": did you mean '{close[0]}'?" if close else "."
    return UnknownName(f"Unknown {kind} '{found}'{hint} Known: {', '.join(names)}.")


def _parse(text: str, default: object, *, where: str) -> bool | int | float | str:
    """The value written in a spec, read as the type of the field's default."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int):
            return int(text)
        return text if isinstance(default, str) else _finite(text)
    except (ValueError, KeyError):
        raise InvalidValue(f"{where} takes {_wanted(default)} but got '{text}'.") from None


def _wanted(default: object) -> str:
    if isinstance(default, bool):
        return "true or false"
    return "a whole number" if isinstance(default, int) else "a finite number"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class Catalogue(Generic[T]):
    """A closed list of dataclasses by name.

    Every member is a dataclass with a class variable `name`; the fields with a default are its
    spec arguments.
    """

    def __init__(self, kind: str, members: Iterable[type[T]]) -> None:
        self.kind = kind
        self._members: dict[str, type[T]] = {}
        for member in members:
            self.register(member)

    def register(self, member: type[T]) -> type[T]:
        """Add a class under its own name; a second one of that name is refused."""
        if member.name in self._members:
            raise InvalidValue(f"The {self.kind} '{member.name}' is already registered.")
        self._members[member.name] = member
        return member

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._members:
            raise nearest(name, self._members, kind=self.kind)
        return self._members[name]

    def build(self, spec: str) -> T:
        """The object that a spec string describes.

        Raises:
            UnknownName: for an unknown name or argument, with the nearest one.
            InvalidValue: for an argument that cannot be read.
        """
        name, _, rest = spec.strip().partition(":")
        member = self[name.strip()]
        fields = {f.name: f for f in dataclasses.fields(member) if f.init}  # type: ignore[arg-type]
        given: dict[str, Any] = {}
        for item in filter(None, (part.strip() for part in rest.split(","))):
            key, equals, text = (part.strip() for part in item.partition("="))
            where = f"'{key}' of {self.kind} '{name}'"
            if not equals:
                raise InvalidValue(f"{where} needs a value: write '{name}:{key}=VALUE'.")
            if key not in fields:
                raise nearest(key, fields, kind=f"argument of {self.kind} '{name}'")
            given[key] = _parse(text, fields[key].default, where=where)
        return member(**given)

    def spec(self, member: T) -> str:
        """The spec string that builds `member` again; arguments at their default are left out."""
        fields = [f for f in dataclasses.fields(member) if f.init]  # type: ignore[arg-type]
        items = [(f.name, getattr(member, f.name), f.default) for f in fields]
        written = [f"{key}={_written(value)}" for key, value, default in items if value != default]
        return f"{member.name}:{','.join(written)}" if written else member.name


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
