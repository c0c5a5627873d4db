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

WALK = """
import torch
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_causal import walked
torch.set_num_threads(1)
torch.manual_seed(0)
q, k, v = torch.randn(3, 4000, 2, dtype=torch.float64)
pairs = Pairs(2 * q, k, v, torch.zeros(4000, dtype=torch.float64))
print(walked(1e-6, pairs, begin=100).averages.numpy().tobytes().hex())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "d"), [("direct", 3), ("direct", 8), ("tree", 2), ("tree", 3)])
def test_code_from_the_cache_rounds_as_code_just_compiled(
    tmp_path: Path, engine: str, d: int
) -> None:
    _assert_same_bits(tmp_path, [sys.executable, "-c", SUM, engine, str(d)])


@pytest.mark.slow
def test_a_causal_walk_from_the_cache_rounds_as_one_just_compiled(tmp_path: Path) -> None:
    _assert_same_bits(tmp_path, [sys.executable, "-c", WALK])


def _assert_same_bits(tmp_path: Path, command: list[str]) -> None:
    places = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    sums = [subprocess.check_output(command, env=os.environ | places) for _ in range(2)]
    assert any(tmp_path.rglob("*.nbc"))
    assert sums[0] == sums[1]
