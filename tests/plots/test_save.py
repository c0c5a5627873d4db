"""Figures on disk: whole or not at all, under the name asked for, and gone from memory."""

import gc
import sys
import weakref

import pytest
from PIL import Image

from vlasov.errors import InvalidValue
from vlasov.plots import new_figure, save_figure, summary_figure
from vlasov.plots.save import replacing


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg", ".PNG"])
def test_the_path_returned_is_the_path_written(shrinking, tmp_path, suffix):
    path = tmp_path / "new" / f"run.v1{suffix}"
    assert save_figure(summary_figure(shrinking()), str(path)) == path
    assert path.stat().st_size > 1000
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_pixels_follow_dpi(tmp_path):
    path = save_figure(new_figure(3.0, 2.0), tmp_path / "a.png", dpi=50.0)
    with Image.open(path) as image:
        assert image.size == (150, 100)


@pytest.mark.parametrize(("name", "found"), [("a", "no suffix"), ("a.jpeg", "'.jpeg'")])
def test_an_unknown_suffix_is_refused(tmp_path, name, found):
    with pytest.raises(InvalidValue, match=rf"as .png, .pdf, .svg but '{name}' has {found}"):
        save_figure(new_figure(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_i06_fifty_figures_leave_nothing_behind(shrinking, tmp_path):
    """Also when every second one cannot be saved."""
    run = shrinking()
    figures, figure = [], None
    for k in range(50):
        figure = new_figure()
        figure.add_subplot().scatter(*run.points[0].T.numpy())
        figures.append(weakref.ref(figure))
        if k % 2:
            with pytest.raises(InvalidValue):
                save_figure(figure, tmp_path / "a.bad")
        else:
            save_figure(figure, tmp_path / "a.png", dpi=30.0)
    del figure
    gc.collect()
    assert [figure() for figure in figures] == [None] * 50
    pyplot = sys.modules.get("matplotlib.pyplot")  # some other test may have loaded it
    assert pyplot is None or pyplot.get_fignums() == []
