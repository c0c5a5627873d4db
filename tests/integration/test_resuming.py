"""A resumed run is the uninterrupted one, bit for bit, through a weights-only file."""

import pytest
import torch
from zoo import Frames, normalised, self_attention

from vlasov.integration import (
    AdaptiveStep,
    AdditiveNoise,
    Event,
    FixedStep,
    Limits,
    Plan,
    Problem,
    State,
    build_method,
    integrate,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

WAYS = {
    "euler": FixedStep(0.03),
    "rk4": FixedStep(0.03),
    "dopri5": FixedStep(0.07),
    "doubled:inner=heun": FixedStep(0.07),
    "tsit5": AdaptiveStep(1e-5, 1e-8),
    "bosh3": AdaptiveStep(1e-4, 1e-7),
    "stiff": AdaptiveStep(1e-5, 1e-8),
    "stiff:method=bdf": AdaptiveStep(1e-5, 1e-8),
}


def cloud(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def crossing(level: float) -> Event:
    return Event("crossing", lambda t, x: x[..., 0, 0] - level, terminal=False)


def through_a_file(state: State, path) -> State:
    torch.save(state.to_dict(), path)
    return State.from_dict(torch.load(path, weights_only=True))


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return a == b


def check_resumed(problem, plan, path, *, seed: int | None = None) -> None:
    def generator():
        return None if seed is None else torch.Generator().manual_seed(seed)

    whole = Frames()
    expected = integrate(problem, plan, observer=whole, generator=generator())
    for patience in (1, len(whole.stepped) // 2, len(whole.stepped) - 1):
        first = Frames(patience=patience)
        stopped = integrate(problem, plan, observer=first, generator=generator())
        assert stopped.status == "interrupted"
        assert "Resume to go on" in stopped.message
        second = Frames()
        state = through_a_file(stopped.state, path)
        outcome = integrate(problem, plan, observer=second, resume=state, generator=generator())
        assert torch.equal(outcome.state.x, expected.state.x)
        assert same(outcome.state.t, expected.state.t)
        for name, value in expected.state.memory.items():
            if name != "slope":
                assert same(outcome.state.memory[name], value), name
        assert outcome.events == expected.events
        assert (outcome.steps, outcome.evaluations) == (expected.steps, expected.evaluations)
        frames = [*first.saved, *second.saved]
        assert [s.saved_at for s in frames] == whole.times
        pairs = zip(frames, whole.saved, strict=True)
        assert all(torch.equal(mine.x, theirs.x) for mine, theirs in pairs)


@pytest.mark.parametrize("curved", [False, True], ids=["euclid", "sphere"])
@pytest.mark.parametrize("name", WAYS)
def test_resuming_is_bit_for_bit(name, curved, tmp_path):
    x = normalised(cloud(4, 3))
    problem = Problem(
        self_attention(2.0), x, 1.0, retract=normalised if curved else None, breaks=(0.4,)
    )
    level = float(x[0, 0]) + 0.01
    plan = Plan(build_method(name), WAYS[name], save_at=(0.2, 0.55), events=(crossing(level),))
    check_resumed(problem, plan, tmp_path / "state.pt")


@pytest.mark.parametrize("name", ["rk4", "dopri5", "tsit5"])
def test_resuming_a_batch_in_which_one_blows_up(name, tmp_path):
    x = torch.tensor([0.1, 2.0, -1.0], dtype=torch.float64).reshape(3, 1, 1)
    problem = Problem(lambda t, y: y * y, x, 1.0)
    plan = Plan(build_method(name), WAYS[name], save_at=(0.3, 0.7))
    check_resumed(problem, plan, tmp_path / "state.pt")


@pytest.mark.parametrize("name", ["euler", "heun"])
def test_resuming_noise(name, tmp_path):
    problem = Problem(lambda t, x: -x, cloud(5, 2), 1.0, noise=AdditiveNoise(0.3))
    plan = Plan(build_method(name), FixedStep(0.03), save_every=5)
    check_resumed(problem, plan, tmp_path / "state.pt", seed=4)


def test_resuming_a_long_stiff_run_replays_little(tmp_path):
    problem = Problem(lambda t, x: -x, cloud(2, 2), 3.0)
    plan = Plan(build_method("stiff"), AdaptiveStep(1e-6, 1e-9, largest=0.01), save_at=(1.0,))
    check_resumed(problem, plan, tmp_path / "state.pt")


def test_a_state_given_to_save_resumes_too():
    problem = Problem(self_attention(2.0), cloud(4, 3), 1.0)
    plan = Plan(build_method("tsit5"), AdaptiveStep(), save_at=(0.2, 0.55))
    frames = Frames()
    expected = integrate(problem, plan, observer=frames)
    again = Frames()
    outcome = integrate(problem, plan, resume=frames.saved[1], observer=again)
    assert torch.equal(outcome.state.x, expected.state.x)
    assert again.times == [0.55, 1.0]


def test_a_finished_run_resumes_to_itself():
    problem = Problem(self_attention(2.0), cloud(4, 3), 1.0)
    plan = Plan(build_method("rk4"), FixedStep(0.1))
    expected = integrate(problem, plan)
    frames = Frames()
    outcome = integrate(problem, plan, resume=expected.state, observer=frames)
    assert (outcome.status, frames.saved, outcome.steps) == ("finished", [], 10)


def test_a_run_that_met_its_limit_goes_on_under_a_larger_one():
    problem = Problem(self_attention(2.0), cloud(4, 3), 1.0)
    short = Plan(build_method("rk4"), FixedStep(0.1), limits=Limits(max_steps=4))
    stopped = integrate(problem, short)
    plan = Plan(build_method("rk4"), FixedStep(0.1))
    outcome = integrate(problem, plan, resume=stopped.state)
    assert torch.equal(outcome.state.x, integrate(problem, plan).state.x)
