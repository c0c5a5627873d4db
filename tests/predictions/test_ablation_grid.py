"""Prediction V47: residual connections on and off under no norm, pre-norm and post-norm."""

import functools

import pytest

from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.experiment import Context

pytestmark = pytest.mark.slow

# mlp, residual, scheme: token cosine after 1, 6 and 24 layers, norm and input cosine after 24
V47 = {
    ("none", "on", "none"): ((0.019, 0.39, 1.0), 615.0, 0.0),
    ("none", "on", "pre"): ((0.018, 0.29, 0.93), 4.19, 0.21),
    ("none", "on", "post"): ((0.019, 0.38, 1.0), 1.0, 0.0),
    ("none", "off", "none"): ((0.37, 1.0, 1.0), 0.11, 0.0),
    ("none", "off", "pre"): ((0.37, 1.0, 1.0), 1.04, 0.0),
    ("none", "off", "post"): ((0.37, 1.0, 1.0), 1.0, 0.0),
    ("relu", "on", "none"): ((0.18, 0.66, 1.0), 1.46e7, 0.01),
    ("relu", "on", "pre"): ((0.18, 0.50, 0.73), 5.57, 0.20),
    ("relu", "on", "post"): ((0.18, 0.92, 1.0), 1.0, 0.02),
    ("relu", "off", "none"): ((0.57, 1.0, 1.0), 0.10, 0.0),
    ("relu", "off", "pre"): ((0.57, 1.0, 1.0), 1.04, 0.0),
    ("relu", "off", "post"): ((0.57, 1.0, 1.0), 1.0, 0.0),
}
COSINE, FACTOR = 0.05, 2.0  # tolerances of the prediction, which saw one draw of the weights


@functools.cache
def layers():
    """The layers of every network, once for all tests: the intervals of five draws."""
    config = AblateConfig(pde=("none",), substeps=1)
    table = ABLATE.prepare(config)(Context()).tables["ablation"]
    named = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {(row["mlp"], row["residual"], row["scheme"], row["layer"]): row for row in named}


@pytest.mark.parametrize("network", V47, ids="-".join)
def test_the_draw_of_the_prediction_lies_in_the_interval_of_ours(network):
    rows = layers()
    cosines, norm, with_input = V47[network]
    for layer, cosine in zip((1, 6, 24), cosines, strict=True):
        row = rows[(*network, layer)]
        assert row["token_cosine_low"] - COSINE <= cosine <= row["token_cosine_high"] + COSINE
    last = rows[(*network, 24)]
    assert last["norm_low"] / FACTOR <= norm <= FACTOR * last["norm_high"]
    assert last["input_cosine_low"] - COSINE <= with_input <= last["input_cosine_high"] + COSINE


def test_explosion_needs_a_residual_and_no_norm_and_collapse_needs_no_norm_at_all():
    for (_, residual, scheme, layer), row in layers().items():
        if layer == 24 and (residual, scheme) != ("on", "none"):
            assert row["norm_high"] < 10.0
        if layer == 6 and residual == "off":
            assert row["token_cosine_low"] > 0.99
