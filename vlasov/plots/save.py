"""Pictures on disk: written whole or not at all."""

__all__ = ["replacing", "require_suffix", "save_figure"]

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.figure import Figure

from vlasov.errors import InvalidValue

_FORMATS = (".png", ".pdf", ".svg")


def save_figure(figure: Figure, path: str | Path, *, dpi: float = 200.0) -> Path:
    """Write a figure to exactly this path, which is returned; the suffix names the format.

    Nothing keeps the figure alive afterwards, whether or not saving went well.

    Raises:
        InvalidValue: for a suffix other than .png, .pdf and .svg.
    """
    path = require_suffix(path, _FORMATS, kind="A figure")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format=path.suffix[1:].lower())
    return path


def require_suffix(path: str | Path, known: tuple[str, ...], *, kind: str) -> Path:
    """The path, if its suffix is known.

    Raises:
        InvalidValue: with the suffixes that are.
    """
    path = Path(path)
    if path.suffix.lower() not in known:
        found = f"'{path.suffix}'" if path.suffix else "no suffix"
        raise InvalidValue(
            f"{kind} is written as {', '.join(known)} but '{path.name}' has {found}. "
            "Rename the file."
        )
    return path


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A temporary name in the same folder that takes the place of `path` on success only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.stem}-") as folder:
        temporary = Path(folder) / path.name
        yield temporary
        os.replace(temporary, path)
