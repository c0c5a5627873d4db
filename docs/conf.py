"""Sphinx settings: Markdown pages with formulas and citations, and the generated catalogue."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "vlasov"
author = "the vlasov authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_title = "vlasov"
myst_enable_extensions = ["amsmath", "dollarmath"]
napoleon_custom_sections = ["Source"]
bibtex_bibfiles = ["references.bib"]
autodoc_typehints = "none"


def write_catalogue(app: Sphinx) -> None:
    """Write the page of named choices before the sources are read."""
    from catalogue import page

    target = HERE / "_generated" / "catalogue.rst"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page())


def setup(app: Sphinx) -> None:
    """Register the generated page."""
    app.connect("builder-inited", write_catalogue)
