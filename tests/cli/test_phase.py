"""`vlasov phase`: what it writes, prints and refuses."""

import csv
from pathlib import Path

import pytest

GRID = ("phase", "--x", "a1=-1:1:3", "--y", "a2=-1:1:3", "--time", "50", "--out", "run")


def test_a_diagram_is_a_table_and_a_picture(call):
    result = call(*GRID)
    assert result.exit_code == 0, result.stderr
    assert (Path("run") / "phase.png").exists()
    with (Path("run") / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert {"a1", "a2", "outcome", "rank", "blow_up_time", "trace"} <= rows[0].keys()
    assert rows[-1]["outcome"] == "blow-up"
    assert float(rows[-1]["blow_up_time"]) == pytest.approx(0.5, rel=1e-6)
    assert "Diverged: the trace grew 1e+06 times" in result.output


def test_draws_come_with_intervals(call):
    words = ("--random", "5", "--ensemble", "gram", "--time", "2", "--out", "run")
    result = call("phase", *words)
    assert result.exit_code == 0, result.stderr
    with (Path("run") / "outcomes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["count"]) for row in rows) == 5
    assert all(float(row["low"]) <= float(row["share"]) <= float(row["high"]) for row in rows)
    assert (Path("run") / "phase.png").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--x bete=0:1", "did you mean 'beta'"),
        ("--x beta=1", "NAME=FROM:TO:COUNT"),
        ("--x beta=-1:1 --attention l2", "L2 attention"),
        ("--ensemble gram", "--random"),
        ("--x a1=0:1 --mask causal", "--n 64"),
    ],
)
def test_a_refusal_is_a_sentence_and_writes_nothing(call, words, sentence):
    result = call("phase", *words.split(), "--out", "run")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not Path("run").exists()
