"""The reader against torch's own encoder layers with the same weights."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained import BertCheckpoint

Writer = Callable[..., Path]

ATOL = 1e-12  # some hundred roundings of numbers below 1e2 in float64


def _reference_layer(checkpoint: BertCheckpoint, index: int) -> nn.TransformerEncoderLayer:
    """Torch's post-LN layer, weights copied by name; it knows nothing of the reader's maths."""
    w, base = checkpoint.tensors, f"encoder.layer.{index}"
    layer = nn.TransformerEncoderLayer(
        6,
        3,
        10,
        dropout=0.0,
        activation="gelu",
        layer_norm_eps=1e-3,
        batch_first=True,
        norm_first=False,
        dtype=torch.float64,
    )
    inputs = [f"{base}.attention.self.{name}" for name in ("query", "key", "value")]
    state: dict[str, Tensor] = {}
    for kind in ("weight", "bias"):
        state[f"self_attn.in_proj_{kind}"] = torch.cat([w[f"{name}.{kind}"] for name in inputs])
        state[f"self_attn.out_proj.{kind}"] = w[f"{base}.attention.output.dense.{kind}"]
        state[f"norm1.{kind}"] = w[f"{base}.attention.output.LayerNorm.{kind}"]
        state[f"linear1.{kind}"] = w[f"{base}.intermediate.dense.{kind}"]
        state[f"linear2.{kind}"] = w[f"{base}.output.dense.{kind}"]
        state[f"norm2.{kind}"] = w[f"{base}.output.LayerNorm.{kind}"]
    layer.load_state_dict(state)
    return (
        layer.train()
    )  # torch's fused evaluation path would be another route; there is no dropout


@pytest.fixture
def checkpoint(write: Writer) -> BertCheckpoint:
    return BertCheckpoint.load(write()).to(dtype=torch.float64)


@pytest.fixture
def x(generator: torch.Generator) -> Tensor:
    return torch.randn(2, 5, 6, generator=generator, dtype=torch.float64)


@torch.no_grad()
def test_the_forward_pass_is_that_of_torch_layers(checkpoint: BertCheckpoint, x: Tensor) -> None:
    states = checkpoint.forward(x)
    assert len(states) == 3
    assert_close(states[0], x, rtol=0, atol=0)
    for index, (before, after) in enumerate(itertools.pairwise(states)):
        assert_close(after, _reference_layer(checkpoint, index)(before), rtol=0, atol=ATOL)


@torch.no_grad()
@pytest.mark.parametrize("index", [0, 1])
def test_e03_the_projections_of_a_layer_move_as_its_attention(
    checkpoint: BertCheckpoint, x: Tensor, index: int
) -> None:
    maps, attention = checkpoint.layer(index), _reference_layer(checkpoint, index).self_attn
    assert isinstance(maps.value, Tensor)
    assert not torch.allclose(maps.value, maps.value.mT)  # a transposition would show
    q, k, v = maps.project(x)
    p = torch.exp(checkpoint.beta * torch.einsum("bhik,bhjk->bhij", q, k))
    seen = torch.einsum("bhij,bhjd->bid", p / p.sum(-1, keepdim=True), v)
    assert_close(seen, attention(x, x, x, need_weights=False)[0], rtol=0, atol=ATOL)
    assert_close(seen, checkpoint.attention(index, x), rtol=0, atol=ATOL)


@torch.no_grad()
def test_the_transformer_pde_moves_tokens_by_the_layer_of_the_time(
    checkpoint: BertCheckpoint, x: Tensor
) -> None:
    pde = vl.TransformerPDE("softmax", checkpoint.projections(), beta=checkpoint.beta)
    for t, index in ((0.5, 0), (1.0, 1), (1.5, 1)):
        moved = vl.velocity(pde, vl.Cloud(x), t=t)
        assert_close(moved, checkpoint.attention(index, x), rtol=0, atol=ATOL)


def test_layers_act_one_after_the_other_along_time(checkpoint: BertCheckpoint) -> None:
    path = checkpoint.projections(duration=0.5)
    assert path.heads == 3
    assert path.breakpoints(0.0, 1.0) == [0.5]
    for t, index in ((0.0, 0), (0.49, 0), (0.5, 1), (0.9, 1)):
        assert_close(path.at(t).maps(), checkpoint.layer(index).maps(), rtol=0, atol=0)


def test_layers_can_be_interpolated(checkpoint: BertCheckpoint) -> None:
    path = checkpoint.projections(interpolation="linear")
    values = [path.at(t).maps()["value"] for t in torch.linspace(0, 2, 9).tolist()]
    assert any(not torch.equal(a, b) for a, b in itertools.pairwise(values))


def test_embeddings_are_word_place_and_type_under_the_norm(checkpoint: BertCheckpoint) -> None:
    tokens, points = checkpoint.embed("the sea")
    w = checkpoint.tensors
    ids = torch.tensor([2, 4, 5, 3])
    raw = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][:4]
        + w["embeddings.token_type_embeddings.weight"][0]
    )
    centred = raw - raw.mean(-1, keepdim=True)
    unit = centred / (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt()
    expected = unit * w["embeddings.LayerNorm.weight"] + w["embeddings.LayerNorm.bias"]
    assert tokens == ["[CLS]", "the", "sea", "[SEP]"]
    assert_close(points, expected, rtol=0, atol=ATOL)


@pytest.mark.parametrize(("eps", "right"), [(1e-5, 0.156174), (1e-12, 0.999998)])
def test_e04_the_norm_uses_the_eps_of_the_checkpoint(
    write: Writer, weights: dict[str, Tensor], eps: float, right: float
) -> None:
    plain = weights | {
        "embeddings.LayerNorm.weight": torch.ones(6),
        "embeddings.LayerNorm.bias": torch.zeros(6),
    }
    checkpoint = BertCheckpoint.load(write(plain, layer_norm_eps=eps)).to(dtype=torch.float64)
    x = torch.tensor([[0, 1e-3] * 3], dtype=torch.float64)
    expected = torch.tensor([[-right, right] * 3], dtype=torch.float64)
    assert_close(checkpoint.norm("embeddings", x), expected, rtol=0, atol=1e-6)  # digits given


def test_e06_a_wrapped_checkpoint_is_the_same(
    write: Writer, weights: dict[str, Tensor], checkpoint: BertCheckpoint, x: Tensor
) -> None:
    wrapped = {f"module._orig_mod.bert.{name}": tensor for name, tensor in weights.items()}
    again = BertCheckpoint.load(write(wrapped)).to(dtype=torch.float64)
    assert again.tensors.keys() == checkpoint.tensors.keys()
    assert_close(again.forward(x), checkpoint.forward(x), rtol=0, atol=0)


def test_what_was_left_aside_is_reported(checkpoint: BertCheckpoint) -> None:
    aside = ("embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight")
    assert checkpoint.ignored == aside
    assert checkpoint.facts["ignored_tensors"] == ", ".join(aside)
    assert checkpoint.facts["layers"] == 2
    assert checkpoint.facts["norm_eps"] == 1e-3


def test_weights_come_in_float32_and_can_be_moved(write: Writer) -> None:
    checkpoint = BertCheckpoint.load(write())
    assert checkpoint.embed("sea")[1].dtype == torch.float32
    assert checkpoint.to(dtype=torch.float64).embed("sea")[1].dtype == torch.float64
    assert checkpoint.embed("sea")[1].dtype == torch.float32  # the first one is unchanged


@pytest.mark.parametrize("index", [-1, 2])
def test_a_layer_that_is_not_there_is_refused(checkpoint: BertCheckpoint, index: int) -> None:
    with pytest.raises(InvalidValue, match=f"has layers 0 to 1 but {index}"):
        checkpoint.layer(index)


def test_a_checkpoint_without_tokenizer_reads_no_text(write: Writer) -> None:
    folder = write()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(Unsupported, match=r"needs tokenizer\.json but checkpoint"):
        BertCheckpoint.load(folder).embed("sea")


def test_the_tokenizer_of_another_checkpoint_is_refused(
    write: Writer, weights: dict[str, Tensor]
) -> None:
    small = weights | {"embeddings.word_embeddings.weight": torch.ones(5, 6)}
    checkpoint = BertCheckpoint.load(write(small, vocab_size=5))
    with pytest.raises(InvalidValue, match="knows 5 words but the text holds entry 9"):
        checkpoint.embed("black")
