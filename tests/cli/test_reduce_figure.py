"""`vlasov reduce --figure`: a figure of the paper in a folder, and what it does not go with."""

import json

import pytest


def test_a_figure_is_computed_drawn_and_drawn_again(call, tmp_path):
    found = call("reduce", "--figure", "ellipses", "--out", "run", "--seed", "3")
    assert found.exit_code == 0, found.output
    assert "infinite at t*" in found.output
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["figure"] == "ellipses"
    assert result["seed"] == 3
    assert (tmp_path / "run" / "covariances.csv").exists()
    picture = tmp_path / "run" / "ellipses.png"
    picture.unlink()
    assert call("plot", "run").exit_code == 0
    assert picture.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--figure", "ellipse"), "did you mean 'ellipses'"),
        (("--figure", "mixed", "--attention", "l2"), "--attention is set too"),
        (("--figure", "mixed", "--time", "3"), "--time is set too"),
        (("--as-published",), "Name one with --figure"),
    ],
)
def test_what_a_figure_does_not_go_with(call, tmp_path, words, sentence):
    found = call("reduce", *words, "--out", "run")
    assert found.exit_code == 2
    assert sentence in found.output.replace("\n", " ")
    assert not (tmp_path / "run").exists()
