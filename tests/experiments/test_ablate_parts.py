"""The parts of an ablation: verdicts on made-up numbers, bands over seeds, energies of layers."""

import math

import pytest
import torch

import vlasov as vl
from vlasov.errors import InvalidValue
from vlasov.experiments.ablate_bands import band_of
from vlasov.experiments.ablate_cases import Case
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_flow import Switches
from vlasov.experiments.ablate_measure import network_piece
from vlasov.experiments.ablate_network import Source
from vlasov.experiments.ablate_notes import ablate_notes
from vlasov.experiments.ablate_source import source_of
from vlasov.experiments.ablate_verdicts import STABLE, verdict

NAN = math.nan


def made_up(**changes):
    """Two seeds of two layers at which nothing happens."""
    found = {
        "norm": [[1.0, 1.0, 1.0]] * 2,
        "token_cosine": [[0.0, 0.0, 0.0]] * 2,
        "input_cosine": [[1.0, 1.0, 1.0]] * 2,
        "gradient": [[1.0, 1.0, 1.0]] * 2,
        "overflow": [-1, -1],
    }
    return {name: torch.tensor(value) for name, value in (found | changes).items()}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, STABLE),
        ({"token_cosine": [[0, 0.995, 1], [0, 0.98, 0.999]]}, "collapses by layer 2"),
        ({"token_cosine": [[0, 0.98, 0.989], [0, 0.995, 1]]},
         "collapses by layer 1 in 1 of 2 samples"),
        ({"norm": [[2.0, 4.0, 800.0], [1.0, 1.0, 400.0]]}, "norm explodes (x 400)"),
        ({"norm": [[1.0, 1.0, 1e-3]] * 2}, "norm vanishes (x 0.001)"),
        ({"input_cosine": [[1.0, 0.0, 0.5]] * 2}, "drifts by layer 1"),
        ({"gradient": [[2e3, 1.0, 1.0]] * 2}, "gradient explodes (x 2e+03)"),
        ({"gradient": [[1e-3, 1.0, 1.0], [1e-5, 1.0, 1.0]]}, "gradient vanishes (x 0.0001)"),
        ({"overflow": [2, -1], "norm": [[1.0, 50.0, NAN], [1.0, 2.0, 3.0]]},
         "overflows at layer 2 in 1 of 2 samples"),
        ({"overflow": [2, 2], "norm": [[1.0, 1e9, NAN]] * 2},
         "overflows at layer 2; norm explodes (x 1e+09)"),
    ],
)  # fmt: skip
def test_verdicts_follow_from_thresholds(changes, words):
    assert verdict(made_up(**changes)) == words


def test_a_system_without_a_gradient_has_a_verdict():
    found = made_up()
    del found["gradient"]
    assert verdict(found) == STABLE


def test_intervals_end_where_the_values_do():
    band = band_of("token_cosine", torch.tensor([[0.9], [1.0]]))
    assert band.high.item() == 1.0
    assert band_of("effective_rank", torch.tensor([[1.0], [9.0]])).low.item() == 0.0


@pytest.mark.parametrize("part", ["diffusion:rate=5", "stability:rate=10"])
def test_the_steps_that_are_asked_for_are_stable(part):
    switches = Switches.read((part,))
    with pytest.raises(InvalidValue, match="substeps 16"):
        switches.require(substeps=12, causal=False)
    switches.require(substeps=16, causal=False)


def test_a_note_says_how_far_limits_are_known():
    agreement = {"pre": [[1.0, 0.97, 0.9, 0.99], [1.0, 0.97, NAN, 0.99]], "post": [[1.0] * 4] * 2}
    grid = {
        Case(scheme, "on", "relu", 3): {
            "limit_agreement": torch.tensor(rows), "energy": torch.zeros(2, 4)
        }
        for scheme, rows in agreement.items()
    }  # fmt: skip
    source = Source(lambda case, sample: None, list(grid), [6, 6], "seed")
    notes = " ".join(ablate_notes(AblateConfig(substeps=4), source, None, grid))
    assert "4 small steps per layer" in notes
    assert "up to layer 1 in the worst network and 3 in the best; beyond, distances" in notes
    assert "over 2 seeds" in notes


def test_bands_leave_out_seeds_that_are_not_finite():
    values = torch.tensor([[1.0, 2.0, NAN], [3.0, NAN, NAN]])
    band = band_of("energy", values)
    assert band.mean[:2].tolist() == [2.0, 2.0]
    assert band.mean[2].isnan()
    assert band.high[0].item() == pytest.approx(2.0 + 12.7062, rel=1e-5)
    assert (band.low[0] + band.high[0]).item() == pytest.approx(4.0)
    for one in (band.low, band.high):
        assert one[1:].isnan().all()


@pytest.mark.parametrize("name", ["energy", "norm"])
def test_nineteen_of_twenty_bands_hold_the_expected_value(name):
    draws = torch.randn(5, 4000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    band = band_of(name, draws.exp() if name == "norm" else draws)
    truth = 1.0 if name == "norm" else 0.0
    held = ((band.low < truth) & (truth < band.high)).double().mean().item()
    assert abs(held - 0.95) < 4 * (0.95 * 0.05 / 4000) ** 0.5  # four standard deviations


def test_a_layer_with_gradient_structure_has_the_energy_of_its_equation():
    config = AblateConfig(width=4, n=5, heads=1)
    one = source_of(config).subject(Case("none", "on", "none", 2), 0)
    first, _ = one.network.model.blocks
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            getattr(first.attention, name).copy_(torch.eye(4, dtype=torch.float64))
    found = network_piece(one, substeps=None, flow=None)["energy"]
    pde = vl.TransformerPDE(beta=config.width**-0.5)
    torch.testing.assert_close(found[0], vl.energy(pde, vl.Cloud(one.points)))
    assert found[1:].isnan().all()


def test_distances_to_the_flow_vanish_for_its_own_states():
    config = AblateConfig(width=4, n=5, heads=1)
    one = source_of(config).subject(Case("none", "on", "none", 2), 0)
    states = [x.detach() for x in one.network.states(one.points)]
    found = network_piece(one, substeps=1, flow=states)
    for name in ("pde", "limit"):
        assert found[f"w2_to_{name}"].abs().max() < 1e-7
        torch.testing.assert_close(found[f"cosine_to_{name}"], torch.ones(3, dtype=torch.float64))
