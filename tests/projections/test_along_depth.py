import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName
from vlasov.projections import LayeredProjections, ParameterPath, Projections, RedrawnProjections

EPS = torch.finfo(torch.float64).eps
ROUNDING = {"atol": 20 * EPS, "rtol": 20 * EPS}
D = 3
LAYERS = tuple(Projections.random(D, 2, seed=seed) for seed in range(4))


def before(t: float) -> float:
    return math.nextafter(t, -math.inf)


def number(layers: tuple[Projections, ...], now: Projections) -> int:
    return next(i for i, layer in enumerate(layers) if layer is now)


# Layers that are given


@pytest.mark.parametrize(
    ("t", "layer"), [(-1.0, 0), (0.0, 0), (0.49, 0), (0.5, 1), (1.2, 2), (1.5, 3), (9.0, 3)]
)
def test_a_layer_acts_from_its_start_to_its_end(t, layer):
    path = LayeredProjections(LAYERS, duration=0.5)
    assert number(LAYERS, path.at(t)) == layer


@pytest.mark.parametrize("duration", [0.1, 0.3, 1 / 3, 1.0])
@pytest.mark.parametrize("kind", ["layered", "redrawn"])
def test_every_jump_is_a_breakpoint_whatever_rounds(duration, kind):
    layers = tuple(Projections.random(1, seed=seed) for seed in range(100))
    path: ParameterPath = LayeredProjections(layers, duration)
    path = path if kind == "layered" else RedrawnProjections(1, every=duration)
    jumps = path.breakpoints(0.0, 99.5 * duration)
    assert len(jumps) == 99
    for jump in jumps:
        assert not torch.equal(path.at(before(jump)).query, path.at(jump).query)
        assert torch.equal(path.at(jump).query, path.at(jump + 0.9 * duration).query)


def test_breakpoints_lie_strictly_between():
    path = LayeredProjections(LAYERS)
    assert path.breakpoints(0.0, 4.0) == [1.0, 2.0, 3.0]
    assert path.breakpoints(1.0, 3.0) == [2.0]
    assert path.breakpoints(3.5, 9.0) == []


def test_interpolation_meets_each_layer_in_its_middle():
    path = LayeredProjections(LAYERS, duration=0.5, interpolation="linear")
    for l, layer in enumerate(LAYERS):
        assert_close(path.at((l + 0.5) * 0.5).query, layer.query, **ROUNDING)
    quarter = path.at(0.25 + 0.25 * 0.5)
    assert_close(quarter.value, 0.75 * LAYERS[0].value + 0.25 * LAYERS[1].value, **ROUNDING)


def test_interpolation_goes_on_with_the_first_and_last_layer():
    path = LayeredProjections(LAYERS, interpolation="linear")
    assert path.at(0.2) is LAYERS[0]
    assert path.at(3.7) is LAYERS[-1]


def test_interpolation_is_continuous_with_kinks_at_its_breakpoints():
    path = LayeredProjections(LAYERS, interpolation="linear")
    assert path.breakpoints(0.0, 4.0) == [0.5, 1.5, 2.5, 3.5]
    for kink in path.breakpoints(0.0, 4.0):
        assert_close(path.at(before(kink)).query, path.at(kink).query, **ROUNDING)


@pytest.mark.parametrize("interpolation", ["constant", "linear"])
def test_times_of_a_batch_act_on_its_clouds(interpolation):
    path = LayeredProjections(LAYERS, interpolation=interpolation)
    t, x = torch.tensor([0.3, 1.1, 2.9]), torch.ones(3, 5, D, dtype=torch.float64)
    for member, time in enumerate(t.tolist()):
        alone = path.at(time).project(x[member])
        for one, part in zip(path.at(t).project(x), alone, strict=True):
            assert_close(one[member], part, **ROUNDING)


def test_times_within_one_layer_share_its_maps():
    path = LayeredProjections(LAYERS)
    assert path.at(torch.tensor([1.1, 1.7])) is LAYERS[1]


def test_layers_have_one_width_and_number_of_heads():
    path = LayeredProjections(LAYERS)
    assert (path.heads, path.width, len(list(path.tensors()))) == (2, D, 12)


def test_layers_move_to_another_precision():
    path = LayeredProjections(LAYERS, 0.5, "linear").to(dtype=torch.float32)
    assert {tensor.dtype for tensor in path.tensors()} == {torch.float32}
    assert (path.duration, path.interpolation) == (0.5, "linear")


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_is_positive(duration):
    with pytest.raises(InvalidValue, match="`duration` must be above 0"):
        LayeredProjections(LAYERS, duration)
    with pytest.raises(InvalidValue, match="`every` must be above 0"):
        RedrawnProjections(D, every=duration)


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(ShapeMismatch, match=r"layer 0 has .* and layer 1 has"):
        LayeredProjections((LAYERS[0], Projections.identity(D)))
    with pytest.raises(InvalidValue, match="One layer is needed"):
        LayeredProjections(())
    with pytest.raises(UnknownName, match="did you mean 'linear'"):
        LayeredProjections(LAYERS, interpolation="linaer")


def test_layers_are_constant():
    moving = Projections(lambda t: torch.eye(2), torch.eye(2), torch.eye(2))
    with pytest.raises(InvalidValue, match="depend on time"):
        LayeredProjections((moving,))


# Layers that are drawn


def test_a_draw_depends_on_seed_and_layer_alone():
    path = RedrawnProjections(D, 2, every=0.5, seed=1)
    early = path.at(0.1).query
    for t in (7.0, 3.0, 2.0, 1.0, 0.6):
        assert not torch.equal(path.at(t).query, early)
    assert torch.equal(RedrawnProjections(D, 2, every=0.5, seed=1).at(0.4).query, early)
    assert not torch.equal(RedrawnProjections(D, 2, every=0.5, seed=2).at(0.1).query, early)


def test_neighbouring_seeds_and_layers_do_not_share_draws():
    drawn = {
        RedrawnProjections(1, seed=seed).at(float(layer)).query.item()
        for seed in range(5)
        for layer in range(-2, 5)
    }
    assert len(drawn) == 5 * 7


def test_redrawn_maps_have_their_shape_and_scale():
    path = RedrawnProjections(40, 2, key_width=7, scale=3.0)
    now = path.at(0.0)
    assert (path.heads, path.width, path.tensors()) == (2, 40, ())
    assert now.query.shape == (2, 7, 40)
    # five standard deviations of a mean of squares
    variance = now.value.square().mean().item() * 40 / 9
    assert abs(variance - 1) <= 5 * math.sqrt(2 / now.value.numel())


def test_redrawn_maps_follow_a_precision():
    path = RedrawnProjections(D)
    single = path.to(dtype=torch.float32)
    assert torch.equal(single.at(2.0).query, path.at(2.0).query.float())
    assert path.to() == path


def test_redrawn_breakpoints_lie_strictly_between():
    path = RedrawnProjections(D, every=0.5)
    assert path.breakpoints(0.0, 2.0) == [0.5, 1.0, 1.5]
    assert path.breakpoints(0.5, 1.1) == [1.0]
