"""Settings that the tokens decide: how many frames of a large cloud are kept."""

import math

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.experiments import cloud_defaults as module
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.cloud_defaults import with_equation, with_start

TOKENS = 1000  # of 16 bytes each


def decided(**settings: object) -> CloudConfig:
    cloud = Cloud(torch.zeros(TOKENS, 2, dtype=torch.float64))
    return with_equation(with_start(CloudConfig(n=TOKENS, d=2, **settings)), cloud, None)


def frames(config: CloudConfig) -> int:
    return 1 + math.ceil(round(config.time / config.step) / config.save_every)


@pytest.fixture(autouse=True)
def twenty_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that twenty frames of the cloud fill."""
    monkeypatch.setattr(module, "_FRAME_BYTES", 20 * 16 * TOKENS)


@pytest.mark.parametrize("time", [0.1, 1.0, 2.0, 7.3, 12.0])
def test_frames_of_a_large_cloud_stay_below_the_limit(time: float) -> None:
    config = decided(time=time)
    assert frames(config) <= 20
    assert config.save_every == 1 or frames(config) > 10


def test_adaptive_steps_land_on_as_many_times_as_fit() -> None:
    assert decided(time=2.0, step="adaptive").frames == 20


def test_single_precision_has_room_for_twice_as_many() -> None:
    assert decided(time=2.0, step="adaptive", dtype="float32").frames == 40


def test_start_and_end_are_kept_whatever_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FRAME_BYTES", 1)
    assert frames(decided(time=2.0)) == 2
    assert decided(time=2.0, step="adaptive").frames == 2


@pytest.mark.parametrize(
    "asked", [{"save_every": 1}, {"frames": 500}, {"save_at": (0.5, 1.0)}, {"keep": "last"}]
)
def test_what_the_user_asks_for_stays(asked: dict) -> None:
    config = decided(time=50.0, **asked)
    given = CloudConfig(**asked)
    assert (config.save_every, config.frames, config.save_at) == (
        given.save_every,
        given.frames,
        given.save_at,
    )


def test_a_small_cloud_keeps_the_usual_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FRAME_BYTES", 10**9)
    config = decided(time=50.0)
    assert (config.save_every, config.frames) == (None, None)
