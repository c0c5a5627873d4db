"""The limits of a convergence study: passive tokens, flows and quantised laws agree."""

import math

import pytest
import torch

import vlasov as vl
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, Unsupported
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_field import carried
from vlasov.experiments.converge_study import study_of

VARIANTS = [
    ("softmax", None),
    ("l2", None),
    ("sinkhorn:eps=0.5", None),
    ("sigmoid", None),
    ("linear", None),
    ("unnormalised", None),
    ("softmax+sinkhorn", None),
    ("softmax", "causal"),
    ("sigmoid", "causal"),
    ("softmax", "window:width=1"),
    ("softmax", "alibi:slope=0.5"),
    ("sinkhorn", "window:width=1"),
]

RUN = {"until": 0.4, "step": 0.1, "integrator": "rk4"}


@pytest.mark.parametrize(("attention", "mask"), VARIANTS)
def test_passive_tokens_move_as_tokens_of_weight_zero(generator, attention, mask):
    heads = 1 + attention.count("+")
    projections = vl.Projections.random(2, heads, seed=3)
    pde = vl.TransformerPDE(attention, projections, mask=mask, terms="decay:rate=0.5")
    x = 0.5 * torch.randn(12, 2, generator=generator, dtype=torch.float64)
    s = torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64).repeat(3)
    moved, passive = carried(
        pde, Cloud(x[:8], positions=s[:8]), Cloud(x[8:], positions=s[8:]), **RUN
    )
    weights = [1 / 8] * 8 + [0.0] * 4
    run = vl.simulate(pde, Cloud(x, weights, s), **RUN, keep="last")
    assert torch.allclose(torch.cat([moved, passive]), run.points[-1], rtol=0, atol=1e-9)


def test_passive_tokens_stay_on_the_sphere(generator):
    pde = vl.TransformerPDE(geometry="sphere")
    x = pde.geometry.retract(torch.randn(9, 3, generator=generator, dtype=torch.float64))
    moved, passive = carried(pde, Cloud(x[:6]), Cloud(x[6:]), **RUN)
    run = vl.simulate(pde, Cloud(x, [1 / 6] * 6 + [0.0] * 3), **RUN, keep="last")
    assert torch.allclose(torch.cat([moved, passive]), run.points[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn", "linear", "softmax+l2"])
def test_flow_and_quantised_reference_agree(attention):
    common = {
        "attention": attention, "heads": 1 + attention.count("+"), "query": "0.8,0.3;-0.2,0.5",
        "cov": (0.1, 0.03, 0.03, 0.07), "mean": (0.2, -0.1), "reference_size": 512, "time": 0.4,
    }  # fmt: skip
    if "+" in attention:
        common["query"] = "identity"
    flow, cloud = (
        study_of(ConvergeConfig(**common, reference=name)).reference
        for name in ("flow", "quantised")
    )
    # Sobol points of this size stand for a smooth mean up to about 1/512
    close = {"rtol": 0.0, "atol": 2e-3}
    assert torch.allclose(flow.moments.mean, cloud.moments.mean, **close)
    assert torch.allclose(flow.moments.cov, cloud.moments.cov, **close)
    assert torch.allclose(flow.moments.cosine, cloud.moments.cosine, **close)
    x = torch.tensor([[[0.5, 0.5], [-0.5, 0.1]]], dtype=torch.float64)
    assert torch.allclose(flow.carry(x), cloud.carry(x), **close)
    assert flow.errors == {}
    assert all(0 <= error < 2e-3 for error in cloud.errors.values())


def test_a_mask_changes_nothing_where_positions_are_independent():
    masked = ConvergeConfig(mask="causal", reference="quantised", reference_size=800)
    plain = ConvergeConfig(reference="quantised", reference_size=200)
    found, exact = study_of(masked).reference, study_of(plain).reference
    assert found.moments.mean.shape == (4, 2)
    assert torch.allclose(found.points, exact.points.expand(4, -1, -1), atol=1e-10)


def test_a_limit_past_its_blow_up_is_refused():
    # V = A = I: t* = 1/(2 * 0.25) = 2
    with pytest.raises(InvalidValue, match=r"t\* = 2"):
        study_of(ConvergeConfig(time=2.5))
    assert study_of(ConvergeConfig(time=1.1)).reference.name == "flow"


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"attention": "sigmoid", "reference": "flow"}, "does not keep Gaussians"),
        ({"law": "ball", "reference": "flow"}, "no Gaussian"),
        ({"attention": "hardmax"}, "no mean-field limit"),
        ({"terms": ("momentum:damping=1",)}, "momentum"),
        ({"attention": "sinkhorn", "mask": "causal"}, "Sinkhorn"),
    ],
)
def test_what_has_no_limit_is_refused_by_name(settings, phrase):
    with pytest.raises(Unsupported, match=phrase):
        study_of(ConvergeConfig(**settings))


def test_a_quantised_limit_that_blows_up_is_named():
    config = ConvergeConfig(
        attention="unnormalised", d=1, time=5.0, reference_size=64, ns=(4, 8), seeds=(2,)
    )
    with pytest.raises(NotFinite, match="reference cloud"):
        study_of(config).reference.points  # noqa: B018 - computed when asked for


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        # every point of half the size lies between two: 1/2N of a turn, of the length 2 from each
        ({"geometry": "sphere", "law": "sphere"}, math.pi / 64),
        ({"d": 1, "law": "cube", "time": 1e-9}, 1 / 64),
    ],
)
def test_a_quantised_limit_estimates_its_own_distance(settings, error):
    study = study_of(ConvergeConfig(reference_size=64, **settings))
    assert study.reference_errors["distance"] == pytest.approx(error, rel=1e-6)


def test_an_exact_limit_has_no_errors():
    assert study_of(ConvergeConfig(d=1)).reference_errors == {}
    wide = study_of(ConvergeConfig(d=3, law="cube", reference_size=64))
    assert "distance" not in wide.reference_errors  # clouds are compared with draws
