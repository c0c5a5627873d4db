"""The settings of a simulation: checked at the door, layered, and kept when a run goes on."""

import dataclasses
import json
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.presets import PRESETS, layered, layered_settings, resumed_settings
from vlasov.experiments.settings import from_mapping


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"n": 0}, "'n' must be at least 1 but is 0"),
        ({"d": -1}, "'d' must be at least 1"),
        ({"heads": 0}, "'heads' must be at least 1"),
        ({"max_steps": 0}, "'max-steps' must be at least 1"),
        ({"save_every": 0}, "'save-every' must be at least 1"),
        ({"frames": 1}, "'frames' must be at least 2"),
        ({"step": -0.1}, "'step' must be above 0 but is -0.1"),
        ({"step": 0.0}, "'step' must be above 0"),
        ({"step": "adaptiv"}, "'step' takes a number above 0 or 'adaptive' but got 'adaptiv'"),
        ({"time": -1.0}, "'time' must be above 0"),
        ({"rtol": 0.0}, "'rtol' must be above 0"),
        ({"atol": -1e-9}, "'atol' must not be negative"),
        ({"wall_time": 0.0}, "'wall-time' must be above 0"),
        ({"redraw": 0.0}, "'redraw' must be above 0"),
        ({"layer_time": -1.0}, "'layer-time' must be above 0"),
        ({"save_every": 2, "frames": 10}, "'save-every' and 'frames' exclude each other"),
        ({"tokens": "a.npy", "init": "ball"}, "'tokens' and 'init' exclude each other"),
        ({"tokens": "text:a.txt"}, "need the embedding of a checkpoint"),
        ({"pretrained": "mini"}, "Add tokens"),
        ({"project": True}, "'project' acts on the tokens of a file"),
        ({"max_tokens": 5}, "'max-tokens' cuts a text"),
        ({"device": "nowhere"}, "The device 'nowhere' cannot be used"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, phrase: str) -> None:
    with pytest.raises(InvalidValue, match=phrase):
        from_mapping(CloudConfig, settings)


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"dtype": "float46"}, "Unknown dtype 'float46': did you mean 'float64'"),
        ({"frame": "dedrift"}, "did you mean 'dedrifted'"),
        ({"error": "doubled"}, "did you mean 'doubling'"),
        ({"interpolation": "lines"}, "did you mean 'linear'"),
        ({"kep": "all"}, "did you mean 'keep'"),
    ],
)
def test_unknown_words_get_the_nearest(settings: dict, phrase: str) -> None:
    with pytest.raises(UnknownName, match=phrase):
        from_mapping(CloudConfig, settings)


def test_every_field_has_a_help_text() -> None:
    for field in dataclasses.fields(CloudConfig):
        assert field.metadata["help"].endswith("."), field.name


def test_settings_survive_json() -> None:
    config = from_mapping(CloudConfig, {"save_at": "0,1", "terms": "decay", "step": "adaptive"})
    written = json.loads(json.dumps(dataclasses.asdict(config)))
    assert from_mapping(CloudConfig, written) == config


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_config(name: str) -> None:
    from_mapping(CloudConfig, PRESETS[name])


def test_flags_lie_on_a_file_on_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("n = 20\nbeta = 2.0\n")
    settings = layered_settings("causal", path, {"beta": "3"})
    assert (settings["n"], settings["beta"], settings["mask"]) == (20, "3", "causal")


def test_a_file_may_name_its_preset(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('preset = "causal"\n')
    assert layered_settings(None, path, {})["mask"] == "causal"
    assert layered_settings("l2-clusters", path, {})["attention"] == "l2"


def test_an_unknown_preset_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Unknown preset 'cluster': did you mean"):
        layered_settings("cluster", None, {})


def test_a_setting_takes_away_what_it_excludes_below() -> None:
    assert layered({"frames": 5, "n": 3}, {"save-every": 2}) == {"n": 3, "save_every": 2}
    assert layered({"frames": 5}, {"n": 2}) == {"frames": 5, "n": 2}


def test_only_limits_may_change_when_a_run_goes_on() -> None:
    recorded = CloudConfig(beta=4.0, max_steps=10)
    assert resumed_settings(recorded, {"beta": "4", "max_steps": "20"}).max_steps == 20
    with pytest.raises(InvalidValue, match=r"started with beta 4\.0 but 5\.0 is asked for"):
        resumed_settings(recorded, {"beta": "5"})
