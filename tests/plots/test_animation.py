"""Films, read back from the file: how long they are and what their frames show."""

import sys
import weakref

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence

from vlasov.errors import InvalidValue, MissingExtra, NotFinite
from vlasov.plots import check_writer, save_animation
from vlasov.plots.animation import MOST_FRAMES

HOLD = 1.0  # seconds the last frame stays longer


def _seconds(path):
    with Image.open(path) as film:
        return sum(frame.info["duration"] for frame in ImageSequence.Iterator(film)) / 1000


def _pictures(path):
    with Image.open(path) as film:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(film)]


@pytest.mark.slow
def test_i11_a_stationary_run_lasts_as_long_as_a_moving_one(make_run, tmp_path):
    """150 equal frames: Pillow may merge them, the film stays 150/50 s long."""
    angle = torch.arange(8.0, dtype=torch.float64)
    points = torch.stack([angle.cos(), angle.sin()], -1).expand(150, 8, 2)
    still = torch.zeros(150, dtype=torch.float64)
    run = make_run(points, point_times=still, times=still, facts={"geometry": "sphere"})
    path = save_animation(run, tmp_path / "still.gif", frames=150, rate=50.0)
    assert _seconds(path) == pytest.approx(150 / 50 + HOLD)


@pytest.mark.parametrize("recorded", [1, 4, 40])
def test_duration_follows_frames_and_rate(shrinking, tmp_path, recorded):
    seen = []
    path = save_animation(
        shrinking(frames=recorded),
        tmp_path / "a.gif",
        frames=10,
        rate=20.0,
        progress=lambda done, total: seen.append((done, total)),
    )
    kept = min(recorded, 10)
    assert _seconds(path) == pytest.approx(kept / 20 + HOLD)
    assert seen == [(k + 1, kept) for k in range(kept)]


def test_frames_show_the_tokens_at_their_times(make_run, tmp_path):
    """A token that goes from left to right: where the coloured pixels are says where it is."""
    x = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64)
    corner = torch.tensor([[0.0, 1.0], [0.0, -1.0]], dtype=torch.float64).expand(5, 2, 2)
    points = torch.cat([torch.stack([x, 0 * x], -1)[:, None], corner], dim=1)
    pictures = _pictures(save_animation(make_run(points), tmp_path / "a.gif"))
    assert len(pictures) == 5
    middle = slice(240, 270)  # rows about x_2 = 0, to the right of the axis' own numbers
    columns = [np.ptp(p[middle, 80:].astype(int), axis=-1).max(axis=0) > 40 for p in pictures]
    places = [np.flatnonzero(column).mean() for column in columns]
    np.testing.assert_allclose(np.diff(places), np.diff(places).mean(), atol=2)  # pixels
    assert places[-1] - places[0] > 300


@pytest.mark.parametrize(
    ("d", "sphere"), [(1, False), (2, True), (3, True), (3, False), (5, False)]
)
def test_every_kind_of_cloud_is_filmed(shrinking, tmp_path, d, sphere):
    path = save_animation(shrinking(d=d, sphere=sphere, frames=3), tmp_path / "a.gif")
    assert len(_pictures(path)) == 3


def test_the_picture_grows_with_a_blow_up(make_run, tmp_path):
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    run = make_run(torch.stack([x, 10 * x, 1e8 * x]))
    for picture in _pictures(save_animation(run, tmp_path / "a.gif")):
        inner = picture[100:440, 100:440].astype(int)
        assert (np.ptp(inner, axis=-1) > 40).sum() > 20  # coloured pixels: tokens are in view


