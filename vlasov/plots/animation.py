"""A run as a film: GIF by Pillow, MP4 by the ffmpeg that comes with imageio-ffmpeg.

Frames are drawn one by one and handed on, so memory does not grow with the run.
"""

__all__ = ["MOST_FRAMES", "check_writer", "save_animation"]

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from vlasov.errors import InvalidValue, MissingExtra
from vlasov.plots.clouds import marks, reduction
from vlasov.plots.projection import Scene, project
from vlasov.plots.save import replacing, require_suffix
from vlasov.plots.stage import new_axes, outgrown, set_limits, stage
from vlasov.plots.style import new_figure, note, thinned, typeset
from vlasov.run import Run

MOST_FRAMES = 300
"""Longer films are refused: they grow large and show no more."""

_SUFFIXES = (".gif", ".mp4")
_INCHES, _DPI = (3.6, 3.6), 150  # an even number of pixels, which video needs
_HOLD = 1.0  # seconds for which the last frame stays

Progress = Callable[[int, int], None]


def check_writer(path: str | Path) -> None:
    """Make sure, before a simulation, that its film can be written.

    Raises:
        InvalidValue: for a suffix other than .gif and .mp4.
        MissingExtra: for an .mp4 without imageio-ffmpeg, with the install command.
    """
    path = require_suffix(path, _SUFFIXES, kind="An animation")
    if path.suffix.lower() == ".mp4":
        _ffmpeg(path)


def save_animation(
    run: Run,
    path: str | Path,
    *,
    frames: int = 120,
    rate: float = 20.0,
    progress: Progress | None = None,
) -> Path:
    """Write the film of a run to exactly this path, which is returned.

    Args:
        run: the run; of a batch, its first cloud up to its own end.
        path: a .gif or .mp4.
        frames: how many of the recorded frames to show, evenly spread; at most 300.
        rate: frames per second; the last one stays a second longer.
        progress: called after each frame with the number done and the number in all.

    Raises:
        InvalidValue: for another suffix, or `frames` or `rate` outside their range.
        MissingExtra: for an .mp4 without imageio-ffmpeg.
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    check_writer(path)
    path = Path(path)
    if not 1 <= frames <= MOST_FRAMES:
        raise InvalidValue(
            f"An animation shows 1 to {MOST_FRAMES} frames but got {frames}. "
            "The recorded frames are thinned to that number."
        )
    if not 0 < rate <= 50:  # a GIF counts in hundredths of a second, and 1/100 is read as 1/10
        raise InvalidValue(f"`rate` must lie in (0, 50] frames per second but got {rate}. Try 20.")
    film = _Film(project(run), frames, rate, progress)
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    with replacing(path) as temporary:
        write(film, temporary)
    return path


@dataclass(frozen=True, eq=False)
class _Film:
    scene: Scene
    frames: int
    rate: float
    progress: Progress | None

    @property
    def kept(self) -> list[int]:
        return [int(frame) for frame in thinned(len(self.scene.times), self.frames)]

    def images(self) -> Iterator[Image.Image]:
        """The pictures one after the other, all on the same axes."""
        figure = new_figure(*_INCHES)
        ax = new_axes(self.scene, figure)
        stage(self.scene, ax)
        note(ax, reduction(self.scene), self.scene.remark)
        large = outgrown(self.scene)  # the picture grows with a cloud that blows up
        canvas = FigureCanvasAgg(figure)
        figure.set_dpi(_DPI)
        for done, frame in enumerate(self.kept, start=1):
            set_limits(self.scene, ax, frame if large[frame] else None)
            drawn = marks(self.scene, ax, frame)
            typeset(ax.set_title(self._time(frame), loc="left"), size=9.0)
            canvas.draw()
            if done == 1:
                figure.set_layout_engine("none")  # keeps the axes where they are from now on
            yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            for artist in drawn:
                artist.remove()
            if self.progress is not None:
                self.progress(done, len(self.kept))

    def _time(self, frame: int) -> str:
        """The time with as many decimals in all frames as three digits of the last one need."""
        last = float(np.abs(self.scene.times).max()) or 1.0
        decimals = int(np.clip(2 - np.floor(np.log10(last)), 0, 9))
        return f"$t = {self.scene.times[frame]:.{decimals}f}$"


def _write_gif(film: _Film, path: Path) -> None:
    # Pillow merges equal frames and adds up their times: only the duration tells a film's length.
    count = len(film.kept)
    times = [round(1000 / film.rate)] * count
    times[-1] += round(1000 * _HOLD)
    images = (image.quantize(dither=Image.Dither.NONE) for image in film.images())
    with path.open("wb") as file:
        how = {"save_all": True, "duration": times, "loop": 0, "disposal": 1}
        next(images).save(file, "GIF", append_images=images, **how)


def _write_mp4(film: _Film, path: Path) -> None:
    width, height = (round(_DPI * side) for side in _INCHES)
    writer = _ffmpeg(path).write_frames(
        str(path), (width, height), fps=film.rate, codec="libx264", quality=7, macro_block_size=2
    )
    writer.send(None)
    try:
        image = b""
        for image in (image.tobytes() for image in film.images()):
            writer.send(image)
        for _ in range(round(_HOLD * film.rate)):
            writer.send(image)
    finally:
        writer.close()


def _ffmpeg(path: Path) -> Any:  # noqa: ANN401 - the package has no types
    try:
        package = importlib.import_module("imageio_ffmpeg")
        package.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingExtra(
            f"'{path.name}' needs ffmpeg, which was not found. Install it with "
            "`pip install 'vlasov[movie]'`, or use .gif."
        ) from None
    return package
