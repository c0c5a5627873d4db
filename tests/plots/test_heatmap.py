"""The attention matrix, read back from the image."""

from typing import Any

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch
from vlasov.plots import attention_heatmap


@pytest.fixture
def matrix(generator):
    return torch.rand(6, 6, generator=generator, dtype=torch.float64).softmax(-1)


def test_row_i_is_what_token_i_sees(matrix, figure):
    ax = figure.add_subplot()
    assert attention_heatmap(matrix, ax) is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), matrix.numpy())
    assert image.get_clim() == (0.0, float(matrix.max()))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key $j$", "query $i$")
    assert ax.yaxis_inverted()


def test_weights_of_both_signs_are_white_at_zero(matrix, figure):
    ax: Any = attention_heatmap(matrix - 0.3, figure.add_subplot())
    low, high = ax.images[0].get_clim()
    assert low == -high < 0
    assert min(ax.images[0].to_rgba(0.0)[:3]) > 0.95


def test_tokens_are_named_on_both_sides(matrix, figure):
    ax: Any = attention_heatmap(matrix, figure.add_subplot(), tokens=list("abcdef"))
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [label.get_text() for label in labels] == list("abcdef")


def test_names_that_do_not_fit_are_thinned(figure):
    words = [f"word {i}" for i in range(40)]
    ax: Any = attention_heatmap(torch.eye(40), figure.add_subplot(), tokens=words)
    assert [label.get_text() for label in ax.get_yticklabels()] == words[::3]
    assert ax.get_yticks().tolist() == list(range(0, 40, 3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_g13_half_precision(matrix, figure, dtype):
    half = matrix.to(dtype)
    ax: Any = attention_heatmap(half, figure.add_subplot())
    np.testing.assert_array_equal(ax.images[0].get_array(), half.double().numpy())


def test_a_matrix_of_zeros(figure):
    attention_heatmap(torch.zeros(3, 3), figure.add_subplot())
    figure.canvas.draw()


@pytest.mark.parametrize("shape", [(2, 6, 6), (4, 6), (6,)])
def test_anything_but_one_square_matrix_is_refused(figure, shape):
    with pytest.raises(ShapeMismatch, match="one square matrix but got shape"):
        attention_heatmap(torch.zeros(shape), figure.add_subplot())


def test_a_wrong_number_of_names_is_refused(matrix, figure):
    with pytest.raises(ShapeMismatch, match="6 tokens needs 6 names but got 2"):
        attention_heatmap(matrix, figure.add_subplot(), tokens=["a", "b"])


def test_weights_that_are_not_finite_are_refused(matrix, figure):
    matrix[2, 3] = torch.nan
    with pytest.raises(NotFinite, match="1 of 36 are NaN or infinite"):
        attention_heatmap(matrix, figure.add_subplot())


def test_3d_axes_are_refused(matrix, figure):
    with pytest.raises(InvalidValue, match="A heat map needs flat axes"):
        attention_heatmap(matrix, figure.add_subplot(projection="3d"))
