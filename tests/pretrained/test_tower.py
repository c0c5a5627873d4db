"""One door to both families."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pretrained.tiny_gguf import write_gguf
from torch import Tensor
from torch.testing import assert_close

from vlasov.errors import UnknownName
from vlasov.pretrained import BertCheckpoint, LlamaCheckpoint, pretrained_tower

Writer = Callable[..., Path]


def test_a_folder_of_safetensors_is_an_encoder(write: Writer) -> None:
    tower = pretrained_tower(write(), dtype=torch.float64)
    assert isinstance(tower.checkpoint, BertCheckpoint)
    read = tower.embed("the sea is calm", 5)
    assert read.tokens == ("[CLS]", "the", "sea", "is", "[SEP]")
    assert read.points.dtype == torch.float64
    assert len(tower.model.states(read.points)) == 3
    assert tower.facts["layers"] == 2


def test_a_gguf_file_is_a_decoder(tmp_path: Path, llama_weights: dict[str, Tensor]) -> None:
    pytest.importorskip("gguf")
    tower = pretrained_tower(write_gguf(tmp_path / "tiny.gguf", llama_weights))
    assert isinstance(tower.checkpoint, LlamaCheckpoint)
    read = tower.embed("the sea")
    assert read.tokens == ("the", "Ġsea")
    _, ids = tower.checkpoint.read("the sea")
    assert_close(read.points, llama_weights["token_embd.weight"][ids], rtol=0, atol=0)
    assert not tower.model.training
    assert not any(parameter.requires_grad for parameter in tower.model.parameters())


def test_an_unknown_name_says_what_to_install() -> None:
    with pytest.raises(UnknownName, match="No checkpoint 'no-such-network'"):
        pretrained_tower("no-such-network")
