"""A tiny random BERT checkpoint, written as files; its square matrices are not symmetric."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vlasov.pretrained import BertConfig

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "sea", "is", "calm", "and", "black")

Writer = Callable[..., Path]


@pytest.fixture
def settings() -> dict[str, Any]:
    """What config.json says."""
    return {
        "model_type": "bert",
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "hidden_size": 6,
        "intermediate_size": 10,
        "max_position_embeddings": 12,
        "vocab_size": len(WORDS),
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-3,
        "hidden_act": "gelu",
    }


@pytest.fixture
def weights(settings: dict[str, Any], generator: torch.Generator) -> dict[str, Tensor]:
    """Random tensors under their bare names, with the parts that an encoder leaves aside."""
    shapes = BertConfig.from_settings(settings).shapes()
    drawn = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    aside = {
        "embeddings.position_ids": torch.arange(12)[None],
        "pooler.dense.weight": torch.eye(6),
        "pooler.dense.bias": torch.zeros(6),
    }
    return drawn | aside


@pytest.fixture
def write(tmp_path: Path, settings: dict[str, Any], weights: dict[str, Tensor]) -> Writer:
    """Writes a checkpoint folder, with other tensors or changed settings on request."""
    save_file = pytest.importorskip("safetensors.torch").save_file
    pytest.importorskip("tokenizers")

    def written(tensors: dict[str, Tensor] | None = None, **changed: object) -> Path:
        folder = tmp_path / "checkpoint"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(settings | changed))
        save_file(weights if tensors is None else tensors, str(folder / "model.safetensors"))
        _save_tokenizer(folder / "tokenizer.json")
        return folder

    return written


def _save_tokenizer(path: Path) -> None:
    """One word, one token; with the padding and the truncation that real files carry."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_padding(length=8)
    made.enable_truncation(4)
    made.save(str(path))
