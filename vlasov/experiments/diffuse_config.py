"""The settings of `vlasov diffuse`; their defaults are the layer as the paper starts it."""

__all__ = ["DiffuseConfig"]

from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.experiments.settings import choice, option
from vlasov.transformer import Diffusion

_LONGEST = 4096


@dataclass(frozen=True)
class DiffuseConfig:
    """One diffusion step along positions, and the row it acts on.

    Raises:
        UnknownName: for an unknown device.
        InvalidValue: for a number outside its range.
    """

    scales: tuple[int, ...] = option((1, 2, 4), "Strides of the stencils.")
    alpha: float = option(0.1, "Strength of every scale, below 1/2.")
    weights: tuple[float, ...] | None = option(
        None, "Shares of the scales, divided by their sum. Default: 1,0.6,0.3, then halves."
    )
    conservative: bool = option(
        False, "Let neighbours beyond the ends count as the token itself, not as the end token."
    )
    length: int = option(32, "Tokens of the row.")
    steps: int = option(50, "Steps along which the energy is followed.")
    width: int = option(8, "Channels of the tokens whose energy is followed.")
    seed: int = option(0, "Seed of the random tokens.")
    device: str = option("cpu", "Device; the matrices of this page are made on the CPU only.")

    def __post_init__(self) -> None:
        choice(self.device, ("cpu",), name="device of diffuse")
        self.diffusion()
        if self.length > _LONGEST:
            raise InvalidValue(
                f"'length' must be at most {_LONGEST}, for its square matrices, but is "
                f"{self.length}. Lower it."
            )
        least = {"length": max(2, *self.scales), "steps": 1, "width": 2}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise InvalidValue(
                    f"'{name}' must be at least {smallest} but is {getattr(self, name)}. Raise it."
                )

    def diffusion(self, *, norm: bool = False) -> Diffusion:
        """The settings of the layer, of one step."""
        return Diffusion(
            self.scales, self.weights, self.alpha, norm=norm, conservative=self.conservative
        )

    @property
    def rates(self) -> tuple[float, ...]:
        """Share times strength of each scale."""
        return tuple(share * self.alpha for share in self.diffusion().shares)
