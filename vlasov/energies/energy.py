r"""The energy that an equation descends, and the rate at which it does.

.. math:: \frac{dF}{dt} = -D, \qquad D = \int m(x) \langle B^{-1}\Gamma, \Gamma\rangle d\mu \ge 0

for constant maps with :math:`A = \beta K^T Q` symmetric and :math:`V = \sigma B A`, on R^d, or on
the sphere with B a multiple of the identity. Energies carry the beta of A; those of the literature
that divide by it are :math:`-F/\beta` here.

Source: spec section 3; prediction V07 for the sphere.
"""

__all__ = ["Dissipation", "Energy", "cloud_views", "dissipation", "energy"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.energies.functionals import View
from vlasov.energies.gaussian_energy import gaussian_energy
from vlasov.energies.gradient_flow import GradientFlow, gradient_flow, would_be_flow
from vlasov.errors import InvalidValue, NotFinite
from vlasov.gaussian import Gaussian
from vlasov.observables import Observable
from vlasov.pde import TransformerPDE


@dataclass(frozen=True, eq=False)
class Energy(Observable):
    """The energy F of an equation, as an observable.

    With `probe` it is the functional of the attention, whether the equation descends it or not.
    """

    name: ClassVar[str] = "energy"
    pde: TransformerPDE
    probe: bool = False

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The sum of the energies of the heads."""
        flow = (would_be_flow if self.probe else gradient_flow)(self.pde, cloud)
        values = [
            sign * functional.value(view)
            for sign, functional, view in zip(
                flow.structure.signs, flow.functionals, cloud_views(flow, cloud), strict=True
            )
        ]
        return torch.cat(values, dim=-1).sum(-1)


@dataclass(frozen=True, eq=False)
class Dissipation(Observable):
    """The rate D at which the energy of an equation falls, as an observable.

    With `probe` it is the squared speed in the metric of the first head with B = I.
    """

    name: ClassVar[str] = "dissipation"
    pde: TransformerPDE
    probe: bool = False

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The squared speed of the cloud in the metric of its equation."""
        flow = (would_be_flow if self.probe else gradient_flow)(self.pde, cloud)
        # all heads share one metric: with several of them it is constant
        metric = flow.functionals[0].log_metric(cloud_views(flow, cloud)[0]).squeeze(-2)
        speed = self.pde.particle_field(cloud)(0.0, cloud.points)
        squares = (speed @ flow.structure.inverse.mT * speed).sum(-1)
        return (torch.exp(metric + cloud.log_weights) * squares).sum(-1)


def cloud_views(flow: GradientFlow, cloud: Cloud) -> list[View]:
    """The cloud as each head sees it, with one head axis."""
    q, k, _ = flow.projections.project(cloud.points)
    log_w = cloud.log_weights.to(q)[..., None, :]
    heads = range(q.shape[-3])
    return [
        View(q[..., h : h + 1, :, :], k[..., h : h + 1, :, :], log_w, flow.beta, flow.engine)
        for h in heads
    ]


def energy(pde: TransformerPDE, law: Cloud | Gaussian) -> Float[Tensor, "*batch"]:
    """The energy F that the equation descends; of a cloud in memory of order n.

    Raises:
        Unsupported: if the equation has none, naming the condition that fails; for a Gaussian
            also where no closed form is known.
        NotOnGeometry: if the cloud is not on the geometry.
        NotFinite: if the energy is infinite or exceeds the largest number.
        InvalidValue: for anything but a cloud or a Gaussian.

    Example:
        >>> round(energy(TransformerPDE(), Cloud([[0.0], [1.0]])).item(), 6)
        -0.714785
        >>> round(energy(TransformerPDE("linear"), Gaussian(0.0, 2.0)).item(), 6)
        -1.0
    """
    if isinstance(law, Gaussian):
        return gaussian_energy(pde, law)
    _require_cloud(law)
    pde.geometry.check(law.points)
    value = Energy(pde)(law)
    if not bool(value.isfinite().all()):
        raise NotFinite(
            "The energy of this cloud exceeds the largest number: its exponents are scores of "
            "hundreds. Lower beta or the size of the maps or tokens."
        )
    return value


def _require_cloud(law: object) -> None:
    if not isinstance(law, Cloud):
        raise InvalidValue(
            f"An energy is of a Cloud or a Gaussian but got {type(law).__name__}; build one, as "
            "in `vl.Cloud(points)`."
        )


def dissipation(pde: TransformerPDE, cloud: Cloud) -> Float[Tensor, "*batch"]:
    """The rate D >= 0 at which the energy falls: ``dF/dt = -D``.

    Raises:
        Unsupported: if the equation has no energy, naming the condition that fails.
        NotOnGeometry: if the cloud is not on the geometry.

    Example:
        >>> round(dissipation(TransformerPDE(), Cloud([[1.0]])).item(), 6)
        2.718282
    """
    pde.geometry.check(cloud.points)
    return Dissipation(pde)(cloud)
