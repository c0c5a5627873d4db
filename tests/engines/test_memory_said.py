"""What engines say of the memory that they need, under a mask too, against a fresh process."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import vlasov as vl
from vlasov.engines import ENGINES, Tree, Visibility
from vlasov.errors import TooLittleMemory
from vlasov.pde import memory

SIZE = {"queries": 300_000, "keys": 300_000, "width": 2, "itemsize": 8}
SCRIPT = """
import sys, torch
from pathlib import Path
from vlasov.engines import ENGINES, Visibility

def run(name, causal, n):
    x = torch.randn(1, n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = x * {"monomials": 0.25, "tree": 2.0}.get(name, 1.0)  # where they need most
    flat, line = torch.zeros(1, n).double(), torch.arange(n).double()[None]
    mask = Visibility(line, line, causal=True) if causal else None
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    ENGINES.build(name).average(x, x, x, flat, mask=mask)
    return status("VmHWM") - before

def status(key):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[key].split()[0]) * 1024

torch.set_num_threads(1)
case = (sys.argv[1].split()[0], "causal" in sys.argv[1])
run(*case, 20_000)
print(run(*case, 300_000))
"""


def _causal(n: int) -> Visibility:
    line = torch.arange(n, dtype=torch.float64)[None]
    return Visibility(line, line, causal=True)


def _peak(case: str) -> int:
    """Bytes that the peak of a sum grows by, after imports and a smaller sum."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, case], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the system tells no peak of memory"
)
@pytest.mark.parametrize("case", ["tree", "tree causal", "monomials", "rbm"])
def test_what_is_said_is_a_bound_within_half(case: str) -> None:
    mask = _causal(300_000) if "causal" in case else None
    said, peak = ENGINES.build(case.split()[0]).memory(**SIZE, mask=mask), _peak(case)
    assert peak <= said
    if case != "rbm":  # its full normaliser may be that of any engine
        assert said <= 1.5 * peak


@pytest.mark.parametrize("name", [name for name in ENGINES if name not in ("monomials", "rbm")])
def test_a_mask_takes_more(name: str) -> None:
    engine, n = ENGINES.build(name), 10**6
    size = SIZE | {"queries": n, "keys": n}
    assert engine.memory(**size) < engine.memory(**size, mask=_causal(3))


def test_a_causal_run_is_refused_where_only_a_run_without_a_mask_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = vl.Cloud.gaussian(n=10**5, d=2, seed=0)
    size = SIZE | {"queries": cloud.n, "keys": cloud.n}
    monkeypatch.setattr(memory, "available_memory", lambda device: Tree().memory(**size))
    vl.TransformerPDE(engine="tree").particle_field(cloud)
    with pytest.raises(TooLittleMemory, match="Engine 'tree' needs"):
        vl.TransformerPDE(engine="tree", mask="causal").particle_field(cloud)
