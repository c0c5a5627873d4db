"""The gated perceptron against its formula."""

import pytest
import torch
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import ShapeMismatch
from vlasov.pde.gated import GatedPerceptron


def _term(generator, d=3, m=5):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return GatedPerceptron(
        draw(m, d), draw(d, m), draw(m), draw(d), gate=draw(m, d), gate_bias=draw(m)
    )


def test_it_moves_tokens_by_its_formula(generator):
    term = _term(generator)
    cloud = vl.Cloud(torch.randn(4, 3, generator=generator, dtype=torch.float64))
    x, bare = cloud.points, vl.velocity(vl.TransformerPDE(), cloud)
    gate = x @ term.gate.mT + term.gate_bias
    hidden = gate / (1 + (-gate).exp()) * (x @ term.inner.mT + term.inner_bias)
    wanted = bare + hidden @ term.outer.mT + term.outer_bias
    assert_close(vl.velocity(vl.TransformerPDE(terms=term), cloud), wanted)


def test_layers_that_do_not_fit_are_refused(generator):
    term = _term(generator)
    with pytest.raises(ShapeMismatch, match="inner and gate"):
        GatedPerceptron(term.inner, term.outer, None, None, gate=term.gate[:, :2])
    with pytest.raises(ShapeMismatch, match="width 3 but the cloud has width 2"):
        term.bind(torch.zeros(4, 2, dtype=torch.float64))
