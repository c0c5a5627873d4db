"""A checkpoint on disk: a network that runs whole, or layers of projections along time."""

__all__ = [
    "BertCheckpoint",
    "BertConfig",
    "CheckpointFiles",
    "LimitDistances",
    "LlamaCheckpoint",
    "LlamaConfig",
    "PretrainedTower",
    "TextTokens",
    "limit_distances",
    "locate",
    "pretrained_tower",
    "small_step_states",
    "text_tokens",
    "with_stabilisers",
]

from vlasov.pretrained.bert import BertCheckpoint
from vlasov.pretrained.bert_config import BertConfig
from vlasov.pretrained.checkpoint import CheckpointFiles, locate
from vlasov.pretrained.llama import LlamaCheckpoint
from vlasov.pretrained.llama_config import LlamaConfig
from vlasov.pretrained.small_steps import LimitDistances, limit_distances, small_step_states
from vlasov.pretrained.switched import with_stabilisers
from vlasov.pretrained.text import TextTokens, text_tokens
from vlasov.pretrained.tower import PretrainedTower, pretrained_tower
