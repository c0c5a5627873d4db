"""`vlasov energy`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

SMALL = (
    *("energy", "--n", "10", "--d", "2", "--time", "0.4", "--step", "0.1", "--frames", "3"),
    *("--geometry", "euclid", "--value", "-1", "--out", "run"),
)


def test_a_run_writes_its_folder_tables_and_pictures(call):
    result = call(*SMALL, "--attention", "linear", "--convexity", "--draws", "10")
    assert result.exit_code == 0, result.stderr
    for name in ("energy.csv", "convexity.csv", "energy.png", "convexity.png", "result.json"):
        assert f"run/{name}" in result.output
        assert (Path("run") / name).exists()
    assert "Monotone: F goes from" in result.output
    assert "dF/dt = -D: differences" in result.output
    assert "Holds: V = sigma B A" in result.output


def test_a_control_goes_up_where_it_is_asked_for(call):
    words = (
        "--preset",
        "nonsymmetric",
        "--n",
        10,
        "--frames",
        2,
        "--step",
        0.1,
        "--out",
        "run",
        "--json",
    )
    result = call("energy", *words, "--quiet", "--no-figures")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["result"]
    assert not found["monotone"]
    assert not found["gradient_flow"]


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ("--attention l2", "without the drift"),
        ("--query 0,1;-1,0", "symmetric A"),
        ("--mask causal --probe --convexity", "needs an equation with an energy"),
        ("--attention sinkhorn:eps=-1", "eps"),
        ("--n 0", "at least 1"),
        ("--init sphere --mean 1,0", "belong to a gaussian start"),
        ("--integrator rk5", "did you mean 'rk4'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(call, words, phrase):
    result = call(*SMALL, *words.split())
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not list(Path().iterdir())
