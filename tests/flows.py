"""Equations and clouds that several tests of whole runs share."""

__all__ = ["circle", "no_attention", "slope", "sphere_pde"]

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import vlasov as vl


def sphere_pde(attention: str, beta: float, **parts: Any) -> vl.TransformerPDE:
    """A flow on the unit sphere: SA for softmax, USA for unnormalised attention."""
    return vl.TransformerPDE(attention=attention, beta=beta, geometry="sphere", **parts)


def no_attention(d: int = 2, **parts: Any) -> vl.TransformerPDE:
    """Local terms and noise alone: the value map is zero."""
    eye = torch.eye(d, dtype=torch.float64)
    maps = vl.Projections(query=eye, key=eye, value=0 * eye)
    return vl.TransformerPDE(projections=maps, **parts)


def circle(angles: Any) -> vl.Cloud:
    """Tokens on the unit circle."""
    angles = torch.as_tensor(angles, dtype=torch.float64)
    return vl.Cloud(torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1))


def slope(x: npt.ArrayLike | Tensor, y: npt.ArrayLike | Tensor) -> float:
    """Slope of the least-squares line."""
    return float(np.polyfit(np.asarray(x), np.asarray(y), 1)[0])
