"""Case I08: importing the plots chooses nothing and loads no heavy optional package."""

import os
import subprocess
import sys

import pytest

import vlasov.plots

_QUIET = """
import sys, matplotlib
before = dict.__getitem__(matplotlib.rcParams, "backend")
import vlasov.plots
assert dict.__getitem__(matplotlib.rcParams, "backend") is before
loaded = {"matplotlib.pyplot", "plotly", "imageio_ffmpeg"} & set(sys.modules)
assert not loaded, loaded
"""
_CHOSEN = """
import sys, matplotlib
matplotlib.use("svg")
import torch
from vlasov.plots import save_figure, summary_figure
from vlasov.run import Run
t = torch.zeros(1, dtype=torch.float64)
run = Run(t, torch.rand(1, 4, 2), t, torch.full((4,), 0.25).log(), None, "finished", "", 0.0)
save_figure(summary_figure(run), sys.argv[1])
assert matplotlib.get_backend().lower() == "svg"
assert "matplotlib.pyplot" not in sys.modules
"""


def _python(code, *arguments):
    """Runs without a display."""
    environment = {k: v for k, v in os.environ.items() if k not in {"DISPLAY", "MPLBACKEND"}}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


def test_i08_import_loads_no_pyplot_and_keeps_the_backend():
    assert _python(_QUIET).stderr == ""


def test_i08_a_chosen_backend_stays_and_files_are_saved_headless(tmp_path):
    path = tmp_path / "a.png"
    assert _python(_CHOSEN, str(path)).stderr == ""
    assert path.exists()


def test_the_library_itself_loads_no_matplotlib():
    done = _python("import sys, vlasov; assert 'matplotlib' not in sys.modules")
    assert done.stderr == ""


@pytest.mark.parametrize("name", vlasov.plots.__all__)
def test_public_names_are_documented(name):
    assert getattr(vlasov.plots, name).__doc__
    assert callable(getattr(vlasov.plots, name))
