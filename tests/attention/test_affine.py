"""What a Gaussian law shows to a query: affine maps against Gauss-Hermite sums, and refusals."""

import pytest
import torch
from torch.autograd import gradcheck

from vlasov.attention import ATTENTIONS, HeadMixture, build_attention
from vlasov.attention.gaussian_plan import conditional_covariance
from vlasov.cloud import Cloud
from vlasov.engines import Dense
from vlasov.errors import ShapeMismatch, Unsupported
from vlasov.gaussian import Affine, Gaussian
from vlasov.projections import Projections

CLOSED = ["softmax", "l2", "sinkhorn:eps=0.7", "linear", "softmax+l2", "sinkhorn+linear"]
OPEN = sorted(set(ATTENTIONS) - {"softmax", "l2", "sinkhorn", "linear"})


def normal(*shape, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)


def projections(d=2, k=3, *, biased=True, seed=0):
    """Two heads with rectangular queries and keys."""
    drawn = [normal(2, rows, d, seed=seed + i, scale=0.4) for i, rows in enumerate((k, k, d))]
    biases = [normal(2, rows, seed=seed + 7 + i, scale=0.3) for i, rows in enumerate((k, k, d))]
    names = ("query_bias", "key_bias", "value_bias") if biased else ()
    return Projections(*drawn, **dict(zip(names, biases, strict=False)))


def images(law, maps):
    """The laws of queries, keys and values, head by head."""
    wide = Gaussian.of_factor(law.mean.unsqueeze(-2), law.factor.unsqueeze(-3))
    named = [(maps[name], maps.get(f"{name}_bias")) for name in ("query", "key", "value")]
    zeros = [torch.zeros_like(one[..., 0]) for one, _ in named]
    affine = [
        Affine(one, zero if bias is None else bias)
        for (one, bias), zero in zip(named, zeros, strict=True)
    ]
    return [wide.push(one) for one in affine]


def both(variant, maps, law, beta, nodes=40):
    """What queries see by the affine map, and by the sum over the nodes of the law."""
    cloud = Cloud.hermite(nodes, law.mean, law.cov)
    q, k, v = maps.project(cloud.points)
    log_w = cloud.log_weights.unsqueeze(-2)
    seen = variant.average(q, k, v, log_w, Dense(), beta=beta)
    flow = variant.affine(*images(law, maps.maps()), beta=beta)
    weights = cloud.weights[:, None]
    return flow(q), seen, weights


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("beta", [1.0, -0.3])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("name", CLOSED)
def test_the_affine_map_is_what_the_nodes_of_the_law_see(name, biased, beta, rank):
    root = normal(2, 2, seed=3, scale=0.5)
    root[:, rank:] = 0
    law = Gaussian(normal(2, seed=4), root @ root.T)
    found, wanted, weights = both(build_attention(name), projections(biased=biased), law, beta)
    # The nodes are weighted by the law: at the outermost ones the quadrature itself is off.
    assert ((found - wanted).abs() * weights).sum() <= 1e-11 * wanted.abs().max()


@pytest.mark.parametrize("name", ["softmax", "linear", "sinkhorn"])
def test_closure_to_rounding_where_the_quadrature_allows(name):
    law = Gaussian(normal(2, seed=4), 0.2 * torch.eye(2, dtype=torch.float64))
    found, wanted, weights = both(build_attention(name), projections(), law, 0.5, nodes=24)
    limit = 1e-12 if name != "sinkhorn" else 1e-10  # of its marginals
    assert ((found - wanted).abs() * weights).sum() <= limit


@pytest.mark.parametrize("name", OPEN)
def test_variants_that_do_not_keep_gaussians_are_refused_by_name(name):
    spec = "hardmax" if name == "hardmax" else name
    law = images(Gaussian([0.0, 1.0], torch.eye(2)), projections().maps())
    with pytest.raises(Unsupported, match=f"'{name}' does not keep Gaussians Gaussian"):
        build_attention(spec).affine(*law)
    with pytest.raises(Unsupported, match="Simulate a cloud"):
        build_attention(f"softmax+{spec}").affine(*law)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_refused_is_not_affine(name):
    law = Gaussian([0.3], [[0.8]])
    cloud = Cloud.hermite(60, law.mean, law.cov)
    q, k, v = Projections.identity(1).project(cloud.points)
    seen = build_attention(name).average(q, k, v, cloud.log_weights[None], Dense())[0, :, 0]
    x, w = cloud.points[:, 0], cloud.weights
    centred, rest = x - (w * x).sum(), seen - (w * seen).sum()
    slope = (w * centred * rest).sum() / (w * centred**2).sum()
    misfit = (w * (rest - slope * centred) ** 2).sum() / (w * rest**2).sum()
    assert misfit > 1e-4


def test_a_mixture_joins_its_members_on_the_head_axis():
    law = images(Gaussian(normal(2), torch.eye(2)), projections().maps())
    joined = build_attention("softmax+l2").affine(*law, beta=0.4)
    for h, name in enumerate(["softmax", "l2"]):
        alone = build_attention(name).affine(*law, beta=0.4)
        assert torch.equal(joined.matrix[h], alone.matrix[h])
        assert torch.equal(joined.offset[h], alone.offset[h])
    with pytest.raises(ShapeMismatch, match="3 members"):
        HeadMixture(build_attention("softmax+l2+linear").members).affine(*law)


def test_l2_of_negative_temperature_is_nan_where_its_integral_diverges():
    def seen(variance):
        return build_attention("l2").affine(
            *images(Gaussian([0.0], [[variance]]), Projections.identity(1).maps()), beta=-0.5
        )

    # 1 + 2 beta variance > 0 is needed: variance < 1.
    assert torch.isfinite(seen(0.99).matrix).all()
    assert torch.isnan(seen(1.01).matrix).all()


def test_scores_of_1e8_keep_the_directions_that_have_none():
    m = torch.diag(torch.tensor([1e8, 0.0], dtype=torch.float64))
    turn = torch.linalg.qr(normal(2, 2, seed=5)).Q
    found = turn.T @ conditional_covariance(turn @ m @ turn.T) @ turn
    assert found[1, 1].item() == pytest.approx(1.0, abs=1e-7)
    assert found[0, 0].item() == pytest.approx(1e-8, rel=1e-6)


@pytest.mark.parametrize("diagonal", [[0.7, 0.7], [0.5, 0.0], [0.0, 0.0], [2.0, -0.4]])
def test_the_gradient_of_the_entropic_plan(diagonal):
    m = torch.diag(torch.tensor(diagonal, dtype=torch.float64)).requires_grad_()
    assert gradcheck(conditional_covariance, m)


def test_scores_that_are_not_finite_give_no_number():
    m = torch.tensor([[[torch.inf, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    found = conditional_covariance(m)
    assert torch.isnan(found[0]).all()
    assert torch.equal(found[1], torch.eye(2))
