"""How every picture looks: colours, fonts and marker sizes, set artist by artist.

Nothing global is touched: a user's rcParams and backend are as they were after any picture.
Categories are the eight colours of Okabe and Ito, chosen to be told apart by colour-blind readers.

Source: M. Okabe and K. Ito, "Color Universal Design" (2008).
"""

__all__ = [
    "CATEGORIES",
    "FAINT",
    "INK",
    "MANY",
    "SMALL",
    "dress",
    "letter_panels",
    "marker_alpha",
    "marker_area",
    "new_figure",
    "note",
    "number_ticks",
    "require_flat",
    "thinned",
    "typeset",
]

import string
from collections.abc import Iterable

import numpy as np
from jaxtyping import Int
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, ScalarFormatter
from mpl_toolkits.mplot3d import Axes3D

from vlasov.errors import InvalidValue

CATEGORIES = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#F0E442",
)
INK = "#222222"
FAINT = "#8a8a8a"
MANY = 20_000
"""Above this number of tokens a flat cloud is a density: markers would cover each other."""

SMALL = 8.0
"""Font size in points of everything but titles; the smallest that print keeps legible."""

_TITLE = 9.0
_PLAIN = (1e-2, 1e5)  # sizes written without a power of ten
_FONT = "STIXGeneral"
_MATH = "stix"


def new_figure(width: float = 3.4, height: float = 3.0) -> Figure:
    """An empty figure, in inches, that no window manager knows: it is freed with its last name.

    3.4 inches is one column of a paper, 7 inches are two.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(ax: Axes) -> Axes:
    """Give ticks, labels and spines their print size; call it after the labels are set."""
    ax.tick_params(labelsize=SMALL, labelfontfamily=_FONT, color=FAINT, labelcolor=INK, width=0.6)
    for name, spine in ax.spines.items():
        spine.set_visible(name in {"left", "bottom"})
        spine.set(color=FAINT, linewidth=0.6)
    axes = [ax.xaxis, ax.yaxis, *([ax.zaxis] if isinstance(ax, Axes3D) else [])]
    legend = ax.get_legend()
    for text in (
        *(text for axis in axes for text in (axis.label, axis.get_offset_text())),
        *ax.texts,
        *(legend.get_texts() if legend else ()),
    ):
        typeset(text)
    typeset(ax.title, size=_TITLE)
    return ax


def letter_panels(axes: Iterable[Axes]) -> None:
    """Name panels (a), (b), ... above their left end; call it before they are dressed."""
    for letter, ax in zip(string.ascii_lowercase, axes, strict=False):
        ax.text(0.0, 1.03, f"({letter})", transform=ax.transAxes, ha="right", va="bottom")


def typeset(text: Text, *, size: float = SMALL) -> Text:
    """Set one text in the figure's font, formulas included."""
    text.set(fontfamily=_FONT, math_fontfamily=_MATH, fontsize=size)
    return text


def number_ticks(axis: Axis) -> None:
    """Write numbers whole at every tick: a factor set apart would run into the title."""
    if _PLAIN[0] <= np.abs(axis.get_view_interval()).max() <= _PLAIN[1]:
        axis.set_major_formatter(ScalarFormatter(useOffset=False))
    else:
        axis.set_major_formatter(FuncFormatter(_short))


def _short(value: float, _: int | None = None) -> str:
    """A number such as −2.5e7."""
    digits, e, power = f"{value:.3g}".partition("e")
    return (digits + (f"e{int(power)}" if e else "")).replace("-", "−")


def note(ax: Axes, *remarks: str) -> None:
    """Say what is shown, small and grey above the right end; empty remarks are left out."""
    placed = ax.annotate(
        ", ".join(filter(None, remarks)),
        (1.0, 1.0),
        (0.0, 2.0),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=FAINT,
    )
    typeset(placed)


def marker_area(n: int) -> float:
    """Area in square points of one of `n` markers: few are large, many are small."""
    return float(np.clip(3000.0 / max(n, 1), 2.0, 30.0))


def marker_alpha(n: int) -> float:
    """Opacity of one of `n` markers."""
    return float(np.clip(1.15 - 0.15 * np.log10(max(n, 1)), 0.5, 0.95))


def thinned(count: int, most: int) -> Int[np.ndarray, " kept"]:
    """At most `most` of the indices below `count`, evenly spread, first and last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def require_flat(ax: Axes, *, wanted: str) -> None:
    """Refuse 3-D axes.

    Raises:
        InvalidValue: with what the picture needs.
    """
    if isinstance(ax, Axes3D):
        raise InvalidValue(
            f"{wanted} needs flat axes but got 3-D ones. "
            "Make them with `figure.add_subplot()`, without a projection."
        )
