"""Where clouds and their limit start from: draws and evenly placed points of one law."""

__all__ = ["Source", "source_of"]

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_laws import LAWS, Normal, StartLaw
from vlasov.experiments.equation_config import gaussian_law
from vlasov.gaussian import Gaussian
from vlasov.geometry import GEOMETRIES, Geometry, Sphere

_STD = 0.5  # of the default Gaussian


@dataclass(frozen=True, eq=False)
class Source:
    """A law in its width: what clouds and their limit start from.

    `gaussian` is the law where it is one; a law on the unit sphere is scaled to the geometry.
    """

    law: StartLaw
    d: int
    gaussian: Gaussian | None
    geometry: Geometry

    @property
    def dimension(self) -> int:
        """The dimension of the support."""
        if self.gaussian is not None:
            return max(int(self.gaussian.rank), 1)
        return self.law.dimension(self.d)

    def draw(self, n: int, stream: tuple[int, ...]) -> Float[Tensor, "n d"]:
        """Independent draws in fp64; each stream of whole numbers has numbers of its own."""
        word = int(np.random.SeedSequence(stream).generate_state(1, np.uint64)[0])
        generator = torch.Generator().manual_seed(word)
        count = self.law.uniforms(self.d)
        u = torch.rand(n, count, generator=generator, dtype=torch.float64)
        return self._placed(u)

    def nodes(self, n: int) -> Float[Tensor, "n d"]:
        """Points of equal weight that stand for the law; on the line and the circle in order."""
        count = self.law.uniforms(self.d)
        if count == 1:
            return self._placed((torch.arange(n, dtype=torch.float64)[:, None] + 0.5) / n)
        sobol = torch.quasirandom.SobolEngine(count)
        return self._placed(sobol.draw(n, dtype=torch.float64) + 0.5 / n)

    def _placed(self, u: Tensor) -> Tensor:
        x = self.law.place(u, self.d)
        if self.gaussian is None:
            return self.geometry.retract(x)
        return self.gaussian.mean + x @ self.gaussian.factor.mT


def source_of(config: ConvergeConfig) -> Source:
    """The law of the settings.

    Raises:
        UnknownName: for a law that does not exist.
        InvalidValue: for a mean or covariance of a law that is no Gaussian, or a law off the
            geometry.
    """
    geometry = GEOMETRIES.build(config.geometry)
    on_sphere = isinstance(geometry, Sphere)
    law = LAWS.build(config.law or ("sphere" if on_sphere else "gaussian"))
    if isinstance(law, Normal) and not on_sphere:
        return Source(law, config.d, gaussian_law(config, std=_STD), geometry)
    if config.mean or config.cov:
        raise InvalidValue(f"'mean' and 'cov' belong to a gaussian law, not to '{law.name}'.")
    if on_sphere and (law.dimension(config.d) == config.d or config.d < 2):
        raise InvalidValue(
            f"The law '{law.name}' does not live on a sphere of R^{config.d}. Take 'sphere', or "
            "'von-mises' for d = 2."
        )
    return Source(law, config.d, None, geometry)
