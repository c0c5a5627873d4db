"""`vlasov plot`."""

__all__ = ["command"]

from pathlib import Path

import click

from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run

from .figures import Drawing, check_drawing, draw
from .options import drawing_options


@click.command("plot")
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@drawing_options
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(folder: Path, movie: str, html: bool, no_figures: bool, quiet: bool) -> None:
    """Draw the pictures of a run folder again."""
    drawing = Drawing(movie, html, no_figures)
    check_drawing(drawing)
    written = draw(load_run(folder), RunFolder.open(folder), drawing, quiet=quiet)
    if not quiet:
        click.echo("\n".join(map(str, written)))
