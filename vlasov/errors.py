"""The errors of the library: each says what was wanted, what was found, and what to do."""

__all__ = [
    "EngineUnsupported",
    "InvalidValue",
    "MissingExtra",
    "NotConverged",
    "NotFinite",
    "NotOnGeometry",
    "NotPositive",
    "RunFolderError",
    "ShapeMismatch",
    "TooLittleMemory",
    "UnknownName",
    "Unsupported",
    "VlasovError",
]


class VlasovError(Exception):
    """Any error that `vlasov` raises on purpose."""


class ShapeMismatch(VlasovError, ValueError):
    """Tensors whose shapes do not fit each other."""


class InvalidValue(VlasovError, ValueError):
    """A number or setting outside its allowed range."""


class NotFinite(VlasovError, ValueError):
    """NaN or infinity where finite numbers are needed."""


class NotOnGeometry(VlasovError, ValueError):
    """Points that do not lie on the geometry of the equation."""


class NotPositive(VlasovError, ValueError):
    """A matrix that should be positive (semi-)definite and is not."""


class UnknownName(VlasovError, ValueError):
    """A name that no catalogue holds; the message gives the nearest one."""


class Unsupported(VlasovError, NotImplementedError):
    """A combination that has no meaning or no implementation, refused by name."""


class EngineUnsupported(Unsupported):
    """A sum that the chosen engine cannot evaluate; the message names one that can."""


class NotConverged(VlasovError, RuntimeError):
    """An iteration that reached its cap before its tolerance."""


class TooLittleMemory(VlasovError, MemoryError):
    """A computation that would not fit; the message says how much and what fits."""


class RunFolderError(VlasovError, OSError):
    """A run folder that cannot be created, read or resumed."""


class MissingExtra(VlasovError, ImportError):
    """An optional package that is not installed; the message gives the install command."""