def test_a_batch_is_filmed_up_to_the_end_of_its_first_cloud(make_run, tmp_path):
    points = torch.rand(6, 2, 4, 2)
    points[3:, 0] = torch.nan
    run = make_run(points, member_status=("steady", "finished"), member_stopped_at=(0.4, 1.0))
    assert _seconds(save_animation(run, tmp_path / "a.gif")) == pytest.approx(3 / 20 + HOLD)


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_pictures_are_handed_on_one_by_one(shrinking, tmp_path, monkeypatch, suffix):
    """Memory is bounded: a picture is gone before the next but one is drawn."""
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg", reason="needs the extra 'movie'")
    drawings, most = [], []
    drawn = Image.fromarray

    def counted(array):
        picture = drawn(array)
        drawings.append(weakref.ref(picture))
        most.append(sum(drawing() is not None for drawing in drawings))
        return picture

    monkeypatch.setattr(Image, "fromarray", counted)
    save_animation(shrinking(frames=12), tmp_path / f"a{suffix}")
    assert len(most) == 12
    assert max(most) <= 2


def test_mp4_has_every_frame_and_the_hold(shrinking, tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra 'movie'")
    path = save_animation(shrinking(frames=10), tmp_path / "a.mp4", rate=20.0)
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert count == 10 + 20
    assert seconds == pytest.approx(10 / 20 + HOLD, abs=0.05)  # one frame
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


@pytest.fixture
def no_ffmpeg(monkeypatch):
    """As if imageio-ffmpeg were not installed."""
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)


@pytest.mark.usefixtures("no_ffmpeg")
def test_i07_mp4_without_ffmpeg_is_refused_before_the_run(shrinking, tmp_path):
    with pytest.raises(
        MissingExtra, match=r"'out.mp4' needs ffmpeg.*vlasov\[movie\].*or use .gif"
    ):
        check_writer("out.mp4")
    with pytest.raises(MissingExtra, match=r"or use .gif"):
        save_animation(shrinking(), tmp_path / "out.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_ffmpeg")
def test_i07_gif_needs_no_ffmpeg(shrinking, tmp_path):
    check_writer("out.gif")
    assert save_animation(shrinking(frames=2), tmp_path / "out.gif").exists()


def test_i07_a_package_without_its_program_is_refused(monkeypatch):
    """What imageio-ffmpeg does where it has no ffmpeg of its own and none is on the path."""
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra 'movie'")

    def missing():
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)
    with pytest.raises(MissingExtra, match="needs ffmpeg, which was not found"):
        check_writer("out.mp4")


@pytest.mark.parametrize("name", ["a.avi", "a.html", "a"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(shrinking, tmp_path, name):
    with pytest.raises(InvalidValue, match=rf"as .gif, .mp4 but '{name}' has"):
        check_writer(name)
    with pytest.raises(InvalidValue, match=r"as .gif, .mp4"):
        save_animation(shrinking(), tmp_path / name)


@pytest.mark.parametrize("frames", [0, -3, MOST_FRAMES + 1])
def test_too_few_or_too_many_frames_are_refused(shrinking, tmp_path, frames):
    with pytest.raises(InvalidValue, match=rf"1 to 300 frames but got {frames}"):
        save_animation(shrinking(), tmp_path / "a.gif", frames=frames)


@pytest.mark.parametrize("rate", [0.0, -1.0, 51.0, float("nan")])
def test_a_rate_out_of_range_is_refused(shrinking, tmp_path, rate):
    with pytest.raises(InvalidValue, match=r"`rate` must lie in \(0, 50\]"):
        save_animation(shrinking(), tmp_path / "a.gif", rate=rate)


def test_a_run_that_cannot_be_drawn_leaves_the_old_film(shrinking, tmp_path):
    run = shrinking()
    path = save_animation(run, tmp_path / "a.gif")
    old = path.read_bytes()
    run.points[-1] = torch.inf
    with pytest.raises(NotFinite):
        save_animation(run, path)
    assert path.read_bytes() == old


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_an_interrupted_film_leaves_nothing(shrinking, tmp_path, suffix):
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg", reason="needs the extra 'movie'")

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_animation(shrinking(), tmp_path / f"a{suffix}", progress=stop)
    assert not list(tmp_path.iterdir())
