"""Compiled code gives the same bits where it was just compiled and where the cache gave it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SUM = """
import sys, torch
from vlasov.engines import ENGINES
torch.set_num_threads(1)
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 4000, int(sys.argv[2]), dtype=torch.float64)
engine = ENGINES.build(sys.argv[1])
sums = engine.average(2 * q, k, v, torch.zeros(1, 4000, dtype=torch.float64))
print(sums.numpy().tobytes().hex())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "d"), [("direct", 3), ("direct", 8), ("tree", 2), ("tree", 3)])
def test_code_from_the_cache_rounds_as_code_just_compiled(
    tmp_path: Path, engine: str, d: int
) -> None:
    places = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SUM, engine, str(d)]
    sums = [subprocess.check_output(command, env=os.environ | places) for _ in range(2)]
    assert any(tmp_path.rglob("*.nbc"))
    assert sums[0] == sums[1]
