"""The arms of a comparison: where diffusion layers are inserted, and at which scales."""

__all__ = ["BASELINE", "Arm", "every_arm", "read_arms"]

import re
from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.experiments.lra_published import POSITIONS, SCALES
from vlasov.transformer import Diffusions

BASELINE = "none"

_BETWEEN = re.compile(r",(?=\s*[a-z])|\s+")  # the comma of a list of scales stands before a digit
_JOINED = re.compile(r"\s*\+\s*")
_SINGLE = re.compile(r"(?P<position>[a-z-]+)(?::(?P<scales>[0-9,]+))?")


@dataclass(frozen=True)
class Arm:
    """A spec of diffusion layers in the form that `Diffusions` writes."""

    name: str

    @property
    def diffusions(self) -> Diffusions:
        """The layers."""
        return Diffusions.parse(self.name)

    @property
    def folder(self) -> str:
        """The name as part of a path on any system."""
        return re.sub(r"[^a-z0-9+.]+", "-", self.name)

    @property
    def place(self) -> tuple[str, tuple[int, ...]] | None:
        """Position and scales, of one position without further options; None otherwise."""
        match = _SINGLE.fullmatch(self.name)
        if match is None or match["position"] not in POSITIONS:
            return None
        if self.name == BASELINE:
            return BASELINE, ()
        return match["position"], tuple(map(int, (match["scales"] or "1").split(",")))


def read_arms(text: str) -> tuple[Arm, ...]:
    """The arms of a list, the baseline first; separated by blanks, or a comma before a letter.

    Raises:
        UnknownName: for an unknown position.
        InvalidValue: for no arm, or the same one twice.

    Example:
        >>> [arm.name for arm in read_arms("after-mlp:1,2,none")]
        ['none', 'after-mlp:1,2']
    """
    specs = filter(None, _BETWEEN.split(_JOINED.sub("+", text)))
    names = [str(Diffusions.parse(spec)) for spec in specs]
    if not names:
        raise InvalidValue(
            "'diffusion' names at least one arm but is empty. Give none, or a position such as "
            "after-embedding."
        )
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"The diffusion '{name}' is asked for twice. Name it once.")
    return tuple(map(Arm, sorted(names, key=lambda name: name != BASELINE)))


def every_arm() -> str:
    """The list of the whole ablation: the baseline, and all seven positions at all scales."""
    layered = [
        f"{position}:{','.join(map(str, scale))}"
        for position in POSITIONS
        if position != BASELINE
        for scale in SCALES
    ]
    return " ".join((BASELINE, *layered))
