"""The diffusion layer: stable at any parameters, blind to padding and to later tokens."""

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, ShapeMismatch, Unsupported
from vlasov.transformer import Diffusion, DiffusionLayer

DIFFUSIONS = {
    "one scale": Diffusion((1,)),
    "the paper's": Diffusion((1, 2, 4)),
    "conservative": Diffusion((1, 2, 4), conservative=True),
    "transposed": Diffusion((1, 2, 4), transposed=True),
    "with norm": Diffusion((2, 3), steps=2, norm=True),
    "implicit": Diffusion((1,), kind="implicit", alpha=2.0, steps=2),
    "exact": Diffusion((1,), kind="exact", alpha=2.0),
}
CAUSAL = ("one scale", "the paper's", "with norm")
N = 9
PADDINGS = {
    "none": [0, 0, 0, 0, 0, 0, 0, 0, 0],
    "right": [0, 0, 0, 0, 0, 0, 1, 1, 1],
    "left": [1, 1, 1, 0, 0, 0, 0, 0, 0],
    "scattered": [1, 0, 0, 1, 0, 1, 0, 0, 0],
}

CHOSEN = pytest.mark.parametrize(
    ("name", "causal"),
    [(name, False) for name in DIFFUSIONS] + [(name, True) for name in CAUSAL],
)


def _layer(name, generator, *, causal=False, heads=None, width=4):
    layer = DiffusionLayer(width, DIFFUSIONS[name], causal=causal, heads=heads).double()
    layer.reset_parameters()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator).double())
    return layer


