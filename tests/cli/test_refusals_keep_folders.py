"""What cannot be evaluated is refused before a file is touched."""

from pathlib import Path

import pytest

IMPOSSIBLE = {
    "sinkhorn-causal": ["--attention", "sinkhorn", "--mask", "causal"],
    "fused-window": ["--mask", "window:width=2", "--engine", "fused"],
    "fused-hardmax": ["--attention", "hardmax", "--engine", "fused"],
}


@pytest.mark.parametrize("name", list(IMPOSSIBLE))
def test_a_refused_run_leaves_no_folder_and_no_earlier_run_harmed(name, small):
    assert small(*IMPOSSIBLE[name], "--out", "run").exit_code == 2
    assert not Path("run").exists()
    assert small("--out", "run").exit_code == 0
    before = Path("run/result.json").read_bytes()
    assert small(*IMPOSSIBLE[name], "--overwrite", "--out", "run").exit_code == 2
    assert Path("run/result.json").read_bytes() == before
