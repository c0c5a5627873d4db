"""`vlasov distance`: laws by name, methods, tables and JSON, folders, refusals."""

import json
from pathlib import Path

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.experiments.distance_methods import DISTANCES, NEEDS_EPS
from vlasov.experiments.load import load_run


@pytest.fixture
def files(call):
    """Two clouds on disk, the second moved by 3."""
    x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], dtype=torch.float64)
    Cloud(x).save("a.npz")
    Cloud(x + torch.tensor([3.0, 0.0])).save("b.csv")
    return call


def _answer(call, *words):
    result = call("distance", *words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["result"]


def test_the_table_says_how_the_number_was_obtained(files):
    result = files("distance", "a.npz", "b.csv")
    assert result.exit_code == 0, result.stderr
    rows = [line.strip("│ ").split("│") for line in result.stdout.splitlines() if "│" in line]
    table = {row[0].strip(): row[-1].strip() for row in rows}
    assert table["distance"] == "3"
    assert table["power"] == "9"
    assert table["optimal"] == "yes"
    assert "simplex" in table["method"]
    assert table["gelbrich lower bound"] == "3"
    assert sorted(Path().iterdir()) == [Path("a.npz"), Path("b.csv")]


@pytest.mark.parametrize(
    "method",
    # its compilation takes half a minute
    [pytest.param(m, marks=[pytest.mark.slow] * (m == "paths")) for m in sorted(DISTANCES)],
)
def test_every_method_measures_a_translation(files, method):
    positions = [0.0, 1.0, 2.0]
    for name, path in (("a", "a.npz"), ("b", "b.csv")):
        Cloud.load(path).with_positions(positions).save(f"{name}.npz")
    eps = ("--eps", "0.5") if method in NEEDS_EPS else ()
    found = _answer(files, "a.npz", "b.npz", "--method", method, *eps)
    wanted = {
        "sliced": pytest.approx(3 / 2**0.5, abs=0.2),
        "entropic": pytest.approx((9 + 0.17) ** 0.5, abs=0.05),
    }
    assert found["distance"] == wanted.get(method, pytest.approx(3, abs=1e-8))
    assert found["optimal"] == (method in {"auto", "simplex", "paths", "conditional"})
    assert found["optimal"] != bool(found["notes"])


def test_gaussians_and_clouds_on_the_line(files):
    found = _answer(files, "gaussian:mean=0,cov=1", "gaussian:mean=3,cov=4")
    assert found["power"] == pytest.approx(10.0)
    Cloud([[1.0]]).save("one.npz")
    assert _answer(files, "one.npz", "gaussian:mean=0,cov=4")["power"] == pytest.approx(5.0)
    full = _answer(files, "gaussian:mean=0,0,cov=1,0,0,1", "gaussian:mean=1,0,cov=1")
    assert full["distance"] == pytest.approx(1.0)
    diagonal = _answer(files, "gaussian:mean=0,0,cov=1,4", "gaussian:mean=0,0,cov=1,9")
    assert diagonal["distance"] == pytest.approx(1.0)


def test_frames_of_runs(call, small):
    assert small("--geometry", "euclid", "--d", "2", "--out", "run").exit_code == 0
    run = load_run("run")
    moved = (run.points[0] - run.points[-1]).square().sum(-1).mean().sqrt().item()
    assert 0 < _answer(call, "run:0", "run")["distance"] <= moved + 1e-12
    assert _answer(call, "run:-1", "run")["distance"] == 0
    for frame in ("99", "last"):
        result = call("distance", f"run:{frame}", "run")
        assert result.exit_code == 2
        assert "has frames 0 to" in result.stderr


def test_arc_lengths(files):
    Cloud([[1.0, 0.0]]).save("east.npz")
    Cloud([[0.0, 1.0]]).save("north.npz")
    for method in ("auto", "simplex", "sliced"):
        found = _answer(files, "east.npz", "north.npz", "--geometry", "sphere", "--method", method)
        assert found["distance"] == pytest.approx(torch.pi / 2)


def test_a_folder_holds_the_answer(files):
    result = files("distance", "a.npz", "b.csv", "--out", "answer")
    assert result.exit_code == 0, result.stderr
    assert "answer/result.json" in result.stdout
    stored = json.loads(Path("answer/result.json").read_text(encoding="utf-8"))
    assert stored["distance"] == pytest.approx(3.0)
    no_cloud = files("distance", "answer", "b.csv")
    assert no_cloud.exit_code == 2
    assert "without frames" in no_cloud.stderr
    again = files("distance", "a.npz", "b.csv", "--out", "answer")
    assert again.exit_code == 2
    assert "--overwrite" in again.stderr
    resumed = files("distance", "a.npz", "b.csv", "--out", "answer", "--resume", "--json")
    assert json.loads(resumed.stdout)["result"]["distance"] == pytest.approx(3.0)


def test_quiet_says_nothing(files):
    result = files("distance", "a.npz", "b.csv", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ("a.npz", "Missing argument 'B'"),
        ("a.npz gone.npz", "gone.npz"),
        ("a.npz b.csv --p 0.5", "p of at least 1"),
        ("a.npz b.csv --method exact", "Unknown method 'exact'"),
        ("a.npz b.csv --method entropic", "needs --eps"),
        ("a.npz b.csv --eps 1", "takes no --eps"),
        ("a.npz b.csv --method entropic --eps -1", "eps > 0"),
        ("a.npz b.csv --method entropic --eps 1 --p 1", "p = 2"),
        ("a.npz b.csv --method conditional", "positions"),
        ("a.npz b.csv --geometry sphere", "sphere"),
        ("a.npz b.csv --geometry sphere --method max-sliced", "R^d"),
        ("a.npz b.csv --directions 0", "at least 1"),
        ("a.npz b.csv --device cuda", "device of distances"),
        ("a.npz gaussian:mean=0,0,cov=1", "lower bound"),
        ("a.npz gaussian:mean=0,0,cov=1 --method sliced", "compares two clouds"),
        ("a.npz gaussian:mean=0,cov=1 --method gelbrich", "width"),
        ("a.npz gaussian:mean=0,x,cov=1", "'x'"),
        ("a.npz gaussian:mean=0,0,cov=1,2,3", "has 3"),
        ("a.npz gaussian:middle=0", "does not fit"),
        ("a.npz .", "provenance.json"),
        ("a.npz .:0", "provenance.json"),
        ("a.npz b.csv --resume", "--resume goes on"),
    ],
)
def test_bad_input_is_one_sentence(files, words, phrase):
    result = files("distance", *words.split())
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert len(result.stderr.splitlines()) == 1
