"""`vlasov converge`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

TINY = ("--seeds", "4", "--time", "0.2", "--distance-seeds", "2")


def test_a_study_writes_tables_pictures_and_verdicts(call):
    result = call("converge", "--ns", "8,16", *TINY, "--out", "run")
    assert result.exit_code == 0, result.stderr
    for name in ("slopes.csv", "errors.csv", "arrays.npz", "result.json", "convergence.png"):
        assert (Path("run") / name).exists()
        assert f"run/{name}" in result.output
    assert "expected n^(-1/2)" in result.output
    assert "compact support" in result.output


def test_json_holds_the_slopes(call):
    result = call("converge", "--ns", "8,16", *TINY, "--d", "4", "--out", "run", "--json")
    printed = json.loads(result.stdout)
    assert printed["result"]["reference"] == "flow"
    assert -5 < printed["result"]["slope_mean"] < 5
    assert "run/bias.png" in printed["files"]


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ("--time 3", "blow-up at t* = 2"),
        ("--attention hardmax", "no mean-field limit"),
        ("--mask causal --groups 5 --ns 10,18", "18 is no multiple"),
        ("--mask causal --groups 0", "'groups' must be at least 1"),
        ("--ns 8", "two or more rising"),
    ],
)
def test_refusals_are_one_sentence_and_leave_nothing(call, words, phrase):
    result = call("converge", *TINY, "--out", "run", *words.split())
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert not Path("run").exists()
