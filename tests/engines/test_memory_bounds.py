"""Peak memory of a fresh process, as the system counts it: what no estimate can hide."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, torch
from pathlib import Path
from vlasov.attention import ATTENTIONS
from vlasov.engines import ENGINES

def run(n, attention, engine, gradient):
    x = torch.randn(1, n, 16, dtype=torch.float64, requires_grad=gradient)
    flat = torch.zeros(1, n, dtype=torch.float64).log_softmax(-1)
    variant, engine = ATTENTIONS.build(attention), ENGINES.build(engine)
    seen = variant.average(0.1 * x, 0.1 * x, x, flat, engine)
    if gradient:
        seen.sum().backward()

def status(key):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[key].split()[0]) * 1024

def matrices(n, *case):
    run(600, *case)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    run(n, *case)
    return (status("VmHWM") - before) / (8 * n**2)

torch.set_num_threads(1)
print(json.dumps({
    "a12 auto": matrices(8000, "l2", "auto", False),
    "a12 tiled": matrices(8000, "l2", "tiled", False),
    "gradient auto": matrices(3000, "softmax", "auto", True),
    "gradient tiled": matrices(3000, "softmax", "tiled", True),
    "dense": matrices(3000, "softmax", "dense", False),
}))
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the system tells no peak of memory"
)


@pytest.fixture(scope="module")
def peaks() -> dict[str, float]:
    """Growth of the peak of each run, in units of one n × n matrix of float64."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("engine", ["auto", "tiled"])
def test_a12_no_n_by_n_by_d_temporary(peaks: dict[str, float], engine: str) -> None:
    # One stored matrix would read 1, the n x n x d tensor 16.
    assert peaks[f"a12 {engine}"] < 0.1


@pytest.mark.parametrize("engine", ["auto", "tiled"])
def test_gradients_take_linear_memory_too(peaks: dict[str, float], engine: str) -> None:
    assert peaks[f"gradient {engine}"] < 0.5


def test_dense_stores_about_what_it_says(peaks: dict[str, float]) -> None:
    assert 1 < peaks["dense"] < 3.2
