"""`vlasov bench`: its table, its calibration, its refusals."""

import json

import pytest

from vlasov.engines import Auto, Dense, Direct, Fused, Monomials, Tiled, Tree, costs
from vlasov.engines.costs import calibrated_file
from vlasov.experiments import bench_calibration as calibration
from vlasov.experiments import bench_run
from vlasov.experiments.load import load_run


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    costs.forget()
    yield tmp_path
    costs.forget()


@pytest.fixture
def bench(call, cache):
    def run(*arguments):
        return call("bench", *arguments, "--threads", "1")

    return run


def _rows(folder="out"):
    table = load_run(folder).tables["milliseconds"]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_table_names_what_auto_takes_and_how_far_it_is_off(bench):
    done = bench("--n", "50,400", "--radius", "1,20", "--out", "out")
    assert done.exit_code == 0, done.stderr
    rows = _rows()
    assert [(row["R"], row["n"]) for row in rows] == [(1, 50), (1, 400), (20, 50), (20, 400)]
    assert {row["choice"] for row in rows} <= {"fused", "direct", "tree"}
    assert all(row["auto"] > 0 and row["auto / best"] >= 1 for row in rows)


def test_engines_that_would_take_too_long_are_left_out(bench):
    bench("--n", "300,600", "--limit", "1e-6", "--out", "out", "--no-figures")
    first, second = _rows()
    assert first["fused"] is not None
    assert second["fused"] is None
    assert second["auto"] is not None


def test_engines_are_timed_at_the_tolerance_that_was_asked_for(bench, monkeypatch):
    built, build = set(), bench_run._engine

    def seen(*arguments):
        engine = build(*arguments)
        built.add(engine)
        return engine

    monkeypatch.setattr(bench_run, "_engine", seen)
    assert bench("--n", "50", "--tolerance", "1e-3", "--out", "out").exit_code == 0
    exact = {Dense(), Tiled(), Fused(), Direct()}
    assert built == exact | {Auto(1e-3), Monomials(1e-3), Tree(1e-3)}


def test_calibration_is_kept_and_read(bench, monkeypatch):
    monkeypatch.setattr(calibration, "WIDTHS", [2])
    monkeypatch.setattr(calibration, "SIZES", [50, 100])
    monkeypatch.setattr(calibration, "RADII", [1.0, 4.0])
    monkeypatch.setattr(calibration, "_MANY", 200)
    monkeypatch.setattr(calibration, "_PAIRS", {"fused": 100, "direct": 100})
    done = bench("--calibrate", "--n", "50", "--json")
    assert done.exit_code == 0, done.stderr
    assert str(calibrated_file()) in json.loads(done.stdout)["result"]["notes"][0]
    assert costs.costs().sizes == [50, 100]


def test_a_cache_folder_that_cannot_be_written_is_named(bench, cache, monkeypatch):
    (cache / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    done = bench("--calibrate", "--n", "50", "--out", "out")
    assert done.exit_code == 2
    assert "XDG_CACHE_HOME" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--n", "0"], "'n' must be above 0"),
        (["--n", "many"], "'n' takes"),
        (["--radius", "-1"], "'radius' must be above 0"),
        (["--cloud", "bal"], "did you mean 'ball'"),
        (["--dtype", "float16"], "dtype"),
        (["--device", "cuda"], "device of bench"),
        (["--tolerance", "2"], "tolerance"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bench, arguments, words):
    done = bench(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
