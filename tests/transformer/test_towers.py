"""Random towers at initialisation: V45 to V52, what residuals and norms do to many layers."""

import math

import pytest
import torch

from vlasov.errors import InvalidValue
from vlasov.transformer import Stabilisers, random_tower

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture(autouse=True)
def _without_denormals():
    """Collapsed towers run into denormal numbers, on which processors are slow."""
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


def _points(n, d, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _residual(x):
    """The distance to equal tokens in the norm sqrt(|.|_1 |.|_inf) of V45."""
    off = (x - x.mean(-2, keepdim=True)).abs()
    return (off.sum(-2).amax(-1) * off.sum(-1).amax(-1)).sqrt()


def _token_cosine(x):
    n, u = x.shape[-2], torch.nn.functional.normalize(x, dim=-1)
    return ((u.sum(-2).square().sum(-1) - n) / (n * (n - 1))).item()


def _input_cosine(states):
    return torch.cosine_similarity(states[-1], states[0], dim=-1).mean().item()


def _set(tower, **maps):
    """The given maps in every layer."""
    with torch.no_grad():
        for block in tower.blocks:
            for name, value in maps.items():
                getattr(block.attention, name).copy_(value)
    return tower


@torch.no_grad()
def test_v45_without_skip_a_layer_cubes_the_residual():
    n, d = 16, 8
    off, centre, w = _points(n, d, 1), _points(1, d, 2), _points(d, d, 3)
    eye = torch.eye(d, dtype=torch.float64)
    no_skip = Stabilisers(norm="none", residual=False)
    tower = random_tower(d, 3, mlp="none", stabilisers=no_skip)
    _set(tower, query=w, key=eye, value=eye, output=eye)
    sizes = torch.logspace(-3, -1, 9, dtype=torch.float64)
    layers = [tower.states(centre + size * off)[1] for size in sizes]
    # the mean over the tokens removes the part that is linear in the residual
    after = torch.stack([_residual(x) for x in layers]).log()
    clock = sizes.log() - sizes.log().mean()
    slope = (clock @ after / clock.square().sum()).item()
    assert abs(slope - 3) < 0.05
    collapse = [_residual(x).item() for x in tower.states(0.3 * off)]
    assert collapse[2] < 1e-3 * collapse[0]
    assert collapse[3] < 1e-8 * collapse[0]


@torch.no_grad()
def test_v46_a_skip_keeps_the_residual_and_halves_it_relatively():
    n, d = 16, 8
    eye = torch.eye(d, dtype=torch.float64)
    tower = random_tower(d, 10, mlp="none", stabilisers=Stabilisers(norm="none"))
    _set(tower, value=eye, output=eye, query=0.3 * eye, key=0.3 * eye)
    states = tower.states(_points(1, d, 2) + 0.3 * _points(n, d, 1))
    absolute = torch.stack([_residual(x) for x in states])
    assert (absolute[5:] / absolute[5] - 1).abs().max() < 0.01
    relative = absolute / torch.stack([x.mean(0).norm() for x in states])
    assert ((relative[1:] / relative[:-1])[5:] - 0.5).abs().max() < 0.005


GRID = [  # mlp, residual, norm: token cosines at 1, 6, 24; rms norm at 24; cosine with the input
    ("none", True, "none", (0.019, 0.39, 1.0), 615, 0.0),
    ("none", True, "pre", (0.018, 0.29, 0.93), 4.19, 0.21),
    ("none", True, "post", (0.019, 0.38, 1.0), 1.0, 0.0),
    ("none", False, "none", (0.37, 1.0, 1.0), 0.11, 0.0),
    ("none", False, "pre", (0.37, 1.0, 1.0), 1.04, 0.0),
    ("none", False, "post", (0.37, 1.0, 1.0), 1.0, 0.0),
    ("relu", True, "none", (0.18, 0.66, 1.0), 1.46e7, 0.01),
    ("relu", True, "pre", (0.18, 0.50, 0.73), 5.57, 0.20),
    ("relu", True, "post", (0.18, 0.92, 1.0), 1.0, 0.02),
    ("relu", False, "none", (0.57, 1.0, 1.0), 0.10, 0.0),
    ("relu", False, "pre", (0.57, 1.0, 1.0), 1.04, 0.0),
    ("relu", False, "post", (0.57, 1.0, 1.0), 1.0, 0.0),
]


@torch.no_grad()
@pytest.mark.parametrize(("mlp", "residual", "norm", "cosines", "size", "drift"), GRID)
def test_v47_the_two_by_three_grid(mlp, residual, norm, cosines, size, drift):
    """Means over 3 seeds against one run: each number within 0.05 and two of its spreads."""
    rows, stabilisers = [], Stabilisers(norm=norm, residual=residual)
    for seed in range(3):
        tower = random_tower(64, 24, mlp=mlp, stabilisers=stabilisers, seed=seed)
        states = tower.states(_points(64, 64, seed))
        tokens = [_token_cosine(states[k]) for k in (1, 6, 24)]
        rms = states[-1].square().mean().log() / 2
        rows.append([*tokens, _input_cosine(states), float(rms)])
    found = torch.tensor(rows, dtype=torch.float64)
    spread = found.std(0)
    wanted = torch.tensor([*cosines, drift, math.log(size)], dtype=torch.float64)
    allowed = torch.tensor([0.05] * 4 + [math.log(2)], dtype=torch.float64) + 2 * spread
    assert ((found.mean(0) - wanted).abs() < allowed).all(), (found.mean(0), wanted, allowed)


@torch.no_grad()
@pytest.mark.parametrize("norm", ["none", "post:kind=rms", "post"])
@pytest.mark.parametrize("sharpness", [1.0, 3.0])
@pytest.mark.parametrize("shared", [False, True])
def test_v47b_a_norm_alone_only_delays_collapse(norm, sharpness, shared):
    n = d = 32
    stabilisers = Stabilisers(norm=norm, residual=False, shared=shared)
    tower = random_tower(d, 64, mlp="none", stabilisers=stabilisers)
    for block in tower.blocks:
        for name in ("query", "key"):
            getattr(block.attention, name).mul_(sharpness)
    end = tower.states(_points(n, d))[-1]
    assert (end - end.mean(0)).norm() / end.norm().clamp(min=1e-300) < 1e-10


def _mlp_tower(d, depth, norm, seed=0, scale=1.0):
    stabilisers = Stabilisers(norm=norm, residual_scale=scale)
    return random_tower(
        d,
        depth,
        attention="none",
        mlp="relu",
        stabilisers=stabilisers,
        seed=seed,
    )


@torch.no_grad()
def test_v48_norm_and_drift_laws():
    """A branch as strong as its input, at depth 6: means over 4 seeds."""
    d, depth = 128, 6
    law = {
        ("none", 1.0): (64, 0.125),
        ("pre", 1.0): (7, 7**-0.5),
        ("post", 1.0): (1, 0.125),
        ("none", "1/sqrt(L)"): ((1 + 1 / 6) ** 6, (1 + 1 / 6) ** -3),
    }
    for (norm, scale), (growth, cosine) in law.items():
        ends = [
            _mlp_tower(d, depth, norm, seed, scale).states(_points(16, d, seed))
            for seed in range(4)
        ]
        grown = [(s[-1].square().sum() / s[0].square().sum()).item() for s in ends]
        assert abs(sum(grown) / 4 / growth - 1) < 0.1, (norm, scale)
        assert abs(sum(map(_input_cosine, ends)) / 4 / cosine - 1) < 0.1, (norm, scale)


@torch.no_grad()
@pytest.mark.slow
def test_v48_at_depth_24():
    for norm, scale, growth, cosine in (
        ("pre", 1.0, 25, 0.2),
        ("none", "1/sqrt(L)", (25 / 24) ** 24, (25 / 24) ** -12),
    ):
        ends = [
            _mlp_tower(512, 24, norm, seed, scale).states(_points(16, 512, seed))
            for seed in range(3)
        ]
        grown = [(s[-1].square().sum() / s[0].square().sum()).item() for s in ends]
        assert abs(sum(grown) / 3 / growth - 1) < 0.1
        assert abs(sum(map(_input_cosine, ends)) / 3 / cosine - 1) < 0.1


def _gradients(depth, norm, scale=1.0):
    """Gradient norms of the states and of the outer weights, of a random linear loss."""
    tower = _mlp_tower(128, depth, norm, scale=scale)
    states = tower.states(_points(32, 128))
    loss = (tower.leave(states[-1]) * _points(32, 128, 1)).sum()
    weights = [p for name, p in tower.named_parameters() if name.endswith("mlp.outer")]
    slopes = torch.autograd.grad(loss, [*states[1:], *weights])
    norms = torch.stack([slope.norm() for slope in slopes])
    return norms[:depth], norms[depth:]


def test_v49_gradient_scales():
    depths = torch.tensor([4.0, 8.0, 16.0, 32.0], dtype=torch.float64)

    def last(norm, scale=1.0):
        return torch.stack([_gradients(int(depth), norm, scale)[1][-1] for depth in depths])

    activations, _ = _gradients(24, "none")
    assert abs((activations[0] / activations[-1]).log2() / 11.5 - 1) < 0.1  # 2^{(24 - 1)/2}
    clock = depths.log() - depths.log().mean()
    slope = (clock @ last("pre").log() / clock.square().sum()).item()
    assert abs(slope + 0.5) < 0.08
    flat = last("post")
    assert (flat / flat.mean() - 1).abs().max() < 0.1
    # a branch times 1/sqrt(L) has weights that count 1/sqrt(L)
    scaled = last("none", "1/sqrt(L)") * depths.sqrt()
    assert (scaled / scaled.mean() - 1).abs().max() < 0.15


def _uniform_tower(d, depth, n, scale, seed):
    """The Gram matrix of orthogonal tokens after layers of uniform attention and random values."""
    zero, eye = torch.zeros(d, d, dtype=torch.float64), torch.eye(d, dtype=torch.float64)
    stabilisers = Stabilisers(norm="none", residual_scale=scale)
    tower = random_tower(d, depth, mlp="none", stabilisers=stabilisers, seed=seed)
    end = _set(tower, query=zero, output=eye).states(eye[:n])[-1]
    return end @ end.mT


@torch.no_grad()
@pytest.mark.parametrize(
    ("d", "depth", "seeds"), [(192, 8, 6), pytest.param(2048, 32, 1, marks=pytest.mark.slow)]
)
def test_v50_residual_scale_one_over_root_l(d, depth, seeds):
    n = 16
    gram = sum(_uniform_tower(d, depth, n, "1/sqrt(L)", seed) for seed in range(seeds)) / seeds
    on, off = gram.diagonal().mean(), (gram.sum() - gram.trace()) / (n * (n - 1))
    total = (1 + 1 / depth) ** depth
    # the mean token grows by the factor `total`, with a relative spread of 2/sqrt(d)
    spread = 2 / math.sqrt(d * seeds) * total / (total - 1)
    assert abs(on / (1 + (total - 1) / n) - 1) < 0.1
    assert abs(off / ((total - 1) / n) - 1) < 3 * spread
    limit = (math.e - 1) / (n + math.e - 1)
    assert abs(off / on / limit - 1) < 0.1 + 3 * spread
    bare = _uniform_tower(d, depth, n, 1.0, 0)
    assert abs(math.log(bare.diagonal().mean() / (1 + (2**depth - 1) / n))) < math.log(2)
    assert bare.sum() / bare.trace() / n > 1 - 2 * n / 2**depth


@torch.no_grad()
def test_v52_the_map_without_skip_has_no_limit():
    """Layers x <- dt F(x) to time 1 vanish faster and faster; x <- x + dt F(x) converges."""
    x, d = _points(24, 16), 16
    ends, sizes = [], []
    for steps in (10, 20, 40):
        alone, skip = (
            random_tower(d, steps, mlp="none", stabilisers=stabilisers)
            for stabilisers in (
                Stabilisers(norm="none", residual=False, shared=True),
                Stabilisers(norm="none", residual_scale="1/L", shared=True),
            )
        )
        value = alone.projections(0).value
        value.div_(steps)  # a view of the parameter
        sizes.append(alone.states(x)[-1].norm().log10().item())
        ends.append(skip.states(x)[-1])
    assert sizes[0] < -5
    assert sizes[1] < 2 * sizes[0]
    assert sizes[2] < 2 * sizes[1]
    ratio = (ends[0] - ends[1]).norm() / (ends[1] - ends[2]).norm()
    assert 1.7 < ratio < 2.3  # order 1
    with pytest.raises(InvalidValue, match="no step to scale"):
        Stabilisers(residual=False, step=0.1)
