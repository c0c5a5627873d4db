"""Other stabilisers on the same weights: each is the network that would be built with them."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained import with_stabilisers
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig

CONFIG = TransformerConfig(width=8, depth=3, heads=2, positions="none")


@pytest.fixture
def x(generator: torch.Generator) -> Tensor:
    return torch.randn(5, 8, generator=generator, dtype=torch.float64)


def _trained(norm: str, generator: torch.Generator) -> Transformer:
    """Weights and gains that no fresh network has."""
    model = Transformer(CONFIG, Stabilisers(norm)).double().requires_grad_(False).eval()
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=generator).double(), alpha=0.3)
    return model


@pytest.mark.parametrize(
    "other",
    [
        Stabilisers("post", residual=False),
        Stabilisers("post", residual="mlp"),
        Stabilisers("post", residual_scale="1/sqrt(L)"),
        Stabilisers("pre"),
        Stabilisers("none"),
        Stabilisers("peri"),
        Stabilisers("sphere"),
        Stabilisers("post", qk_norm=True),
    ],
    ids=lambda other: other.described(),
)
@pytest.mark.parametrize("mlp", [True, False])
def test_it_is_the_network_built_so_with_these_weights(
    generator: torch.Generator, x: Tensor, other: Stabilisers, mlp: bool
) -> None:
    trained = _trained("post", generator)
    before = [state.clone() for state in trained.states(x)]
    config = CONFIG if mlp else replace(CONFIG, mlp="none")
    built = Transformer(config, other).double()
    kept = {name: w for name, w in trained.state_dict().items() if name in built.state_dict()}
    built.load_state_dict(kept, strict=False)
    changed = with_stabilisers(trained, other, mlp=mlp)
    assert_close(changed.states(x), built.states(x), rtol=0, atol=0)
    assert_close(trained.states(x), before, rtol=0, atol=0)  # the given one is as it was
    assert changed.stabilisers == other
    assert changed.config == config


def test_the_weights_are_shared_and_the_norm_keeps_kind_and_eps(
    generator: torch.Generator,
) -> None:
    trained = _trained("pre:kind=rms,eps=0.1", generator)
    changed = with_stabilisers(trained, Stabilisers("post"))
    norm = changed.blocks[1].attention_norm.norm
    assert (norm.kind, norm.eps) == ("rms", 0.1)
    assert norm.weight is trained.blocks[1].attention_norm.norm.weight
    assert changed.blocks[2].attention.query is trained.blocks[2].attention.query
    assert changed.leave.weight is trained.leave.weight  # behind the last layer


@pytest.mark.parametrize(
    ("norm", "phrase"),
    [
        ("post:kind=layer", "stay, with kind=rms, but the scheme asks for kind=layer; drop it"),
        ("pre:eps=0.2", "with eps=0.1, but the scheme asks for eps=0.2.*or add gain=false"),
    ],
)
def test_a_kind_or_eps_without_effect_is_refused(
    generator: torch.Generator, norm: str, phrase: str
) -> None:
    trained = _trained("pre:kind=rms,eps=0.1", generator)
    with pytest.raises(InvalidValue, match=phrase):
        with_stabilisers(trained, Stabilisers(norm))
    with_stabilisers(trained, Stabilisers("post:kind=rms,eps=0.1"))  # says what there is
    fresh = with_stabilisers(trained, Stabilisers(f"{norm},gain=false"))
    assert fresh.blocks[0].attention_norm.norm.weight is None


def test_a_change_and_its_undoing_is_no_change(generator: torch.Generator, x: Tensor) -> None:
    trained = _trained("post", generator)
    there = with_stabilisers(trained, Stabilisers("pre", residual=False))
    back = with_stabilisers(there, trained.stabilisers)
    assert_close(back.states(x), trained.states(x), rtol=0, atol=0)


def test_shared_weights_are_refused(generator: torch.Generator) -> None:
    with pytest.raises(Unsupported, match="weights of their own"):
        with_stabilisers(_trained("post", generator), Stabilisers("post", shared=True))
