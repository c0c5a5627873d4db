"""The systems of a phase diagram: one equation and one covariance for each set of parameters."""

__all__ = ["Systems", "built", "drawn"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov.attention import L2, HeadMixture
from vlasov.errors import InvalidValue
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections

Values = Mapping[str, Float[Tensor, " cells"]]
Maps = Mapping[str, Tensor]

_OF_A_PLANE = ("a2", "skew", "v2", "angle", "anisotropy", "tilt")


@dataclass(frozen=True, eq=False)
class Systems:
    """Maps and laws side by side.

    Attributes:
        maps: query, key, value and biases, ``(cells, h, ...)``.
        mean: the mean that all start from.
        cov: the covariances at the start.
        diffusion: the noise of each; None where it is that of the equation.
    """

    maps: Maps
    mean: Float[Tensor, " d"]
    cov: Float[Tensor, "cells d d"]
    diffusion: Float[Tensor, " cells"] | None = None

    def __len__(self) -> int:
        return len(self.cov)

    def part(self, chosen: Int[Tensor, " part"]) -> "Systems":
        """Some of the systems."""
        maps = {name: one[chosen] for name, one in self.maps.items()}
        diffusion = None if self.diffusion is None else self.diffusion[chosen]
        return Systems(maps, self.mean, self.cov[chosen], diffusion)

    def law(self) -> Gaussian:
        """The laws at the start, as one batch."""
        return Gaussian(self.mean, self.cov)

    def equation(self, pde: TransformerPDE) -> TransformerPDE:
        """An equation with the maps and the noise of these systems, whose noise is the same."""
        moved = pde.replace(projections=Projections.of_maps(self.maps))
        if self.diffusion is None:
            return moved
        strength = float(self.diffusion[0])
        noise = f"independent:diffusion={strength!r}" if strength > 0 else None
        return moved.replace(noise=noise)


def built(pde: TransformerPDE, base: Maps, law: Gaussian, values: Values) -> Systems:
    """The systems for values of the parameters, in place of what equation and law have there.

    A = K^T Q has the eigenvalues a1, a2, ... on the axes, with K = I; V those of v1, v2, ... on
    axes turned by an angle; the covariance keeps its trace, times the scale.

    Raises:
        InvalidValue: where parameters of A meet a key map other than the identity, those of a
            plane a token of width 1, or beta < 0 meets L2 attention.
    """
    for name in _OF_A_PLANE if law.d == 1 else ():
        if name in values:
            raise InvalidValue(f"The parameter '{name}' needs tokens of width 2. Raise --d.")
    cells = len(next(iter(values.values())))
    maps = {name: one.expand(cells, *one.shape).clone() for name, one in base.items()}
    if {"a1", "a2", "skew"} & values.keys():
        maps["query"] = _query(maps, values)
    value = _diagonal(maps["value"], values, "v1", "v2")
    turn = _turn(values.get("angle"), law.d)
    maps["value"] = turn @ value @ turn.mT
    if "beta" in values:
        maps = scaled(maps, pde, values["beta"][:, None, None, None])
    return Systems(maps, law.mean, _covariance(law, values, cells), values.get("noise"))


def drawn(  # noqa: PLR0913 - what is drawn, and its shapes
    pde: TransformerPDE,
    *,
    count: int,
    d: int,
    heads: int,
    key_width: int,
    ensemble: str,
    seed: int,
) -> Systems:
    r"""Random systems: Q, K normal with :math:`A / \sqrt d`, :math:`\Sigma(0) = GG^T / d`.

    The ensemble says what V is: ``identity``, ``gram`` (G^T G) or ``normal``, for G normal.

    Source: spec section 4.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator, dtype=torch.float64)

    query, key = normal(heads, key_width, d), normal(heads, key_width, d)
    factor, value = normal(d, d), normal(heads, d, d)
    kinds = {
        "identity": torch.eye(d, dtype=torch.float64).expand_as(value),
        "gram": value.mT @ value,
        "normal": value,
    }
    maps = scaled({"query": query, "key": key, "value": kinds[ensemble]}, pde, 1 / math.sqrt(d))
    return Systems(maps, torch.zeros(d, dtype=torch.float64), factor @ factor.mT / d)


def scaled(maps: Maps, pde: TransformerPDE, beta: float | Tensor) -> dict[str, Tensor]:
    """The maps whose scores are beta times those of the given ones; |Qx - Ky|^2 under L2.

    Raises:
        InvalidValue: for beta < 0 under L2 attention.
    """
    attention = pde.attention
    members = attention.members if isinstance(attention, HeadMixture) else (attention,)
    both = torch.tensor([isinstance(member, L2) for member in members])[:, None, None]
    factor = torch.as_tensor(beta, dtype=torch.float64)
    if bool(both.any()) and bool((factor < 0).any()):
        raise InvalidValue(
            f"Under L2 attention an axis of beta is not negative but goes to "
            f"{float(factor.min()):g}. Begin it at 0, or set --beta."
        )
    root = factor.abs().sqrt()
    scales = {"query": torch.where(both, root, factor), "key": torch.where(both, root, 1.0)}
    grown = dict(maps)
    for name, scale in scales.items():
        grown[name] = maps[name] * scale
        if f"{name}_bias" in maps:
            grown[f"{name}_bias"] = maps[f"{name}_bias"] * scale[..., 0]
    return grown


def _query(maps: Maps, values: Values) -> Tensor:
    key, query = maps["key"], maps["query"]
    if key.shape[-2] != key.shape[-1] or not torch.equal(
        key, torch.eye(key.shape[-1]).to(key).expand_as(key)
    ):
        raise InvalidValue(
            "The parameters a1, a2 and skew set A = K^T Q through Q, with the identity as key "
            "map, but another one is given. Drop --key."
        )
    query = _diagonal(query, values, "a1", "a2").clone()
    if "skew" in values and query.shape[-1] > 1:
        query[..., 0, 1] -= values["skew"][:, None]
        query[..., 1, 0] += values["skew"][:, None]
    return query


def _diagonal(matrix: Tensor, values: Values, first: str, others: str) -> Tensor:
    """The matrix with diagonal entries from the values, the first one apart."""
    changed, d = matrix.clone(), matrix.shape[-1]
    for name, rows in ((first, range(1)), (others, range(1, d))):
        for i in rows if name in values else ():
            changed[..., i, i] = values[name][:, None]
    return changed


def _covariance(law: Gaussian, values: Values, cells: int) -> Tensor:
    cov = law.cov.expand(cells, law.d, law.d)
    if "anisotropy" in values:
        widths = torch.ones(cells, law.d).to(cov)
        widths[:, 0] = values["anisotropy"]
        trace = law.cov.diagonal().sum()
        cov = torch.diag_embed(widths * trace / widths.sum(-1, keepdim=True))
    turn = _turn(values.get("tilt"), law.d).squeeze(-3)
    scale = values["scale"][:, None, None] if "scale" in values else 1.0
    return turn @ cov @ turn.mT * scale


def _turn(degrees: Tensor | None, d: int) -> Tensor:
    """Rotations of the first plane, ``(cells, 1, d, d)``; the identity for no angle."""
    eye = torch.eye(d, dtype=torch.float64)
    if degrees is None or d == 1:
        return eye[None]
    turn = eye.repeat(len(degrees), 1, 1)
    cosine, sine = torch.cos(torch.deg2rad(degrees)), torch.sin(torch.deg2rad(degrees))
    turn[:, 0, 0] = turn[:, 1, 1] = cosine
    turn[:, 1, 0], turn[:, 0, 1] = sine, -sine
    return turn[:, None]
