"""A run as one page to play with: plotly's script is inside, nothing is fetched.

A slider and a button move time; the pointer over a token tells which one it is.
"""

__all__ = ["check_page", "save_page"]

import importlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from vlasov.errors import MissingExtra, ShapeMismatch
from vlasov.plots.page import Page
from vlasov.plots.projection import project
from vlasov.plots.save import replacing, require_suffix
from vlasov.run import Run

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ margin: 0; overflow: hidden; }}</style>
</head>
<body>
{body}
</body>
</html>
"""
# No button may send the data anywhere: plotly's own would upload it to a server.
_QUIET = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}


def check_page(path: str | Path) -> None:
    """Make sure, before a simulation, that its page can be written.

    Raises:
        InvalidValue: for a suffix other than .html.
        MissingExtra: without plotly, with the install command.
    """
    require_suffix(path, (".html",), kind="A page")
    _plotly()


def save_page(
    run: Run,
    path: str | Path,
    *,
    tokens: Sequence[str] | None = None,
    title: str = "Token cloud",
) -> Path:
    """Write the interactive page of a run to exactly this path, which is returned.

    At most 100 frames and 1000 tokens are kept, evenly spread; the title says so.

    Args:
        run: the run; of a batch, its first cloud up to its own end.
        path: an .html file.
        tokens: a name for each token, shown under the pointer; by default its index.
        title: the heading.

    Raises:
        InvalidValue: for another suffix.
        MissingExtra: without plotly.
        ShapeMismatch: for a wrong number of names.
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    check_page(path)
    scene = project(run)
    if tokens is not None and len(tokens) != scene.n:
        raise ShapeMismatch(
            f"A run of {scene.n} tokens needs {scene.n} names but got {len(tokens)}. "
            "Give one name per token, or none."
        )
    names = [f"token {i}" for i in range(scene.n)] if tokens is None else list(tokens)
    figure = Page(_plotly(), scene, names, title).figure()
    how = {"include_plotlyjs": True, "full_html": False, "default_height": "100vh"}
    body = figure.to_html(config=_QUIET, auto_play=False, **how)
    with replacing(Path(path)) as temporary:
        temporary.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")
    return Path(path)


def _plotly() -> Any:  # noqa: ANN401 - plotly has no types
    try:
        return importlib.import_module("plotly.graph_objects")
    except ImportError:
        raise MissingExtra(
            "The interactive page needs plotly, which was not found. "
            "Install it with `pip install 'vlasov[html]'`."
        ) from None
