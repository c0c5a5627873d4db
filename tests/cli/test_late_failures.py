"""What is found out late: one sentence, and nothing of an earlier run is lost."""

from pathlib import Path

import pytest

KEPT = ("distance", "gaussian:mean=0,cov=1", "gaussian:mean=1,cov=4", "--out", "run", "--quiet")


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ("distance gaussian:mean=0,cov=1 gaussian:mean=0,0,cov=1,1", "width"),
        ("energy --beta 1000 --n 5 --time 1 --frames 3 --no-figures", "scores of hundreds"),
    ],
)
def test_an_earlier_run_survives_a_late_failure(call, words, phrase):
    assert call(*KEPT).exit_code == 0
    before = {path: path.read_bytes() for path in Path("run").iterdir()}
    result = call(*words.split(), "--out", "run", "--overwrite")
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert {path: path.read_bytes() for path in Path("run").iterdir()} == before


def test_the_folder_of_another_command_is_named(call):
    assert call(*KEPT).exit_code == 0
    for command in ("reduce", "simulate"):
        result = call(command, "--out", "run", "--resume")
        assert result.exit_code == 2
        assert "holds a run of `vlasov distance`" in result.stderr


def test_maps_too_large_for_the_theory_cost_no_run(call):
    result = call("reduce", "--beta", "1e308", "--no-figures", "--out", "run")
    assert result.exit_code == 0
    assert "No statement of the theory could be evaluated" in result.output
    assert Path("run/result.json").exists()
