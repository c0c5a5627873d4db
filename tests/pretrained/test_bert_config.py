import math
from typing import Any

import pytest

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained import BertConfig


def test_the_sizes_are_those_of_the_file(settings: dict[str, Any]) -> None:
    config = BertConfig.from_settings(settings)
    assert (config.layers, config.heads, config.width, config.head_width) == (2, 3, 6, 2)
    assert config.beta == 1 / math.sqrt(2)


def test_e04_the_norm_eps_is_never_a_default(settings: dict[str, Any]) -> None:
    assert BertConfig.from_settings(settings).norm_eps == 1e-3
    del settings["layer_norm_eps"]
    with pytest.raises(InvalidValue, match="positive number 'layer_norm_eps' but lacks it"):
        BertConfig.from_settings(settings)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "roberta"),
        ("hidden_act", "gelu_new"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
    ],
)
def test_what_would_be_computed_wrongly_is_refused(
    settings: dict[str, Any], key: str, value: object
) -> None:
    with pytest.raises(Unsupported, match=f"with {key} = .* config.json has {value}"):
        BertConfig.from_settings(settings | {key: value})


@pytest.mark.parametrize("value", [0, -1, "6", True, float("nan"), float("inf"), 10**400])
def test_a_size_is_a_positive_number(settings: dict[str, Any], value: object) -> None:
    with pytest.raises(InvalidValue, match="positive number 'hidden_size' but has"):
        BertConfig.from_settings(settings | {"hidden_size": value})


def test_a_size_is_whole(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=r"whole number 'hidden_size' but has 6\.5"):
        BertConfig.from_settings(settings | {"hidden_size": 6.5})


def test_the_heads_share_the_width(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be a multiple of num_attention_heads"):
        BertConfig.from_settings(settings | {"num_attention_heads": 4})


def test_a_layer_promises_sixteen_tensors(settings: dict[str, Any]) -> None:
    shapes = BertConfig.from_settings(settings).shapes()
    assert len(shapes) == 5 + 2 * 16
    assert shapes["encoder.layer.1.output.dense.weight"] == (6, 10)
    assert shapes["encoder.layer.1.intermediate.dense.bias"] == (10,)
