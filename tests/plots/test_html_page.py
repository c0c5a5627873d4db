"""The interactive page: in a browser a slider moves the tokens, and the network is not asked."""

import html
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue, MissingExtra, NotFinite, ShapeMismatch
from vlasov.plots import check_page, save_page

pytest.importorskip("plotly", reason="needs the extra 'html'")

_NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), "")
needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium found on the path")

# A policy that lets the page use what it holds; what else it asks for is written down.
_ALONE = """<head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:;
 script-src 'unsafe-inline'; style-src 'unsafe-inline'; worker-src blob:">
<script>
const asked = [];
document.addEventListener("securitypolicyviolation", event => asked.push(event.blockedURI));
</script>
"""

# After the page has drawn itself: go to frame 3 by the slider's own call, then write what is seen.
_PROBE = """
<script>
const plot = document.querySelector(".plotly-graph-div");
function numbers(x) { return Array.from(x); }
window.addEventListener("load", () => Plotly.animate(
  plot, ["3"], {mode: "immediate", frame: {duration: 0}, transition: {duration: 0}}
).then(() => {
  const tokens = plot._fullData[plot._fullData.length - 1];  // decoded
  const seen = document.createElement("pre");
  seen.id = "probe";
  seen.textContent = JSON.stringify({
    x: numbers(tokens.x), y: numbers(tokens.y), z: tokens.z ? numbers(tokens.z) : null,
    text: tokens.text, range: plot.layout.xaxis ? plot.layout.xaxis.range : null,
    asked: asked, ticks: document.querySelectorAll(".slider-tick-rect").length,
    grips: document.querySelectorAll(".slider-grip-rect").length,
    buttons: numbers(document.querySelectorAll(".updatemenu-button")).map(b => b.textContent),
    bar: numbers(document.querySelectorAll(".modebar-btn")).map(b => b.dataset.title),
  });
  document.body.appendChild(seen);
}));
</script></body>
"""


class _Outside(HTMLParser):
    """Collects what a page would fetch."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        names = {"src", "href"} if tag in {"script", "link", "img", "iframe"} else {"src"}
        self.found += [value for name, value in attrs if name in names]


@pytest.fixture
def open_page(tmp_path):
    """Open a page in headless Chromium: what frame 3 shows, and the console's lines."""

    def open_it(path):
        page = path.read_text(encoding="utf-8").replace("<head>", _ALONE, 1)
        probed = tmp_path / "probed.html"
        probed.write_text(page.replace("</body>", _PROBE), encoding="utf-8")
        done = subprocess.run(
            [
                BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
                f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
                "--virtual-time-budget=20000", "--dump-dom", probed.as_uri(),
            ],
            check=True, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        seen = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, flags=re.DOTALL)
        assert seen, done.stderr[-2000:]
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return json.loads(html.unescape(seen[1])), console

    return open_it


@needs_browser
def test_the_slider_moves_the_tokens_and_nothing_is_fetched(shrinking, tmp_path, open_page):
    run = shrinking(sphere=True)
    names = [f"<{k}>&" for k in range(12)]
    page = save_page(run, tmp_path / "page.html", tokens=names, title="A <title>")
    seen, console = open_page(page)
    drawn = np.stack([seen["x"], seen["y"]], axis=-1)
    np.testing.assert_allclose(drawn, run.points[3].float().numpy())
    assert (seen["grips"], seen["ticks"]) == (1, 5)
    assert seen["buttons"] == ["Play", "Pause"]
    assert seen["text"] == [f"&lt;{k}&gt;&amp;" for k in range(12)]
    assert seen["asked"] == []
    assert console == []
    assert not any("Share" in (title or "") or "Plotly" in (title or "") for title in seen["bar"])


@needs_browser
def test_the_sphere_turns_in_a_browser(shrinking, tmp_path, open_page):
    run = shrinking(d=3, sphere=True)
    seen, console = open_page(save_page(run, tmp_path / "page.html"))
    drawn = np.stack([seen["x"], seen["y"], seen["z"]], axis=-1)
    np.testing.assert_allclose(drawn, run.points[3].float().numpy())
    assert seen["asked"] == []
    assert not any("rror" in line and "GL Driver" not in line for line in console)


@needs_browser
def test_axes_grow_with_a_blow_up(make_run, tmp_path, open_page):
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    run = make_run(torch.stack([x, 2 * x, 3 * x, 1e7 * x]))
    seen, _ = open_page(save_page(run, tmp_path / "page.html"))
    low, high = seen["range"]
    assert low < min(seen["x"]) < max(seen["x"]) < high


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_page_is_one_file_that_names_no_other(shrinking, tmp_path, d):
    path = tmp_path / "new" / "page.html"
    assert save_page(shrinking(d=d), str(path)) == path
    page = path.read_text(encoding="utf-8")
    outside = _Outside()
    outside.feed(page)
    assert outside.found == []
    assert len(page) > 1_000_000  # plotly's script is inside
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def _figure(path):
    """The arguments of the page's own `Plotly.newPlot` and `addFrames`."""
    page = path.read_text(encoding="utf-8")
    return page[page.rindex("Plotly.newPlot(") :]


def test_the_line_shows_where_tokens_started(shrinking, tmp_path):
    drawn = _figure(save_page(shrinking(d=1), tmp_path / "page.html"))
    assert "x at the start" in drawn


def test_frames_and_tokens_are_thinned_and_the_title_says_so(shrinking, tmp_path):
    run = shrinking(n=1500, frames=250)
    drawn = _figure(save_page(run, tmp_path / "page.html"))
    assert "1000 of 1500 tokens, 100 of 250 frames" in drawn
    assert (
        drawn.count('"method":"animate"') == 100 + 2
    )  # a step of the slider each, and two buttons
    assert "token 1499" in drawn


def test_a_batch_says_which_cloud_it_shows(make_run, tmp_path):
    drawn = _figure(save_page(make_run(torch.rand(3, 2, 4, 2)), tmp_path / "page.html"))
    assert "cloud 0 of the batch" in drawn


def test_labels_are_written_without_formulas(shrinking, tmp_path):
    drawn = _figure(save_page(shrinking(), tmp_path / "page.html"))
    assert "$" not in drawn
    assert "x\\u003csub\\u003e1\\u003c\\u002fsub\\u003e" in drawn


def test_a_wrong_number_of_names_is_refused(shrinking, tmp_path):
    with pytest.raises(ShapeMismatch, match="12 tokens needs 12 names but got 1"):
        save_page(shrinking(), tmp_path / "page.html", tokens=["a"])


def test_another_suffix_is_refused(shrinking, tmp_path):
    with pytest.raises(InvalidValue, match=r"A page is written as .html but 'a.htm' has '.htm'"):
        check_page("a.htm")
    with pytest.raises(InvalidValue, match="A page is written as"):
        save_page(shrinking(), tmp_path / "a.gif")


def test_without_plotly_the_page_is_refused_before_the_run(shrinking, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"needs plotly.*pip install 'vlasov\[html\]'"):
        check_page("page.html")
    with pytest.raises(MissingExtra, match="needs plotly"):
        save_page(shrinking(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_frame_that_is_not_finite_is_refused(shrinking, tmp_path):
    run = shrinking()
    run.points[2] = torch.nan
    with pytest.raises(NotFinite, match="frame 2"):
        save_page(run, tmp_path / "page.html")
