"""What a Transformer is not built from, and layers that it does not have."""

from dataclasses import replace

import pytest
import torch

from vlasov.errors import InvalidValue
from vlasov.transformer import Diffusions, Stabilisers, Transformer, TransformerConfig

pytestmark = pytest.mark.usefixtures("unchecked_types")

CONFIG = TransformerConfig(width=8, depth=1, heads=1)


@pytest.mark.parametrize("layer", [2, -1, 0.5, "a", None])
def test_a_layer_that_is_not_there_is_refused(layer):
    model = Transformer(replace(CONFIG, depth=2), dtype=torch.float64)
    x = torch.ones(3, 8, dtype=torch.float64)
    for call in (model.block, model.projections, lambda at: model.layer(at, x, x[..., 0])):
        with pytest.raises(InvalidValue, match=r"layers 0 to 1 but .* was asked for; choose"):
            call(layer)


@pytest.mark.parametrize(
    ("arguments", "settings", "phrase"),
    [
        (("a",), {}, r"takes TransformerConfig but got 'a'; write TransformerConfig\(width=64"),
        ((None,), {}, "takes TransformerConfig but got None"),
        ((CONFIG, ""), {}, r"takes Stabilisers but got ''; write Stabilisers\(norm='pre'\)"),
        ((CONFIG,), {"diffusions": "after-mlp"}, r"but got 'after-mlp'; write Diffusions.parse"),
        ((CONFIG,), {"seed": "1"}, "A seed is a whole number but got '1'; give one"),
        ((CONFIG,), {"seed": 1.0}, "but got 1.0"),
        ((CONFIG,), {"seed": True}, "but got True"),
        ((CONFIG,), {"dtype": torch.int64}, "real numbers but dtype is torch.int64; take"),
        ((CONFIG,), {"dtype": torch.complex64}, "dtype is torch.complex64"),
        ((CONFIG,), {"dtype": "float64"}, "dtype is 'float64'"),
    ],
)
def test_a_model_is_built_from_records(arguments, settings, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        Transformer(*arguments, **settings)


def test_the_usual_records_need_not_be_given():
    model = Transformer(CONFIG, None, diffusions=None)
    assert (model.stabilisers, model.diffusions) == (Stabilisers(), Diffusions())
