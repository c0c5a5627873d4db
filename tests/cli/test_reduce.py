"""`vlasov reduce`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest


def test_a_run_writes_its_tables_and_the_picture(call):
    result = call("reduce", "--exact", "--frames", "6", "--out", "run")
    assert result.exit_code == 0, result.stderr
    for name in ("law.csv", "spectrum.csv", "law.png", "arrays.npz", "result.json"):
        assert f"run/{name}" in result.output
        assert (Path("run") / name).exists()
    assert "blow-up" in result.output
    assert "In this run agreed" in result.output
    again = call("plot", "run")
    assert again.exit_code == 0, again.stderr


def test_json_tells_the_outcome(call):
    words = ("--d", "3", "--query", "-1", "--time", "1", "--frames", "3", "--no-figures")
    result = call("reduce", *words, "--mean", "-1,0,0", "--json", "--out", "run")
    found = json.loads(result.stdout)["result"]
    assert found["status"] == "finished"
    assert found["outcome"] == "still moving"
    assert "blow_up_time" not in found


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--attention sigmoid", "Gaussian"),
        ("--mask causal", "positions"),
        ("--exact --save-at 0.5,1", "t* = 0.8333"),
        ("--cov 1,0,0,-1", "negative eigenvalue"),
        ("--mean 1,2,3", "'mean' needs 2"),
        ("--time -1", "'time' must be above 0"),
        ("--query 1,0,0;0,1,0;0,0,1", "width"),
    ],
)
def test_a_refusal_is_a_sentence_and_writes_nothing(call, words, sentence):
    result = call("reduce", *words.split(), "--out", "run")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not Path("run").exists()
