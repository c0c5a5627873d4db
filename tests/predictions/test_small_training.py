"""Prediction V53: small networks trained to reverse a sequence, with and without stabilisers."""

import functools
import math

import pytest

from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.experiment import Context

pytestmark = pytest.mark.slow

CHANCE = math.log(8)
TRAINED = (("pre", "on"), ("post", "on"))
COLLAPSED = (("none", "off"), ("pre", "off"), ("post", "off"))


@functools.cache
def trained():
    """First and last loss and first gradient of every network: 150 steps of Adam at 1e-3."""
    report = ABLATE.prepare(AblateConfig(task="reverse", seeds=1))(Context())
    table = report.tables["summary"]
    named = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {(row["scheme"], row["residual"]): row for row in named}


@pytest.mark.parametrize("network", TRAINED, ids="-".join)
def test_a_residual_and_a_norm_train(network):
    last = trained()[network]["last_loss"]
    assert last < min(trained()[other]["last_loss"] for other in COLLAPSED)
    assert last < CHANCE


@pytest.mark.parametrize("network", COLLAPSED, ids="-".join)
def test_without_residual_the_loss_stays_close_to_chance(network):
    assert 0.9 * CHANCE < trained()[network]["last_loss"] < 1.1 * CHANCE


def test_a_residual_without_norm_starts_from_a_huge_loss_and_gradient():
    bare, others = trained()[("none", "on")], [trained()[key] for key in (*TRAINED, *COLLAPSED)]
    for name, factor in (("first_loss", 10), ("first_gradient", 100)):
        assert bare[name] > factor * max(row[name] for row in others)
    assert bare["last_loss"] > 1.1 * CHANCE
