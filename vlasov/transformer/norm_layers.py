r"""The modules of norm schemes: each wraps a branch, and owns the residual.

.. math:: N(x) = g \odot \frac{x - \bar x}{\sqrt{\mathrm{var}(x) + \epsilon}} + b \text{ (layer)},
          \qquad N(x) = g \odot \frac{x}{\sqrt{\overline{x^2} + \epsilon}} \text{ (rms)}

Variances are those of the d coordinates, divided by d, in two passes.
"""

__all__ = [
    "Branch",
    "DeepLayer",
    "NgptLayer",
    "NoLayer",
    "Norm",
    "PeriLayer",
    "PostLayer",
    "PreLayer",
    "Retraction",
    "Scale",
    "SphereLayer",
    "WrapLayer",
    "euler_step",
    "unchanged",
]

import abc
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from vlasov._shapes import Points
from vlasov.geometry import Sphere
from vlasov.integration import Euler
from vlasov.transformer.made_again import made_again

Branch = Callable[[Tensor], Tensor]
Scale = float | Tensor

_EULER = Euler()


def unchanged(x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


def euler_step(x: Points, branch: Branch, scale: Scale) -> Points:
    """One step of the integrator ``euler``: ``x + scale * branch(x)``."""
    return _EULER.step(lambda t, y: branch(y), 0.0, x, scale).x


class Norm(nn.Module):
    """LayerNorm or RMS norm over the width; with `gain` it has trained factors and offsets."""

    def __init__(self, width: int, *, kind: str = "layer", gain: bool = True, eps: float) -> None:
        super().__init__()
        self.width = width
        self.kind = kind
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width)) if gain else None
        self.bias = nn.Parameter(torch.zeros(width)) if gain and kind == "layer" else None

    def forward(self, x: Points) -> Points:
        """Every token normalised."""
        with made_again(x):
            if self.kind == "layer":
                return functional.layer_norm(x, (self.width,), self.weight, self.bias, self.eps)
            return functional.rms_norm(x, (self.width,), self.weight, self.eps)

    def extra_repr(self) -> str:  # noqa: D102
        return f"{self.width}, kind={self.kind}, gain={self.weight is not None}, eps={self.eps}"


class Retraction(nn.Module):
    """Every token brought onto the sphere."""

    def __init__(self, sphere: Sphere) -> None:
        super().__init__()
        self.sphere = sphere

    def forward(self, x: Points) -> Points:
        """The nearest points of the sphere."""
        return self.sphere.retract(x)


class WrapLayer(nn.Module, abc.ABC):
    """How one branch of one layer meets the state."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.residual = residual

    @abc.abstractmethod
    def wrap(
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        """The state after the branch, whose residual is scaled by `scale`.

        The norm that reads the state, if there is one, reads what `before` makes of it.
        """

    def _joined(self, x: Tensor, branch: Branch, scale: Scale) -> Tensor:
        return euler_step(x, branch, scale) if self.residual else branch(x)


class NoLayer(WrapLayer):
    """``x + c F(x)``."""

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        return self._joined(x, branch, scale)


class PreLayer(WrapLayer):
    """``x + c F(N x)``."""

    def __init__(self, residual: bool, norm: Norm) -> None:
        super().__init__(residual)
        self.norm = norm

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        return self._joined(x, lambda y: branch(self.norm(before(y))), scale)


class PeriLayer(PreLayer):
    """``x + c N'(F(N x))``."""

    def __init__(self, residual: bool, norm: Norm, after: Norm) -> None:
        super().__init__(residual, norm)
        self.after = after

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        return self._joined(x, lambda y: self.after(branch(self.norm(before(y)))), scale)


class PostLayer(PreLayer):
    """``N(x + c F(x))``."""

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        return self.norm(before(self._joined(x, branch, scale)))


class DeepLayer(PreLayer):
    """``N(a x + c F(x))``."""

    def __init__(self, residual: bool, norm: Norm, keep: float) -> None:
        super().__init__(residual, norm)
        self.keep = keep

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        if not self.residual:
            return self.norm(before(branch(x)))
        return self.norm(before(self.keep * x + scale * branch(x)))


class NgptLayer(PreLayer):
    """``N(x + a c (N(F(x)) - x))``."""

    def __init__(self, residual: bool, norm: Norm, rate: float) -> None:
        super().__init__(residual, norm)
        self.rate = rate

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        if not self.residual:
            return self.norm(before(branch(x)))
        return self.norm(
            before(euler_step(x, lambda y: self.norm(branch(y)) - y, self.rate * scale))
        )


class SphereLayer(WrapLayer):
    """One Euler step along the tangent part of F, brought back to the sphere."""

    def __init__(self, residual: bool, sphere: Sphere) -> None:
        super().__init__(residual)
        self.sphere = sphere

    def wrap(  # noqa: D102
        self, x: Points, branch: Branch, scale: Scale = 1.0, before: Branch = unchanged
    ) -> Points:
        if not self.residual:
            return self.sphere.retract(branch(x))
        step = euler_step(x, lambda y: self.sphere.tangent(y, branch(y)), scale)
        return self.sphere.retract(step)
