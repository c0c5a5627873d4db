"""Denormals are flushed inside and as before outside."""

import pytest
import torch

from vlasov.transformer.denormals import flushed_denormals


def smallest():
    return (torch.tensor(1e-310, dtype=torch.float64) * 1.0).item()


def test_outside_is_as_before():
    assert smallest() == 1e-310
    with flushed_denormals():
        assert smallest() == 0.0
        with flushed_denormals():
            assert smallest() == 0.0
        assert smallest() == 0.0
    assert smallest() == 1e-310


def test_an_error_inside_restores_too():
    with pytest.raises(ValueError, match="inside"), flushed_denormals():
        raise ValueError("inside")
    assert smallest() == 1e-310
