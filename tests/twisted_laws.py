"""Equations and weighted clouds on which the twisted metric is tested."""

import torch

from vlasov.cloud import Cloud
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections

DOUBLE = torch.float64


def equation(a, value):
    """Softmax attention with K^T Q = a."""
    a, value = (torch.as_tensor(m, dtype=DOUBLE) for m in (a, value))
    eye = torch.eye(len(a), dtype=DOUBLE)
    return TransformerPDE("softmax", Projections(query=a, key=eye, value=value), beta=1.0)


def weighted_cloud(n, d, generator):
    """Gaussian tokens with random weights."""
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE) + 0.1
    return Cloud(x, w / w.sum())
