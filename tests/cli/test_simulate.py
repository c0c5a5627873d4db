"""`vlasov simulate`: what it writes, prints and refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import vlasov as vl
from vlasov.experiments.folder_store import RunFolder


def test_a_run_writes_its_folder_and_a_table(small) -> None:
    result = small("--out", "run")
    assert result.exit_code == 0, result.stderr
    assert "finished" in result.output
    for name in (
        "config.json",
        "provenance.json",
        "result.json",
        "trajectory.zarr",
        "checkpoint.pt",
    ):
        assert f"run/{name}" in result.output
        assert (Path("run") / name).exists()
    run = vl.load_run("run")
    assert run.times.tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert run.points.shape == (5, 8, 3)


def test_the_command_and_the_library_agree_bit_for_bit(small) -> None:
    assert small("--out", "run", "--seed", 3, "--beta", 2).exit_code == 0
    cloud = vl.Cloud.sphere(8, 3, seed=3)
    pde = vl.TransformerPDE("softmax", vl.Projections.identity(3), beta=2.0, geometry="sphere")
    run = vl.simulate(pde, cloud, until=0.4, step=0.1, integrator="dopri5")
    assert torch.equal(vl.load_run("run").points, run.points)


def test_i03_json_is_one_strict_object(small) -> None:
    result = small("--out", "run", "--json")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    printed = json.loads(result.stdout, parse_constant=refuse)
    assert printed["result"]["status"] == "finished"
    assert printed["config"]["n"] == 8
    assert "run/trajectory.zarr" in printed["files"]


def test_quiet_prints_nothing(small) -> None:
    result = small("--out", "run", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_i04_two_runs_in_one_second_have_folders_of_their_own(small) -> None:
    assert small().exit_code == small().exit_code == 0
    names = [path.name for path in Path("runs").iterdir()]
    assert len(names) == 2
    assert all(re.fullmatch(r"simulate-\d{8}-\d{6}-[0-9a-f]{4}", name) for name in names)


def test_progress_off_a_terminal_is_a_few_lines(small) -> None:
    result = small("--out", "run", "--step", 0.01)
    assert "\r" not in result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 10
    assert all(line.endswith("s left") for line in lines)


@pytest.mark.parametrize("value", ["-2.0", "-2e-3", "-1"])
def test_i01_signed_numbers_are_values(small, value: str) -> None:
    assert small("--out", "run", "--beta", value).exit_code == 0
    assert RunFolder.open("run").config()["beta"] == float(value)
    result = small("--out", "other", "--geometry", "euclid", "--mean", "-1,0,-2")
    assert result.exit_code == 0, result.stderr


def test_choices_reach_the_equation(small) -> None:
    words = [
        "--attention",
        "sinkhorn:eps=0.5",
        "--heads",
        "2",
        "--query",
        "random",
        "--key",
        "random",
        "--value",
        "-1.0",
        "--geometry",
        "euclid",
        "--init",
        "ball",
        "--engine",
        "dense",
        "--terms",
        "decay:rate=0.5,mlp:hidden=4,scale=0.1",
        "--integrator",
        "heun",
        "--observe",
        "mean,diameter",
        "--observe",
        "max_norm",
        "--save-at",
        "0,0.25,0.4",
        "--stop",
        "collapse:tolerance=1e-9",
        "--dtype",
        "float32",
    ]
    result = small("--out", "run", *words)
    assert result.exit_code == 0, result.stderr
    run = vl.load_run("run")
    assert run.times.tolist() == pytest.approx([0.0, 0.25, 0.4])
    assert set(run.observables) == {"mean", "diameter", "max_norm"}
    assert run.points.dtype == torch.float32
    assert (run.facts["attention"], run.facts["terms"]) == ("sinkhorn", "decay, mlp")


@pytest.mark.parametrize(
    "words",
    [
        "--mask causal",
        "--noise independent:diffusion=0.1 --integrator euler",
        "--step adaptive --frames 3",
        "--redraw 0.2",
        "--geometry euclid --frame dedrifted",
        "--keep last",
        "--frames 4",
        "--terms momentum:damping=1",
        "--error doubling",
    ],
)
def test_more_choices_run(small, words: str) -> None:
    result = small("--out", "run", *words.split())
    assert result.exit_code == 0, result.stderr


def test_a_file_of_settings_lies_under_flags(small) -> None:
    Path("a.toml").write_text('attention = "l2"\nbeta = 2.0\nsave-every = 2\n')
    assert small("--config", "a.toml", "--beta", "3", "--out", "run").exit_code == 0
    config = RunFolder.open("run").config()
    assert (config["attention"], config["beta"], config["save_every"]) == ("l2", 3.0, 2)


def test_tokens_come_from_a_file(small) -> None:
    np.save("x.npy", np.random.default_rng(0).normal(size=(5, 2)))
    assert small("--tokens", "x.npy", "--out", "run").exit_code == 0
    run = vl.load_run("run")
    assert run.points.shape == (5, 5, 2)
    assert run.facts["geometry"] == "euclid"


def test_b03_a_blow_up_is_located_and_cut(call) -> None:
    result = call(
        "simulate",
        "--preset",
        "gaussian-blow-up",
        "--n",
        200,
        "--frames",
        6,
        "--no-figures",
        "--out",
        "run",
    )
    assert result.exit_code == 0, result.stderr
    run = vl.load_run("run")
    assert run.status == "blow-up"
    moments = run.points[0].T @ run.points[0] / 200
    # the second moments M follow M' = 2 M^2: blow-up at 1/(2 largest eigenvalue)
    exact = 0.5 / float(torch.linalg.eigvalsh(moments).max())
    assert run.stopped_at == pytest.approx(exact, rel=1e-3)
    assert bool(run.points.isfinite().all())
    assert "blow-up" in result.stdout
