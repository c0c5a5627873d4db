"""A checkpoint on disk, its layers, and the projections that they make along time."""

__all__ = [
    "BertCheckpoint",
    "BertConfig",
    "CheckpointFiles",
    "TextTokens",
    "locate",
    "text_tokens",
]

from vlasov.pretrained.bert import BertCheckpoint
from vlasov.pretrained.bert_config import BertConfig
from vlasov.pretrained.checkpoint import CheckpointFiles, locate
from vlasov.pretrained.text import TextTokens, text_tokens
