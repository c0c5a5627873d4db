"""Norms and schemes: right values, and the laws that every scheme keeps."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, UnknownName
from vlasov.transformer import NORMS, Stabilisers
from vlasov.transformer.norm_layers import Norm

WIDTH = 6
SCHEMES = [name for name in NORMS if name != "sandwich"]
KEEPS_NORMALISED = ("none", "pre", "peri", "mix", "ln-scaling", "sphere", "post", "ngpt")
"""Schemes under which a zero branch leaves a normalised state where it is."""


def _points(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _layer(name, **settings):
    return NORMS.build(name).build(WIDTH, **settings).double()


def test_e01_the_variance_is_biased_and_eps_is_inside_the_root():
    x = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    right = torch.tensor([[1.7320046] + 3 * [-0.5773349]], dtype=torch.float64)
    assert_close(Norm(4, eps=1e-5).double()(x), right, rtol=0, atol=1e-7)  # digits given


def test_e02_the_variance_is_taken_in_two_passes():
    x = 1e6 + torch.arange(4.0)[None]
    right = torch.tensor([[-1.341635, -0.447212, 0.447212, 1.341635]])
    assert_close(Norm(4, eps=1e-5)(x), right, rtol=0, atol=1e-5)  # float32


def test_an_rms_norm_keeps_the_mean(generator):
    x = _points(generator, 5, WIDTH)
    right = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt()
    norm = Norm(WIDTH, kind="rms", eps=1e-3).double()
    assert_close(norm(x), right, rtol=0, atol=1e-14)
    assert norm.bias is None
    assert Norm(WIDTH, kind="rms", gain=False, eps=0.0).weight is None


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_treats_tokens_alike_and_keeps_their_shape(name, generator):
    x, m = _points(generator, 2, 5, WIDTH), _points(generator, WIDTH, WIDTH)
    order = torch.tensor([3, 1, 4, 0, 2])
    for residual in (True, False):
        layer = _layer(name, residual=residual)
        after = layer.wrap(x, lambda y: y @ m, 0.3)
        assert after.shape == x.shape
        assert_close(layer.wrap(x[:, order], lambda y: y @ m, 0.3), after[:, order])


@pytest.mark.parametrize("name", KEEPS_NORMALISED)
def test_a_zero_branch_leaves_a_normalised_state(name, generator):
    x = torch.nn.functional.layer_norm(_points(generator, 5, WIDTH), (WIDTH,), eps=0.0)
    branch = (lambda y: y) if name == "ngpt" else torch.zeros_like
    # eps = 1e-5 inside the root moves a normalised token by 5e-6 of itself
    assert_close(_layer(name).wrap(x, branch), x, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", SCHEMES)
def test_without_residual_the_state_itself_is_forgotten(name, generator):
    x, b = _points(generator, 5, WIDTH), _points(generator, 5, WIDTH)
    layer = _layer(name, residual=False)
    assert_close(layer.wrap(x, lambda y: b), layer.wrap(2 * x + 1, lambda y: b), rtol=0, atol=0)


@pytest.mark.parametrize("name", SCHEMES)
def test_gradients_are_finite_through_64_layers(name, generator):
    x = _points(generator, 5, WIDTH).requires_grad_()
    m = _points(generator, 64, WIDTH, WIDTH) / WIDTH**0.5
    state = x
    for layer, weight in enumerate(m):
        state = _layer(name, layer=layer, depth=64).wrap(state, lambda y, w=weight: y @ w)
    state[0, 0].backward()
    assert torch.isfinite(x.grad).all()
    assert x.grad.abs().sum() > 0


def test_peri_and_sandwich_are_one_scheme(generator):
    x = _points(generator, 5, WIDTH)
    pair = [_layer(name).wrap(x, torch.tanh) for name in ("peri", "sandwich")]
    assert_close(*pair, rtol=0, atol=0)


def test_mix_is_post_in_the_first_layers_and_pre_in_the_others(generator):
    x = _points(generator, 5, WIDTH)
    mix = [_layer("mix:post=0.5", layer=layer, depth=4).wrap(x, torch.sin) for layer in range(4)]
    for layer, name in enumerate(("post", "post", "pre", "pre")):
        assert_close(mix[layer], _layer(name).wrap(x, torch.sin), rtol=0, atol=0)


def test_deepnorm_weighs_state_and_weights_by_the_depth(generator):
    x, scheme = _points(generator, 5, WIDTH), NORMS.build("deepnorm:gain=false,eps=0")
    layer = scheme.build(WIDTH, depth=8)
    y = 2 * x + x.sin()  # (2 * 8)^(1/4) = 2
    right = torch.nn.functional.layer_norm(y, (WIDTH,), eps=0.0)
    assert_close(layer.wrap(x, torch.sin), right)
    assert scheme.init_gain(32) == 0.25


def test_ln_scaling_fades_with_the_time_of_the_layer():
    scheme = NORMS.build("ln-scaling")
    assert [scheme.factor(layer, 1.0) for layer in (0, 3)] == [1.0, 0.5]
    assert scheme.factor(300, 0.01) == 0.5


@pytest.mark.parametrize("norm", ["pre:kind=group", "post:eps=-1", "mix:post=1.5"])
def test_impossible_norms_are_refused(norm):
    with pytest.raises(InvalidValue):
        Stabilisers(norm=norm)


def test_an_unknown_norm_or_scale_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'post'"):
        Stabilisers(norm="pots")
    with pytest.raises(UnknownName, match="1/sqrt"):
        Stabilisers(residual_scale="1/sqrt(l)")
    with pytest.raises(UnknownName, match="branch with a residual"):
        Stabilisers(residual="attn")


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"residual_scale": float("nan")}, "finite number"),
        ({"step": 0.0}, "must be above 0"),
        ({"residual": False, "step": 0.1}, "no step to scale"),
        ({"norm": "mix", "shared": True}, "changes along depth"),
    ],
)
def test_settings_without_meaning_are_refused(settings, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        Stabilisers(**settings)


def test_every_setting_is_said_in_words():
    grid = itertools.product(
        NORMS, (True, False, "mlp"), (False, True), (False, True), ("1/L", "rezero", 1.0, 0.5)
    )
    said = set()
    for norm, residual, qk_norm, shared, scale in grid:
        try:
            said.add(
                Stabilisers(
                    norm=norm,
                    residual=residual,
                    residual_scale=scale,
                    qk_norm=qk_norm,
                    shared=shared,
                ).described()
            )
        except InvalidValue:
            continue
    # no residual: one scale; mix: no sharing
    assert len(said) == len(NORMS) * 2 * (4 + 4 + 1) * 2 - 2 * (4 + 4 + 1)


def test_ngpt_goes_a_twentieth_of_the_way_to_the_branch_unless_told_otherwise(generator):
    x, b = (torch.nn.functional.rms_norm(_points(generator, 5, WIDTH), (WIDTH,)) for _ in "xb")
    part = torch.nn.functional.rms_norm(0.95 * x + 0.05 * b, (WIDTH,))
    assert_close(_layer("ngpt").wrap(x, lambda y: 3 * b), part, rtol=1e-5, atol=1e-5)
    assert_close(_layer("ngpt:alpha=1").wrap(x, lambda y: 3 * b), b, rtol=1e-5, atol=1e-5)
