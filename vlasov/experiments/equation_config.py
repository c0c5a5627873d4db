"""The settings of an equation and of a Gaussian law: what every experiment has in common."""

__all__ = ["EquationConfig", "gaussian_law"]

from dataclasses import dataclass

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.settings import option
from vlasov.gaussian import Gaussian


@dataclass(frozen=True)
class EquationConfig:
    """Attention, maps and local terms, flat, in words and numbers; and where numbers live."""

    d: int = option(3, "Width of a token.")
    attention: str = option(
        "softmax",
        "Attention variant: softmax, l2, sinkhorn:eps=1, sigmoid:bias=0, linear, unnormalised, "
        "hardmax; one for each head joined by +.",
    )
    heads: int = option(1, "Number of heads.")
    query: str = option(
        "identity",
        "Query map: identity, negative-identity, a factor of the identity, a matrix as "
        "1,0;0,1, random, or a file (.npy, .pt).",
    )
    key: str = option("identity", "Key map, as --query.")
    value: str = option("identity", "Value map, as --query.")
    key_width: int | None = option(None, "Rows of random query and key maps. Default: the width.")
    scale: float = option(1.0, "Random maps have entries of N(0, scale^2 / d).")
    projections: str | None = option(
        None,
        "All maps from one .npz, .pt or .safetensors file: query, key, value, query_bias, ..., of "
        "shape (k, d), (heads, k, d) or (layers, heads, k, d).",
    )
    layer_time: float = option(1.0, "Time spent in one layer of maps that change with depth.")
    interpolation: str = option("constant", "Maps between layers: constant or linear.")
    redraw: float | None = option(
        None, "Draw new random maps each time this much time has passed."
    )
    beta: float | None = option(
        None,
        "Inverse temperature of the scores, of any sign. Default: 1; 9 on the sphere, "
        "1/sqrt(head width) with a checkpoint.",
    )
    mask: str | None = option(None, "Who sees whom: causal, window:width=8, alibi:slope=0.5.")
    terms: tuple[str, ...] = option(
        (), "Local terms: decay:rate=1, mlp:hidden=16, momentum:damping=1; repeat for more."
    )
    noise: str | None = option(
        None, "Brownian noise: independent:diffusion=0.5 or common:diffusion=0.5."
    )
    mean: tuple[float, ...] = option((), "Mean of a gaussian start, as 0,0. Default: zero.")
    cov: tuple[float, ...] = option(
        (),
        "Covariance of a gaussian start: its diagonal, or all entries row by row. "
        "Default: identity.",
    )
    seed: int = option(0, "Seed of every random number.")
    device: str = option("cpu", "Device: cpu, cuda, cuda:0, ...")
    dtype: str | None = option(
        None,
        "Number format: float64, float32, float16, bfloat16. Default: float64; float32 with a "
        "checkpoint.",
    )


def gaussian_law(config: EquationConfig, *, std: float = 1.0) -> Gaussian:
    """The law N(mean, cov) of the settings, in fp64; by default N(0, std^2).

    Raises:
        InvalidValue: for a mean or a covariance of another width.
        NotPositive: for a covariance that is none.
    """
    d = config.d
    mean = torch.zeros(d, dtype=torch.float64)
    if config.mean:
        mean = _entries(config.mean, d, name="mean")
    if not config.cov:
        return Gaussian(mean, std**2 * torch.eye(d, dtype=torch.float64))
    if len(config.cov) == d * d:
        return Gaussian(mean, torch.tensor(config.cov, dtype=torch.float64).reshape(d, d))
    return Gaussian(mean, torch.diag(_entries(config.cov, d, name="cov")))


def _entries(values: tuple[float, ...], d: int, *, name: str) -> torch.Tensor:
    if len(values) != d:
        also = f" or {d * d}" if name == "cov" else ""
        raise InvalidValue(
            f"'{name}' needs {d}{also} numbers for tokens of width {d} but got {len(values)}."
        )
    return torch.tensor(values, dtype=torch.float64)
