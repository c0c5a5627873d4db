"""Predictions V54 and V55: the error of random batches in the step."""

import math

import pytest
import torch
from flows import slope, sphere_pde

import vlasov as vl
from vlasov.engines import RandomBatch

pytestmark = pytest.mark.slow

STEPS = (0.1, 0.05, 0.025, 0.0125, 0.00625)
SLOPE = 0.07
"""Tolerance of V54."""


def _errors(attention: str, engine: RandomBatch) -> list[float]:
    """Root mean square distance from the run without batches at time 1, for each step."""
    generator = torch.Generator().manual_seed(0)
    angles = 2 * math.pi * torch.rand(24, 64, dtype=torch.float64, generator=generator)
    cloud = vl.Cloud(torch.stack([angles.cos(), angles.sin()], dim=-1))
    found = []
    for step in STEPS:
        ends = [
            vl.simulate(
                sphere_pde(attention, 1.0, engine=one),
                cloud,
                until=1.0,
                step=step,
                integrator="euler",
                keep="last",
            ).final.points
            for one in (engine, "dense")
        ]
        found.append((ends[0] - ends[1]).square().sum(-1).mean().sqrt().item())
    return found


def _slope(errors: list[float]) -> float:
    return slope([math.log(step) for step in STEPS], [math.log(e) for e in errors])


def test_v54_the_error_falls_like_the_root_of_the_step() -> None:
    errors = {p: _errors("unnormalised", RandomBatch(p)) for p in (2, 4, 16)}
    for of_p in errors.values():
        assert _slope(of_p) == pytest.approx(0.5, abs=SLOPE)
    for p in (4, 16):
        wanted = math.sqrt((1 / (p - 1) - 1 / 63) / (1 - 1 / 63))
        assert errors[p][2] / errors[2][2] == pytest.approx(wanted, rel=0.1)


def test_v55_the_plain_ratio_does_not_converge_with_the_step() -> None:
    errors = {p: _errors("softmax", RandomBatch(p, normaliser="batch")) for p in (2, 4)}
    assert _slope(errors[2]) < _slope(errors[4]) < 0.5 - SLOPE
    assert errors[2][-1] > 0.85 * errors[2][-2]  # the root of the step would give 0.71


@pytest.mark.parametrize("p", [2, 4, 16])
def test_v55_the_full_normaliser_restores_the_root_of_the_step(p: int) -> None:
    assert _slope(_errors("softmax", RandomBatch(p))) == pytest.approx(0.5, abs=SLOPE)
