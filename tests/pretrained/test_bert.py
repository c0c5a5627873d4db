"""The reader against an encoder written down plainly from the same tensors."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pretrained.reference_bert import reference_attention, reference_states
from torch import Tensor
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, ShapeMismatch, Unsupported
from vlasov.pretrained import BertCheckpoint, text_tokens

Writer = Callable[..., Path]

ATOL = 1e-12  # some hundred roundings of numbers below 1e2 in float64


@pytest.fixture
def checkpoint(write: Writer) -> BertCheckpoint:
    return BertCheckpoint.load(write()).to(dtype=torch.float64)


def test_a_number_of_layers_beyond_the_file_is_refused_at_once(write: Writer) -> None:
    with pytest.raises(InvalidValue, match=r"config\.json promises 1000000000 layers"):
        BertCheckpoint.load(write(num_hidden_layers=10**9))


@pytest.fixture
def x(generator: torch.Generator) -> Tensor:
    return torch.randn(5, 6, generator=generator, dtype=torch.float64)


def test_e03_every_state_is_that_of_the_plain_forward_pass(checkpoint: BertCheckpoint) -> None:
    w, model = checkpoint.tensors, checkpoint.transformer
    for name in ("query", "key", "value"):
        square = w[f"encoder.layer.0.attention.self.{name}.weight"]
        assert not torch.allclose(square, square.mT)  # a transposition would show
    ids = torch.tensor([2, 4, 5, 6, 7, 3])
    states = model.states(model.embed(ids))
    assert len(states) == 3
    for found, wanted in zip(states, reference_states(checkpoint.config, w, ids), strict=True):
        assert_close(found, wanted, rtol=0, atol=ATOL)


def test_e07_texts_in_a_batch_are_the_texts_alone(checkpoint: BertCheckpoint) -> None:
    model = checkpoint.transformer
    ids = torch.tensor([[2, 4, 5, 3], [2, 4, 3, 0]])
    padding = torch.tensor([[False] * 4, [False] * 3 + [True]])
    batch = model.states(model.embed(ids, padding), padding)
    alone = model.states(model.embed(ids[1, :3]))
    for together, single in zip(batch, alone, strict=True):
        assert_close(together[1, :3], single, rtol=0, atol=ATOL)


@pytest.mark.parametrize("index", [0, 1])
def test_the_projections_of_a_layer_move_as_its_attention(
    checkpoint: BertCheckpoint, x: Tensor, index: int
) -> None:
    maps = checkpoint.layer(index)
    q, k, v = maps.project(x)
    p = torch.exp(checkpoint.beta * torch.einsum("hik,hjk->hij", q, k))
    seen = maps.gather(torch.einsum("hij,hjm->him", p / p.sum(-1, keepdim=True), v))
    wanted = reference_attention(checkpoint.config, checkpoint.tensors, index, x)
    assert_close(seen, wanted, rtol=0, atol=ATOL)


def test_the_transformer_pde_moves_tokens_by_the_layer_of_the_time(
    checkpoint: BertCheckpoint, x: Tensor
) -> None:
    pde = vl.TransformerPDE("softmax", checkpoint.projections(), beta=checkpoint.beta)
    for t, index in ((0.5, 0), (1.0, 1), (1.5, 1)):
        moved = vl.velocity(pde, vl.Cloud(x), t=t)
        wanted = reference_attention(checkpoint.config, checkpoint.tensors, index, x)
        assert_close(moved, wanted, rtol=0, atol=ATOL)


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


def test_a_text_enters_as_its_embedding(checkpoint: BertCheckpoint) -> None:
    read = text_tokens(checkpoint, "the sea")
    assert read.tokens == ("[CLS]", "the", "sea", "[SEP]")
    ids = torch.tensor([2, 4, 5, 3])
    wanted = reference_states(checkpoint.config, checkpoint.tensors, ids)[0]
    assert_close(read.points, wanted, rtol=0, atol=ATOL)
    assert not read.points.requires_grad


@pytest.mark.parametrize(("eps", "right"), [(1e-5, 0.156174), (1e-12, 0.999998)])
def test_e04_every_norm_uses_the_eps_of_the_checkpoint(
    write: Writer, weights: dict[str, Tensor], eps: float, right: float
) -> None:
    plain = {
        name: torch.ones(6) if name.endswith("Norm.weight") else torch.zeros(6)
        for name in weights
        if "LayerNorm" in name
    }
    model = BertCheckpoint.load(write(weights | plain, layer_norm_eps=eps)).transformer.double()
    x = torch.tensor([[0, 1e-3] * 3], dtype=torch.float64)
    expected = torch.tensor([[-right, right] * 3], dtype=torch.float64)
    norms: list[Any] = [model.embedding.norm]
    norms += [
        wrap.norm for block in model.blocks for wrap in (block.attention_norm, block.mlp_norm)
    ]
    assert len(norms) == 5
    for norm in norms:
        assert_close(norm(x), expected, rtol=0, atol=1e-6)  # the digits given


def test_e06_a_wrapped_checkpoint_is_the_same(
    write: Writer, weights: dict[str, Tensor], checkpoint: BertCheckpoint
) -> None:
    wrapped = {f"module._orig_mod.bert.{name}": tensor for name, tensor in weights.items()}
    again = BertCheckpoint.load(write(wrapped)).to(dtype=torch.float64)
    assert again.tensors.keys() == checkpoint.tensors.keys()
    state, other = again.transformer.state_dict(), checkpoint.transformer.state_dict()
    assert_close(state, other, rtol=0, atol=0)


def test_a_missing_an_extra_and_a_misshapen_tensor_are_named(
    write: Writer, weights: dict[str, Tensor]
) -> None:
    name = "encoder.layer.1.output.dense.weight"
    less = {key: tensor for key, tensor in weights.items() if key != name}
    with pytest.raises(InvalidValue, match=f"Missing: {name}. Unknown: none"):
        BertCheckpoint.load(write(less))
    with pytest.raises(InvalidValue, match=r"Unknown: encoder\.layer\.2\.output"):
        BertCheckpoint.load(
            write(weights | {"encoder.layer.2.output.dense.weight": torch.ones(1)})
        )
    with pytest.raises(ShapeMismatch, match=rf"promises shape \(6, 10\) for '{name}'"):
        BertCheckpoint.load(write(weights | {name: weights[name].mT.contiguous()}))


def test_what_was_left_aside_is_reported(checkpoint: BertCheckpoint) -> None:
    aside = ("embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight")
    assert checkpoint.ignored == aside
    assert checkpoint.facts["ignored_tensors"] == ", ".join(aside)
    assert checkpoint.facts["layers"] == 2
    assert checkpoint.facts["norm_eps"] == 1e-3


def test_weights_come_in_float32_and_can_be_moved(write: Writer) -> None:
    checkpoint = BertCheckpoint.load(write())
    assert text_tokens(checkpoint, "sea").points.dtype == torch.float32
    moved = checkpoint.to(dtype=torch.float64)
    assert text_tokens(moved, "sea").points.dtype == torch.float64
    assert text_tokens(checkpoint, "sea").points.dtype == torch.float32  # the first is unchanged


@pytest.mark.parametrize("index", [-1, 2])
def test_a_layer_that_is_not_there_is_refused(checkpoint: BertCheckpoint, index: int) -> None:
    with pytest.raises(InvalidValue, match=f"has layers 0 to 1 but {index}"):
        checkpoint.layer(index)


def test_a_checkpoint_without_tokenizer_reads_no_text(write: Writer) -> None:
    folder = write()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(Unsupported, match=r"needs tokenizer\.json but checkpoint"):
        BertCheckpoint.load(folder).read("sea")


def test_the_tokenizer_of_another_checkpoint_is_refused(
    write: Writer, weights: dict[str, Tensor]
) -> None:
    small = weights | {"embeddings.word_embeddings.weight": torch.ones(5, 6)}
    checkpoint = BertCheckpoint.load(write(small, vocab_size=5))
    with pytest.raises(InvalidValue, match="entries 0 to 4 but the inputs hold 9"):
        text_tokens(checkpoint, "black")
