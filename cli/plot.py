"""`vlasov plot`."""

__all__ = ["command"]

from pathlib import Path

import click

from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run
from vlasov.experiments.report import Report

from .experiment import draw_report
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
    opened, content = RunFolder.open(folder), load_run(folder)
    if isinstance(content, Report):
        written = draw_report(opened, content)
    else:
        written = draw(content, opened, drawing, quiet=quiet)
    if not quiet:
        click.echo("\n".join(map(str, written)))
