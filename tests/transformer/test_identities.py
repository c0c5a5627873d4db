"""A block is a step of the integrator, bit for bit: same engine, format, batch and threads."""

import pytest
import torch
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import Unsupported
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig, pde_of, random_tower

pytestmark = pytest.mark.usefixtures("unchecked_types")

DT = 0.125
DEPTH = 3


def _points(generator, dtype=torch.float64, n=7, d=8):
    return torch.randn(2, n, d, generator=generator, dtype=dtype) / 2


def _run(pde, x, integrator):
    run = vl.simulate(pde, vl.Cloud(x), until=DEPTH * DT, step=DT, integrator=integrator)
    assert run.status == "finished"
    return run.points


def _model(stabilisers, dtype=torch.float64, **settings):
    config = TransformerConfig(width=8, depth=DEPTH, heads=2, positions="none", **settings)
    return Transformer(config, stabilisers, dtype=dtype, seed=3)


EULER = Stabilisers(norm="none", residual_scale=DT)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("attention", list(vl.ATTENTIONS))
def test_without_norm_a_model_is_eulers_method(attention, dtype, generator):
    tower = random_tower(
        8, DEPTH, 2, mlp="none", attention=attention, stabilisers=EULER, dtype=dtype
    )
    states = tower.states(_points(generator, dtype))
    frames = _run(pde_of(tower, duration=DT), states[0], "euler")
    assert not torch.equal(states[0], states[-1])
    assert_close(torch.stack(states), frames, rtol=0, atol=0)


@torch.no_grad()
@pytest.mark.parametrize("engine", ["dense", "tiled", "fused"])
def test_so_it_is_on_every_engine(engine, generator):
    model = _model(EULER, mlp="none", engine=engine)
    states = model.states(_points(generator))
    assert_close(
        torch.stack(states), _run(pde_of(model, duration=DT), states[0], "euler"), rtol=0, atol=0
    )


@torch.no_grad()
@pytest.mark.parametrize(
    "settings",
    [
        {"causal": True},
        {"positions": "alibi"},
        {"positions": "alibi", "causal": True},
        {"positions": "rotary", "kv_heads": 1},
        {"positions": "rotary", "rotary_pairs": "neighbours", "causal": True},
        {"head_width": 3, "beta": 0.7},
        {"attention": "softmax+l2"},
    ],
    ids=str,
)
@pytest.mark.parametrize("qk_norm", [False, True])
def test_so_it_is_with_positions_groups_and_query_key_norm(settings, qk_norm, generator):
    stabilisers = Stabilisers(norm="none", residual_scale=DT, qk_norm=qk_norm)
    config = {"positions": "none", "mlp": "none", **settings}
    model = Transformer(
        TransformerConfig(width=8, depth=DEPTH, heads=2, **config), stabilisers, dtype=torch.double
    )
    states = model.states(_points(generator))
    frames = _run(pde_of(model, duration=DT), states[0], "euler")
    assert_close(torch.stack(states), frames, rtol=0, atol=0)


@torch.no_grad()
@pytest.mark.parametrize("attention", list(vl.ATTENTIONS))
def test_the_sphere_norm_is_euler_with_retraction(attention, generator):
    stabilisers = Stabilisers(norm="sphere:radius=1", residual_scale=DT)
    tower = random_tower(8, DEPTH, 2, mlp="none", attention=attention, stabilisers=stabilisers)
    states = tower.states(_points(generator))
    pde = pde_of(tower, duration=DT)
    assert pde.geometry == vl.GEOMETRIES.build("sphere")
    assert_close(torch.stack(states), _run(pde, states[0], "euler"), rtol=0, atol=0)


@torch.no_grad()
@pytest.mark.parametrize("mlp", ["relu", "gelu", "gelu-tanh", "swiglu"])
def test_attention_then_mlp_is_lie_splitting(mlp, generator):
    model = _model(EULER, mlp=mlp)
    states = model.states(_points(generator))
    frames = _run(pde_of(model, duration=DT), states[0], "lie:inner=euler")
    assert_close(torch.stack(states), frames, rtol=0, atol=0)
    apart = _run(pde_of(model, duration=DT, mlp=False), states[0], "euler")
    assert (apart[-1] - frames[-1]).abs().max() > 1e-3  # the MLP moves the tokens too


@torch.no_grad()
def test_step_residual_scale_and_depth_say_the_same(generator):
    x = _points(generator)
    wanted = random_tower(8, 4, 2, stabilisers=Stabilisers(norm="none", residual_scale=0.25))
    for stabilisers in (
        Stabilisers(norm="none", step=0.25),
        Stabilisers(norm="none", residual_scale="1/L"),
        Stabilisers(norm="none", step=0.5, residual_scale="1/sqrt(L)"),
    ):
        found = random_tower(8, 4, 2, stabilisers=stabilisers)
        assert_close(found.states(x)[-1], wanted.states(x)[-1], rtol=0, atol=0)


@torch.no_grad()
def test_shared_weights_are_the_time_homogeneous_flow(generator):
    stabilisers = Stabilisers(norm="none", residual_scale=DT, shared=True)
    tower = random_tower(8, DEPTH, 2, mlp="none", stabilisers=stabilisers)
    states = tower.states(_points(generator))
    pde = vl.TransformerPDE("softmax", tower.projections(0), beta=tower.config.score_factor)
    assert_close(torch.stack(states), _run(pde, states[0], "euler"), rtol=0, atol=0)


@torch.no_grad()
def test_layers_of_size_1_over_l_converge_to_the_flow_with_order_1(generator):
    x = _points(generator)
    stabilisers = Stabilisers(norm="none", residual_scale="1/L", shared=True)
    towers = [random_tower(8, depth, 2, stabilisers=stabilisers) for depth in (8, 16, 32, 64)]
    pde = vl.TransformerPDE(
        "softmax",
        towers[0].projections(0),
        beta=towers[0].config.score_factor,
        terms=towers[0].mlp_terms()[:1],
    )
    exact = vl.simulate(pde, vl.Cloud(x), until=1.0, step=0.05).points[-1]
    ends = torch.stack([tower.states(x)[-1] for tower in towers])
    slopes = (ends - exact).abs().amax((1, 2, 3)).log2().diff()
    assert (slopes + 1).abs().max() < 0.15


@torch.no_grad()
def test_trained_scales_start_at_nothing_or_all(generator):
    x = _points(generator)
    rezero = random_tower(8, 2, 2, stabilisers=Stabilisers(norm="none", residual_scale="rezero"))
    assert_close(rezero.states(x)[-1], x, rtol=0, atol=0)
    learned, whole = (
        random_tower(8, 2, 2, stabilisers=Stabilisers(norm="none", residual_scale=scale))
        for scale in ("learned", 1.0)
    )
    assert_close(learned.states(x)[-1], whole.states(x)[-1])
    assert sum(p.numel() for p in learned.parameters()) == 4 + sum(
        p.numel() for p in whole.parameters()
    )


def test_terms_along_depth_act_on_clouds_at_one_time(generator):
    tower = random_tower(8, 2, 2)
    (term,) = pde_of(tower).terms
    x = _points(generator)
    force = term.bind(x)
    for t, layer in ((-1.0, 0), (0.5, 0), (1.0, 1), (9.0, 1)):
        assert_close(force(t, x), tower.mlp_terms()[layer].bind(x)(t, x), rtol=0, atol=0)
    assert_close(force(torch.tensor([0.2, 0.4]), x), force(0.0, x), rtol=0, atol=0)
    with pytest.raises(Unsupported, match=r"layers \[0, 1\]"):
        force(torch.tensor([0.5, 1.5]), x)