def _points(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@CHOSEN
@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("padding", ["right", "scattered"])
def test_padded_rows_move_like_their_real_tokens_alone(name, causal, heads, padding, generator):
    layer = _layer(name, generator, causal=causal, heads=heads)
    rows = 3
    lead = (rows,) if heads is None else (rows, heads)
    x = _points(generator, *lead, N, 4 // len(lead))
    masks = torch.tensor(
        [
            PADDINGS["none"],
            PADDINGS[padding],
            PADDINGS["left" if padding == "scattered" else "right"],
        ]
    ).bool()
    x = x.masked_fill(masks.view(rows, *[1] * (len(lead) - 1), N, 1), torch.nan)
    y = layer(x, masks)
    for row, mask in zip(range(rows), masks, strict=True):
        alone = layer(x[row][..., ~mask, :])
        assert_close(y[row][..., ~mask, :], alone, rtol=0, atol=1e-14)
        assert y[row][..., mask, :].isnan().all()


@CHOSEN
def test_padding_takes_no_gradient_from_real_tokens(name, causal, generator):
    layer = _layer(name, generator, causal=causal)
    mask = torch.tensor([PADDINGS["right"], PADDINGS["scattered"]]).bool()
    x = _points(generator, 2, N, 4).requires_grad_()
    y = layer(x, mask)
    weights = _points(generator, 2, N, 4).masked_fill(mask.unsqueeze(-1), 0.0)
    (slope,) = torch.autograd.grad((y * weights).sum(), x)
    assert (slope[mask] == 0).all()
    assert (slope[~mask] != 0).any()


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("name", CAUSAL)
def test_v62_the_causal_layer_leaks_nothing(name, generator):
    layer = _layer(name, generator, causal=True, width=2)
    x = _points(generator, N, 2)
    slopes = torch.autograd.functional.jacobian(layer, x).sum((1, 3))
    later = torch.ones(N, N).triu(1).bool()
    assert (slopes[later] == 0).all()
    assert (slopes.tril(-1) != 0).any()
    seeing = torch.autograd.functional.jacobian(_layer(name, generator, width=2), x).sum((1, 3))
    assert (seeing[later] != 0).any()


ENDS = pytest.mark.parametrize(
    ("causal", "conservative"), [(False, False), (False, True), (True, False)]
)


@pytest.mark.usefixtures("unchecked_types")
@ENDS
@pytest.mark.parametrize(("dtype", "strongest"), [(torch.float32, 0), (torch.float64, 2)], ids=str)
def test_a_thousand_steps_at_the_largest_parameters_do_not_grow(
    causal, conservative, dtype, strongest, generator
):
    """At logits of 1e4 the strength is as large as rounding lets it be."""
    settings = Diffusion((1, 2, 4), conservative=conservative, steps=1000)
    layer = DiffusionLayer(2, settings, causal=causal).to(dtype).requires_grad_(False)
    layer.alpha_logits.fill_(1e4)
    layer.weight_logits.fill_(-1e4)[strongest] = 1e4
    assert (layer.rates().sum(0) < 0.5).all()
    x = torch.randn(12, 2, generator=generator).to(dtype)
    x[:, 0] = torch.tensor([1.0, -1.0] * 6)  # the mode that overshoots
    slack = 1 + 10 * 1000 * torch.finfo(dtype).eps
    y = layer(x)
    assert y.abs().max() <= x.abs().max() * slack
    if conservative:
        assert y.norm() <= x.norm() * slack
        assert_close(y.sum(0), x.sum(0), rtol=0, atol=1e4 * torch.finfo(dtype).eps)


@ENDS
@pytest.mark.parametrize("size", [1e4, 30.0, 1.0, -1e4])
def test_a_step_at_any_parameters_is_a_mean(causal, conservative, size, generator):
    """Weights of no negative sign and of sum 1: the largest value cannot grow, in any channel."""
    layer = DiffusionLayer(1, Diffusion((1, 2, 4), conservative=conservative), causal=causal)
    layer = layer.double().requires_grad_(False)
    for parameter in layer.parameters():
        parameter.copy_(size * torch.randn(parameter.shape, generator=generator).sign())
    matrix = layer(torch.eye(9, dtype=torch.float64).unsqueeze(-1))[..., 0].mT
    assert (matrix >= 0).all()
    assert_close(matrix.sum(1), torch.ones(9, dtype=torch.float64), rtol=0, atol=1e-14)
    if conservative:
        assert torch.linalg.matrix_norm(matrix, ord=2) <= 1 + 1e-14


@pytest.mark.parametrize("number_format", [torch.float16, torch.bfloat16, torch.float32])
def test_the_bound_holds_in_every_number_format(number_format):
    layer = DiffusionLayer(3, Diffusion((1, 2, 4))).to(number_format)
    with torch.no_grad():
        layer.alpha_logits.fill_(1e4)
    assert (layer.rates().sum(0) < 0.5).all()


@CHOSEN
def test_a_constant_row_stays(name, causal, generator):
    layer = _layer(name, generator, causal=causal)
    if layer.norm is None and not layer.diffusion.transposed:
        x = torch.full((N, 4), 3.7, dtype=torch.float64)
        assert_close(layer(x), x, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["one scale", "conservative", "implicit", "exact"])
def test_what_conserves_keeps_the_mean(name, generator):
    x = _points(generator, 2, N, 4)
    assert_close(_layer(name, generator)(x).mean(-2), x.mean(-2), rtol=0, atol=1e-15)


def test_replicated_ends_of_long_strides_move_the_mean(generator):
    x = _points(generator, 2, N, 4)
    moved = _layer("the paper's", generator)(x).mean(-2) - x.mean(-2)
    assert moved.abs().max() > 1e-3


@pytest.mark.parametrize("heads", [None, 2])
def test_transposed_is_the_transpose(heads, generator):
    forward, back = (
        _layer(name, generator, heads=heads) for name in ("the paper's", "transposed")
    )
    back.load_state_dict(forward.state_dict())
    shape = (N, 4) if heads is None else (heads, N, 2)
    x, y = _points(generator, *shape), _points(generator, *shape)
    assert_close((forward(x) * y).sum(), (x * back(y)).sum(), rtol=1e-13, atol=0)


def test_strengths_and_shares_start_as_given(dtype):
    layer = DiffusionLayer(3, Diffusion((1, 2, 4), weights=(5.0, 3.0, 2.0), alpha=0.3)).to(dtype)
    layer.reset_parameters()
    near = {"rtol": 10 * torch.finfo(dtype).eps, "atol": 0}
    assert_close(layer.alphas(), torch.full((3, 3), 0.3, dtype=dtype), **near)
    assert_close(layer.weights(), torch.tensor([0.5, 0.3, 0.2], dtype=dtype), **near)
    exact = DiffusionLayer(3, Diffusion((1,), alpha=7.0, kind="exact")).to(dtype)
    exact.reset_parameters()
    assert_close(exact.alphas(), torch.full((1, 3), 7.0, dtype=dtype), **near)
    assert exact.weights().item() == 1.0


def test_steps_repeat_one_step(generator):
    x = _points(generator, N, 4)
    once = DiffusionLayer(4, Diffusion((1, 2), steps=1)).double()
    thrice = DiffusionLayer(4, Diffusion((1, 2), steps=3)).double()
    assert torch.equal(thrice(x), once(once(once(x))))


@pytest.mark.parametrize(("lengths", "words"), [((3, 9), "one has 3"), ((0, 9), "one has 0")])
def test_rows_shorter_than_the_stride_are_refused(lengths, words):
    layer = DiffusionLayer(1, Diffusion((1, 2, 4)))
    padding = torch.arange(N) >= torch.tensor(lengths).unsqueeze(-1)
    with pytest.raises(InvalidValue, match=words):
        layer(torch.ones(2, N, 1), padding)
    with pytest.raises(InvalidValue, match="stride of 4"):
        layer(torch.ones(3, 1))
    assert layer(torch.ones(4, 1)).shape == (4, 1)  # as long as the stride


@pytest.mark.usefixtures("unchecked_types")
def test_other_shapes_are_refused():
    layer = DiffusionLayer(4, Diffusion((1,)), heads=2)
    with pytest.raises(ShapeMismatch, match="width 4 with 2 heads"):
        layer(torch.ones(3, N, 2))
    with pytest.raises(ShapeMismatch, match="no heads"):
        DiffusionLayer(4, Diffusion((1,)))(torch.ones(N, 3))
    with pytest.raises(ShapeMismatch, match="one truth value per token"):
        DiffusionLayer(4, Diffusion((1,)))(torch.ones(2, N, 4), torch.zeros(N).bool())
    with pytest.raises(ShapeMismatch, match="one truth value per token"):
        DiffusionLayer(4, Diffusion((1,)))(torch.ones(2, N, 4), torch.zeros(3, N).bool())


def test_heads_that_leave_channels_over_are_refused():
    with pytest.raises(InvalidValue, match="heads that divide the width but got 3 for 4"):
        DiffusionLayer(4, Diffusion((1,)), heads=3)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"kind": "exact"}, "exact"),
        ({"kind": "implicit"}, "implicit"),
        ({"conservative": True}, "conservative"),
        ({"transposed": True}, "transposed"),
    ],
)
def test_what_has_no_causal_form_is_refused(settings, word):
    with pytest.raises(Unsupported, match=f"'{word}' is set"):
        DiffusionLayer(2, Diffusion((1,), **settings), causal=True)


def test_its_settings_are_printed():
    layer = DiffusionLayer(2, Diffusion((1, 2)), causal=True)
    assert "2, scales=(1, 2), explicit, causal" in str(layer)
