"""The pictures of a run folder: a summary, an animation, and on request an interactive page."""

__all__ = ["Drawing", "check_drawing", "draw"]

from dataclasses import dataclass
from pathlib import Path

from vlasov.experiments.folder_store import RunFolder
from vlasov.plots import (
    check_page,
    check_writer,
    save_animation,
    save_figure,
    save_page,
    summary_figure,
)
from vlasov.run import Run

from .progress import follow

_SUMMARY, _FILM, _PAGE = "summary.png", "animation", "page.html"


@dataclass(frozen=True)
class Drawing:
    """Which pictures to make."""

    movie: str = "gif"
    html: bool = False
    nothing: bool = False

    @property
    def film(self) -> str | None:
        """The name of the animation."""
        return None if self.nothing or self.movie == "none" else f"{_FILM}.{self.movie}"

    @property
    def page(self) -> str | None:
        """The name of the interactive page."""
        return _PAGE if self.html and not self.nothing else None


def check_drawing(drawing: Drawing) -> None:
    """Refuse a picture that could not be written, before anything is computed.

    Raises:
        MissingExtra: naming the package to install.
    """
    if drawing.film is not None:
        check_writer(drawing.film)
    if drawing.page is not None:
        check_page(drawing.page)


def draw(run: Run, folder: RunFolder, drawing: Drawing, *, quiet: bool = False) -> list[Path]:
    """Draw a run into its folder; the paths written."""
    if drawing.nothing:
        return []
    title = f"{run.facts.get('attention', 'attention')}: {run.status} at t = {run.stopped_at:.4g}"
    written = [save_figure(summary_figure(run, title=title), folder.path / _SUMMARY)]
    if drawing.film is not None:
        with follow("Drawing", 1.0, quiet=quiet) as tick:
            written.append(
                save_animation(
                    run,
                    folder.path / drawing.film,
                    progress=lambda done, total: tick(done / total),
                )
            )
    if drawing.page is not None:
        words = folder.words() or None
        written.append(save_page(run, folder.path / drawing.page, tokens=words, title=title))
    return written
