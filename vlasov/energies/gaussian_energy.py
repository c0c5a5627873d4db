"""The energy of a Gaussian law under an equation that has one."""

__all__ = ["gaussian_energy", "seen_by_heads"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.energies.gaussian_functionals import GaussianView, gaussian_functional_of
from vlasov.energies.gradient_flow import gradient_flow, members_of
from vlasov.errors import NotFinite, Unsupported
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.pde.closure import require_flat
from vlasov.projections import Projections


def gaussian_energy(pde: TransformerPDE, law: Gaussian) -> Float[Tensor, "*batch"]:
    """The energy F of a Gaussian law, by `vlasov.energies.gaussian_functionals`.

    Raises:
        Unsupported: if the equation has no energy, or one without a closed form.
        NotFinite: if the energy is infinite, as for softmax where rho(Sigma A) >= 1.
    """
    require_flat(pde.geometry)
    flow = gradient_flow(pde, law)
    view = seen_by_heads(flow.projections, law, beta=flow.beta)
    total = torch.zeros_like(law.mean[..., 0])
    for head, member in enumerate(members_of(pde.attention, heads=len(flow.functionals))):
        functional = gaussian_functional_of(member)
        if functional is None:
            raise Unsupported(
                f"No closed form is known for the energy of a Gaussian law under '{member.name}'. "
                "Use a cloud, such as `Cloud.hermite`."
            )
        total = total + flow.structure.signs[head] * functional(view)[..., head]
    if not bool(total.isfinite().all()):
        raise _infinite(view)
    return total


def seen_by_heads(projections: Projections, law: Gaussian, *, beta: float) -> GaussianView:
    """The law of the queries and of the keys of each head."""
    maps = projections.maps()

    def image(name: str) -> Gaussian:
        columns = torch.cat([law.factor, law.mean.unsqueeze(-1)], -1).unsqueeze(-3)
        moved = maps[name] @ columns
        return Gaussian.of_factor(moved[..., -1], moved[..., :-1])

    return GaussianView(image("query"), image("key"), beta)


def _infinite(view: GaussianView) -> NotFinite:
    radius = float(torch.linalg.eigvalsh(view.scores().detach()).abs().max())
    return NotFinite(
        "The energy of this Gaussian law is infinite or overflows: the mean of exp(x.Ay) needs "
        f"rho(Sigma A) < 1, which is {radius:.6g} here. Narrow the law or lower |beta|."
    )
