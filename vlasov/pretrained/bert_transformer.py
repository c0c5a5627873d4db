"""The encoder of a BERT checkpoint as a Transformer: its sizes, and its tensors by new names."""

__all__ = ["bert_architecture", "bert_weights"]

from collections.abc import Mapping

from torch import Tensor

from vlasov.pretrained.bert_config import BertConfig
from vlasov.transformer import Stabilisers, TransformerConfig

# Matrices of the file are (out, in) and so are those of the model: none is transposed (case E03).
_MAPS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "mlp.inner": "intermediate.dense",
    "mlp.outer": "output.dense",
}
_NORMS = {
    "attention_norm.norm": "attention.output.LayerNorm",
    "mlp_norm.norm": "output.LayerNorm",
}


def bert_architecture(config: BertConfig) -> tuple[TransformerConfig, Stabilisers]:
    """Post-LN blocks with exact GELU, learned positions, and the eps of the checkpoint."""
    sizes = TransformerConfig(
        width=config.width,
        depth=config.layers,
        heads=config.heads,
        positions="learned",
        max_positions=config.max_tokens,
        mlp="gelu",
        mlp_width=config.mlp_width,
        vocabulary=config.vocabulary,
        embedding_norm=True,
    )
    return sizes, Stabilisers(norm=f"post:eps={config.norm_eps!r}")


def bert_weights(config: BertConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of the model; every token is of the first type, which is added to its place."""
    first_type = tensors["embeddings.token_type_embeddings.weight"][0]
    weights = {
        "embedding.table": tensors["embeddings.word_embeddings.weight"],
        "embedding.places": tensors["embeddings.position_embeddings.weight"] + first_type,
        "embedding.norm.weight": tensors["embeddings.LayerNorm.weight"],
        "embedding.norm.bias": tensors["embeddings.LayerNorm.bias"],
    }
    for layer in range(config.layers):
        block, base = f"blocks.{layer}", f"encoder.layer.{layer}"
        for name, source in _MAPS.items():
            weights[f"{block}.{name}"] = tensors[f"{base}.{source}.weight"]
            weights[f"{block}.{name}_bias"] = tensors[f"{base}.{source}.bias"]
        for name, source in _NORMS.items():
            weights[f"{block}.{name}.weight"] = tensors[f"{base}.{source}.weight"]
            weights[f"{block}.{name}.bias"] = tensors[f"{base}.{source}.bias"]
    return weights
