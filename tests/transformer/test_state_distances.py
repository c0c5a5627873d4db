"""Distances between stacks of states: translations, relabelled tokens, parts of a large cloud."""

import pytest
import torch

import vlasov as vl
from vlasov.errors import ShapeMismatch
from vlasov.transformer.diagnostics import token_norm
from vlasov.transformer.state_distances import consecutive_distances, state_distances


@pytest.fixture
def x(generator):
    return torch.randn(6, 3, generator=generator, dtype=torch.float64)


def test_a_translated_cloud_is_as_far_as_it_was_moved(x):
    shift = torch.tensor([3.0, 4.0, 0.0], dtype=torch.float64)
    found = consecutive_distances([x, x + shift, x + shift])
    assert found.w2[1:].tolist() == pytest.approx([5.0, 0.0], abs=1e-7)
    assert found.w2[0].isnan()
    size = token_norm(x).item() * 3**0.5
    assert found.relative[1].item() == pytest.approx(5.0 / size)
    assert found.cosine[2].item() == pytest.approx(1.0)


def test_w2_forgets_names_of_tokens_and_the_cosine_does_not(x):
    found = state_distances([x], [x.flip(0)])
    assert found.w2.item() == pytest.approx(0.0, abs=1e-7)
    assert found.cosine.item() < 0.9


def test_padding_is_left_out_and_batches_are_averaged(x, generator):
    y = torch.randn(2, 8, 3, generator=generator, dtype=torch.float64)
    z = torch.randn(2, 8, 3, generator=generator, dtype=torch.float64)
    log_w = torch.full((2, 8), -torch.inf, dtype=torch.float64)
    log_w[0], log_w[1, :5] = -torch.tensor(8.0).double().log(), -torch.tensor(5.0).double().log()
    found = state_distances([y], [z], log_w)
    expected = (vl.wasserstein(y[0], z[0]) + vl.wasserstein(y[1, :5], z[1, :5])) / 2
    torch.testing.assert_close(found.w2[0], expected)


def test_a_large_cloud_is_compared_by_a_part(generator):
    y = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    found = state_distances([y + 2.0], [y], most=10)
    assert found.w2.item() == pytest.approx(8**0.5)


def test_states_that_are_not_finite_have_no_distance(x):
    found = state_distances([x, x / 0], [x, x])
    assert found.w2[0] == pytest.approx(0.0, abs=1e-7)
    assert found.w2[1].isnan()
    assert found.cosine[1].isnan()


def test_stacks_of_different_depth_are_refused(x):
    with pytest.raises(ShapeMismatch, match="have 1 and 2"):
        state_distances([x], [x, x])
