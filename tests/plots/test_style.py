"""What every picture shares: print sizes, thinning, nothing global."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from vlasov.plots import summary_figure
from vlasov.plots.style import CATEGORIES, marker_alpha, marker_area, number_ticks, thinned


@pytest.mark.parametrize(("count", "most"), [(5, 10), (10, 10), (1000, 7), (1, 1), (301, 300)])
def test_thinning_keeps_both_ends(count, most):
    kept = thinned(count, most)
    assert len(kept) == min(count, most)
    assert kept[0] == 0
    assert kept[-1] == (count - 1 if most > 1 else 0)
    assert (np.diff(kept) > 0).all()


def test_markers_shrink_and_fade_with_their_number():
    numbers = [1, 100, 1000, 10_000, 1_000_000]
    areas, alphas = map(marker_area, numbers), map(marker_alpha, numbers)
    assert (np.diff(list(areas)) <= 0).all()
    assert (np.diff(list(alphas)) <= 0).all()


def test_categories_are_eight_different_colours():
    assert len(set(CATEGORIES)) == 8


def test_every_text_of_a_summary_is_legible_in_print(shrinking):
    figure = summary_figure(shrinking(d=3), title="A title")
    FigureCanvasAgg(figure).draw()
    sizes = [float(text.get_fontsize()) for text in figure.findobj(Text) if text.get_text()]
    assert min(sizes) >= 8.0
    assert figure.get_figwidth() == 7.0


def test_pictures_leave_the_settings_as_they_were(shrinking):
    before = dict(mpl.rcParams)
    FigureCanvasAgg(summary_figure(shrinking())).draw()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("limits", "value", "written"),
    [
        ((0, 3), 1.5, "1.5"),
        ((-4e7, 1e7), -2e7, "−2e7"),
        ((0, 2e-9), 1e-9, "1e−9"),
        ((0, 3e6), 0.0, "0"),
    ],
)
def test_large_and_small_numbers_are_written_whole(figure, limits, value, written):
    ax = figure.add_subplot()
    ax.set_ylim(limits)
    ax.set_yticks([value])
    number_ticks(ax.yaxis)
    figure.canvas.draw()
    assert [text.get_text() for text in ax.get_yticklabels()] == [written]
    assert ax.yaxis.get_offset_text().get_text() == ""
