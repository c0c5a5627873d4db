"""The equation of mean and covariance written out plainly, for comparison."""

__all__ = ["integrated", "normal", "one_head", "positive", "rates", "rotation"]

import math

import numpy as np
import scipy.linalg as sla
import torch
from scipy.integrate import solve_ivp

import vlasov as vl


def normal(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def positive(d: int, seed: int, rank: int | None = None) -> torch.Tensor:
    root = normal(d, rank or d, seed=seed)
    return root @ root.mT / d


def one_head(
    attention: str, value: torch.Tensor, score: torch.Tensor, key: torch.Tensor | None = None
) -> vl.TransformerPDE:
    """An equation with these V and A = K^T Q, for an invertible K (the identity by default)."""
    key = torch.eye(score.shape[-1], dtype=torch.float64) if key is None else key
    maps = vl.Projections(torch.linalg.solve(key.mT, score), key, value)
    return vl.TransformerPDE(attention, maps)


def rates(
    attention: str, maps: dict[str, np.ndarray], mean: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The velocities of mean and factor of one head, row by row of the table of spec 2.1."""
    v, q, k = maps["value"], maps["query"], maps["key"]
    a, squares, eye, cov = k.T @ q, k.T @ k, np.eye(len(mean)), factor @ factor.T
    name, _, eps = attention.partition(":eps=")
    if name == "softmax":
        return v @ (eye + cov @ a) @ mean, v @ cov @ a @ factor
    if name == "l2":
        inverse = np.linalg.inv(eye + 2 * cov @ squares)
        return v @ inverse @ (eye + 2 * cov @ a) @ mean, 2 * v @ inverse @ cov @ a @ factor
    if name == "linear":
        moment = cov + np.outer(mean, mean)
        return v @ moment @ a @ mean, v @ moment @ a @ factor
    e = float(eps)
    u, s, wt = np.linalg.svd(factor.T @ a @ factor / e)
    return v @ mean / e, v @ factor @ (u * (2 * s / (1 + np.sqrt(1 + 4 * s**2)))) @ wt / e


def integrated(
    pde: vl.TransformerPDE, mean: torch.Tensor, cov: torch.Tensor, t: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and covariance at time t by a high-order solver."""
    d = mean.shape[-1]
    attention = (
        "sinkhorn:eps=" + str(pde.attention.eps)
        if pde.attention.name == "sinkhorn"
        else (pde.attention.name)
    )
    maps = {name: one[0].numpy() for name, one in pde.projections.maps().items()}
    maps["query"] = pde.beta * maps["query"]
    if attention == "l2":
        maps["query"], maps["key"] = (
            maps["query"] / math.sqrt(pde.beta),
            maps["key"] * math.sqrt(pde.beta),
        )

    def field(_: float, state: np.ndarray) -> np.ndarray:
        speed, spread = rates(attention, maps, state[:d], state[d:].reshape(d, d))
        return np.concatenate([speed, spread.ravel()])

    start = np.concatenate([mean.numpy(), vl.Gaussian(mean, cov).factor.numpy().ravel()])
    end = solve_ivp(field, (0.0, t), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    factor = torch.from_numpy(end[d:].reshape(d, d))
    return torch.from_numpy(end[:d]), factor @ factor.mT


def rotation(d: int, seed: int) -> torch.Tensor:
    """A random orthogonal matrix."""
    return torch.from_numpy(sla.qr(normal(d, d, seed=seed).numpy())[0])
