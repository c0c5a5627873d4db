r"""The weights of a Transformer as an equation: layers along time, stabilisers left out.

.. math:: \dot x_i = F^{\text{attention}}_{l(t)}(x)_i + F^{\text{MLP}}_{l(t)}(x_i), \qquad
          l(t) = \lfloor t / \mathrm{duration} \rfloor

Euler with step `duration` and no norm is the network (splitting: one branch after the other).
"""

__all__ = ["AlongDepth", "pde_of"]

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from vlasov._shapes import Points
from vlasov.errors import Unsupported
from vlasov.pde import Term, TransformerPDE
from vlasov.pde.terms import Force
from vlasov.projections import LayeredProjections
from vlasov.transformer.model import Transformer
from vlasov.transformer.positions import token_mask
from vlasov.transformer.sphere_norms import OnSphere


@dataclass(frozen=True, eq=False)
class AlongDepth(Term):
    """Terms that take turns: number l acts on ``[l * duration, (l + 1) * duration)``.

    The first one acts before, the last one after all others.
    """

    name: ClassVar[str] = "along-depth"
    terms: tuple[Term, ...]
    duration: float = 1.0

    def bind(self, x: Points) -> Force:
        """The force of the term whose turn it is; of clouds with their own times, of each.

        Raises:
            Unsupported: for clouds whose times lie in different layers.
        """
        forces = [term.bind(x) for term in self.terms]
        edges = [number * self.duration for number in range(1, len(forces))]

        def force(t: float | Tensor, x: Tensor) -> Tensor:
            return forces[_common_layer(edges, t)](t, x)

        return force


def _common_layer(edges: list[float], t: float | Tensor) -> int:
    times = t.detach().flatten().tolist() if isinstance(t, Tensor) else [t]
    layers = {bisect_right(edges, time) for time in times}
    if len(layers) > 1:
        raise Unsupported(
            f"Terms along depth act on clouds at one time but these are in the layers "
            f"{sorted(layers)}. Use fixed steps, or run the clouds one by one."
        )
    return layers.pop()


def pde_of(
    model: Transformer, *, duration: float = 1.0, mlp: bool = True, linear: bool = False
) -> TransformerPDE:
    """The equation with the weights of the model, which it shares.

    Each layer acts for `duration`, the residual scale that it stands for. Norms and residual
    scales are left out; under the norm ``sphere`` the geometry is that sphere. `linear`
    interpolates the attention maps between the middles of the layers. The masks of the model need
    the tokens in order. Its tensors are the parameters of the model: simulate under
    ``torch.no_grad()`` unless gradients are wanted. Diffusion after the embedding belongs to the
    points at time 0, the first of the states of the model.

    Raises:
        Unsupported: for a model with diffusion in its layers.
    """
    if inside := model.diffusions.in_blocks:
        raise Unsupported(
            f"The equation of a model has no diffusion along positions but this one has some "
            f"{inside[0]}; build the model without it, or with it after-embedding only."
        )
    config, scheme = model.config, model.stabilisers.scheme
    layers = tuple(model.projections(layer) for layer in range(config.depth))
    path = LayeredProjections(
        layers, duration=duration, interpolation="linear" if linear else "constant"
    )
    terms = model.mlp_terms() if mlp else ()
    return TransformerPDE(
        config.attention,
        path,
        beta=config.score_factor,
        engine=config.engine,
        geometry=scheme.geometry(config.width) if isinstance(scheme, OnSphere) else "euclid",
        mask=token_mask(config),
        terms=(AlongDepth(terms, duration),) if terms else (),
    )
