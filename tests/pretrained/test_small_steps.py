"""A network in smaller steps: what it must be where the flow is known."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, UnknownName, Unsupported
from vlasov.pretrained import limit_distances, small_step_states
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig, pde_of

pytestmark = pytest.mark.usefixtures("unchecked_types")

NORMS = ("none", "pre", "post", "peri", "sphere", "ln-scaling")


def _model(norm: str = "none", **changed: object) -> Transformer:
    settings = {"width": 6, "depth": 3, "heads": 2, "positions": "none"} | changed
    model = Transformer(TransformerConfig(**settings), Stabilisers(norm), seed=1)
    return model.double().requires_grad_(False).eval()


@pytest.fixture
def x(generator: torch.Generator) -> Tensor:
    return torch.randn(7, 6, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("interpolation", ["constant", "linear"])
@pytest.mark.parametrize("norm", NORMS)
def test_unit_steps_are_the_network(x: Tensor, norm: str, interpolation: str) -> None:
    model = _model(norm, causal=True)
    states = small_step_states(model, x, substeps=1, interpolation=interpolation)
    # one rounding of x + (y - x) per map, carried through three layers
    assert_close(states, model.states(x), rtol=0, atol=1e-12)


def test_without_norms_the_limit_is_the_flow_of_the_equation(x: Tensor) -> None:
    """An independent route: the same weights in a Runge-Kutta integration of high order."""
    model = _model(depth=2)
    flow = vl.simulate(pde_of(model), vl.Cloud(x), until=2.0, step=0.05, integrator="rk4")
    exact = flow.final.points
    errors = [
        torch.linalg.vector_norm(small_step_states(model, x, substeps=count)[-1] - exact)
        for count in (32, 64)
    ]
    slopes = torch.stack(errors).log2().diff()
    assert_close(slopes[-1], torch.tensor(-1.0, dtype=torch.float64), rtol=0, atol=0.15)


@pytest.mark.parametrize(("norm", "interpolation"), [("pre", "linear"), ("post", "constant")])
def test_the_order_of_small_steps_is_one(x: Tensor, norm: str, interpolation: str) -> None:
    model = _model(norm, depth=2)
    found = limit_distances(model, x, substeps=(8, 16, 32), interpolation=interpolation)
    assert found.refinement.shape == (2, 3)
    assert_close(found.order[-1], torch.tensor(1.0, dtype=torch.float64), rtol=0, atol=0.15)
    assert found.network.w2[0] == 0
    assert bool((found.network.w2[1:] > found.refinement[-1, 1:]).all())


def test_equal_layers_have_one_limit_whatever_the_interpolation(x: Tensor) -> None:
    model = _model("pre")
    first = model.blocks[0].state_dict()
    for block in model.blocks:
        block.load_state_dict(first)
    constant, linear = (
        small_step_states(model, x, substeps=4, interpolation=kind)
        for kind in ("constant", "linear")
    )
    assert_close(constant, linear, rtol=0, atol=1e-13)


def test_a_network_without_residuals_has_no_limit(x: Tensor) -> None:
    for residual in (False, "mlp"):
        model = Transformer(TransformerConfig(width=6, heads=2), Stabilisers(residual=residual))
        with pytest.raises(Unsupported, match="no continuous limit"):
            small_step_states(model, x, substeps=2)


@pytest.mark.parametrize("substeps", [(), (4,), (4, 4), (8, 4)])
def test_steps_must_become_smaller(x: Tensor, substeps: Sequence[int]) -> None:
    with pytest.raises(InvalidValue, match="increasing order"):
        limit_distances(_model(), x, substeps=substeps)


def test_no_step_and_an_unknown_interpolation_are_refused(x: Tensor) -> None:
    with pytest.raises(InvalidValue, match="one step at least but got 0"):
        small_step_states(_model(), x, substeps=0)
    with pytest.raises(UnknownName, match="interpolation 'line'"):
        small_step_states(_model(), x, substeps=1, interpolation="line")
