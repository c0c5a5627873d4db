"""`vlasov diffuse`: its tables against the analysis, its sentences, its page, its refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cli.diffuse import command
from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.load import load_run
from vlasov.plots.diffuse_report import pictures

QUICK = ("--length", "16", "--steps", "10", "--no-figures", "--out", "out")


@pytest.fixture
def diffuse(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(command, [*QUICK, *words])


def test_a_run_writes_its_tables_and_says_what_holds(diffuse):
    done = diffuse()
    assert done.exit_code == 0, done.output
    for name in ("spectrum", "bands", "energy", "kernel"):
        assert Path(f"out/{name}.csv").exists()
    report = load_run("out")
    assert report.result["paper_stable_alpha"] == pytest.approx(0.341, abs=5e-4)
    assert report.result["paper_growth"] == pytest.approx(1.93, abs=2e-3)
    assert report.result["largest_eigenvalue"] == pytest.approx(1.0, abs=1e-12)
    notes = report.notes
    assert sum(note.startswith("Holds: ") for note in notes) == 3
    assert sum(note.startswith("Does not hold: ") for note in notes) == 6
    assert report.tables["energy"].column("step") == list(range(11))


@pytest.mark.parametrize(
    ("words", "start", "verdict"),
    [
        (["--conservative"], "strided stencils keep the mean", "Holds"),
        (["--scales", "1"], "strided stencils keep the mean", "Holds"),
        (["--scales", "1", "--alpha", "0.3"], "no mode changes its sign", "Does not hold"),
        (["--scales", "1", "--alpha", "0.2"], "no mode changes its sign", "Holds"),
    ],
)
def test_verdicts_follow_the_settings(diffuse, words, start, verdict):
    done = diffuse(*words, "--json")
    notes = json.loads(done.stdout)["result"]["notes"]
    assert any(note.startswith(f"{verdict}: {start}") for note in notes)


def test_the_page_draws_what_the_tables_hold(diffuse):
    diffuse("--scales", "1,2")
    report = load_run("out")
    axes = pictures(report, {"alpha": 0.1})["diffuse"].axes
    responses, bands, energy, kernel = axes
    drawn = {line.get_label(): line.get_ydata() for line in responses.lines}
    assert np.array_equal(drawn["mixture"], report.arrays["mixture"].numpy())
    assert drawn["$h=2$"].min() == pytest.approx(0.6)
    heights = [bar.get_height() for bar in bands.patches]
    assert heights[8:12] == [2.81, 1.75, 0.40, 0.81]
    column = report.tables["energy"].column("random, norm")
    shown = {line.get_label(): line.get_ydata() for line in energy.lines}["random, norm"]
    assert shown == pytest.approx(np.array(column) / column[0])
    assert kernel.lines[0].get_ydata().tolist() == report.tables["kernel"].column("kernel at t=1")


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        (["--alpha", "0.5"], InvalidValue, "between 0 and 0.49997, where"),
        (["--scales", "1,1"], InvalidValue, "different whole numbers"),
        (["--weights", "1,2"], InvalidValue, "must be 3 numbers above 0"),
        (["--scales", "32"], InvalidValue, "'length' must be at least 32 but is 16"),
        (["--length", "1000000000"], InvalidValue, "'length' must be at most 4096"),
        (["--steps", "0"], InvalidValue, "'steps' must be at least 1"),
        (["--device", "cuda"], UnknownName, "device of diffuse"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(diffuse, words, error, sentence):
    done = diffuse(*words)
    assert isinstance(done.exception, error)
    assert sentence in str(done.exception)
    assert not Path("out").exists()
