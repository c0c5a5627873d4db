"""What the interactive page of a run is made of: tokens at each frame, axes, slider and button."""

__all__ = ["Page"]

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vlasov.plots.globe import graticule
from vlasov.plots.projection import Scene
from vlasov.plots.stage import outgrown, window
from vlasov.plots.style import FAINT, INK, marker_area, thinned

_FRAMES, _TOKENS = 100, 1000
_AT_ONCE = {"transition": {"duration": 0}}


@dataclass(frozen=True, eq=False)
class Page:
    """The parts of the page of a run, as plotly describes them."""

    plotly: Any
    scene: Scene
    names: Sequence[str]
    title: str

    @property
    def frames(self) -> list[int]:
        """The frames kept."""
        return thinned(len(self.scene.times), _FRAMES).tolist()

    @property
    def tokens(self) -> Int[np.ndarray, " k"]:
        """The tokens kept."""
        return thinned(self.scene.n, _TOKENS)

    def figure(self) -> Any:  # noqa: ANN401 - plotly has no types
        """The plotly figure: a background, the tokens, and their places at each frame."""
        background = self._background()
        moving = [len(background)]
        large = outgrown(self.scene)  # the axes grow with a cloud that blows up
        frames = [
            self.plotly.Frame(
                data=[self._tokens(frame, bare=True)],
                name=str(k),
                traces=moving,
                layout=self._axes(frame if large[frame] else None) if large.any() else None,
            )
            for k, frame in enumerate(self.frames)
        ]
        return self.plotly.Figure([*background, self._tokens(0)], self._layout(), frames)

    def _places(self, frame: int) -> dict[str, Float[np.ndarray, " k"]]:
        x = self.scene.points[frame, self.tokens].astype(np.float32)
        if (
            self.scene.width == 1
        ):  # height is where a token started: order and mixing are seen at once
            start = self.scene.points[0, self.tokens, 0].astype(np.float32)
            return {"x": x[:, 0], "y": start}
        return dict(zip("xyz", x.T, strict=False))

    def _tokens(self, frame: int, *, bare: bool = False) -> Any:  # noqa: ANN401
        kind = self.plotly.Scatter3d if self.scene.width == 3 else self.plotly.Scatter
        if bare:
            return kind(**self._places(frame))
        colours = np.round(255 * self.scene.colours[self.tokens]).astype(int)
        diameter = 1.6 * np.sqrt(marker_area(len(self.tokens)))
        marker = {
            "color": [f"rgb({r},{g},{b})" for r, g, b in colours],
            "size": diameter * (0.6 if self.scene.width == 3 else 1.0),
            "line": {"width": 0.5, "color": "white"},
            "opacity": 0.9,
        }
        return kind(
            **self._places(frame),
            mode="markers",
            marker=marker,
            text=[escape(self.names[int(i)], quote=False) for i in self.tokens],
            hovertemplate="%{text}<extra></extra>",
        )

    def _background(self) -> list[Any]:
        radius = self.scene.radius
        if radius is None:
            return []
        look = {"mode": "lines", "line": {"color": FAINT, "width": 1}, "hoverinfo": "skip"}
        if self.scene.width == 2:
            angle = np.linspace(0, 2 * np.pi, 181)
            return [
                self.plotly.Scatter(x=radius * np.cos(angle), y=radius * np.sin(angle), **look)
            ]
        gap = np.full((1, 3), np.nan)
        lines = np.concatenate([part for line in graticule() for part in (radius * line, gap)])
        return [
            self.plotly.Scatter3d(**dict(zip("xyz", lines.T, strict=True)), opacity=0.4, **look)
        ]

    def _layout(self) -> dict[str, Any]:
        return {
            "title": {"text": f"{escape(self.title, quote=False)}<br><sub>{self._shown()}</sub>"},
            "template": "plotly_white",
            "showlegend": False,
            "font": {"family": "serif", "size": 15, "color": INK},
            "margin": {"l": 70, "r": 30, "t": 80, "b": 30},
            "updatemenus": [self._buttons()],
            "sliders": [self._slider()],
            **self._axes(),
        }

    def _shown(self) -> str:
        parts = [
            f"{len(kept)} of {count} {what}"
            for kept, count, what in (
                (self.tokens, self.scene.n, "tokens"),
                (self.frames, len(self.scene.times), "frames"),
            )
            if len(kept) < count
        ]
        return ", ".join(filter(None, [*parts, self.scene.remark]))

    def _axes(self, frame: int | None = None) -> dict[str, Any]:
        labels = self.scene.labels
        if self.scene.width == 1:
            labels = (*labels, f"{labels[0]} at the start")
        low, high = (np.resize(bound, len(labels)) for bound in window(self.scene, frame))
        axes: dict[str, dict[str, Any]] = {
            f"{name}axis": {
                "title": {"text": _plain(label)},
                "range": [float(a), float(b)],
                "visible": self.scene.radius is None,
            }
            for name, label, a, b in zip("xyz", labels, low, high, strict=False)
        }
        if self.scene.width == 3:
            return {"scene": {**axes, "aspectmode": "cube", "camera": self._camera()}}
        if self.scene.width == 2:
            axes["xaxis"] |= {"constrain": "domain"}
            axes["yaxis"] |= {"scaleanchor": "x", "constrain": "domain"}
        return axes

    def _camera(self) -> dict[str, Any]:
        near = 0.62 if self.scene.radius is not None else 1.25  # without axes there is room
        return {"eye": {"x": 1.1 * near, "y": -1.5 * near, "z": 0.8 * near}}

    def _buttons(self) -> dict[str, Any]:
        play = [None, {"frame": {"duration": 50}, "fromcurrent": True, **_AT_ONCE}]
        stop = [[None], {"mode": "immediate", "frame": {"duration": 0}}]
        buttons = [
            {"label": label, "method": "animate", "args": args}
            for label, args in (("Play", play), ("Pause", stop))
        ]
        place = {"x": 0.0, "xanchor": "left", "y": 0.0, "yanchor": "top", "pad": {"t": 70}}
        look = {"direction": "left", "showactive": False}
        return {"type": "buttons", "buttons": buttons, **place, **look}

    def _slider(self) -> dict[str, Any]:
        jump = {"mode": "immediate", "frame": {"duration": 0}, **_AT_ONCE}
        steps = [
            {"label": f"{self.scene.times[f]:.3g}", "method": "animate", "args": [[str(k)], jump]}
            for k, f in enumerate(self.frames)
        ]
        now = {"prefix": "t = ", "xanchor": "right"}
        return {"steps": steps, "currentvalue": now, "x": 0.18, "len": 0.82, "pad": {"t": 40}}


def _plain(label: str) -> str:
    """An axis label without the marks of a formula: the page carries no typesetter."""
    return re.sub(r"\$(\w)(?:_(\d))?\$", _letter, label)


def _letter(match: re.Match[str]) -> str:
    return f"{match[1]}<sub>{match[2]}</sub>" if match[2] else match[1]
