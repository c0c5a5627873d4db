"""The cells of an ablation: a norm scheme, a residual connection, a second branch and a depth."""

__all__ = ["FLOW", "OWN", "Case", "cases_of", "flow_of", "flows_of"]

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vlasov.errors import InvalidValue
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_sizes import sizes_of
from vlasov.transformer import Stabilisers

FLOW = "pde"
"""The scheme of the continuous system without stabilisers."""

OWN = "own"
"""The norm or the second branch that a checkpoint was trained with."""

_RANDOM = {"schemes": ("none", "pre", "post"), "residuals": ("on", "off"), "mlp": ("none", "relu")}
_TASK = _RANDOM | {"mlp": ("relu",)}
_TRAINED = {"schemes": (OWN, "none"), "residuals": ("on", "mlp", "off"), "mlp": ("none", OWN)}
_RESIDUALS: Mapping[str, bool | str] = {
    "on": True,
    "off": False,
    "attention": "attention",
    "mlp": "mlp",
}


@dataclass(frozen=True)
class Case:
    """One network of the grid, in the words of the settings."""

    scheme: str
    residual: str
    mlp: str
    depth: int

    @property
    def is_flow(self) -> bool:
        """Whether this is the continuous system."""
        return self.scheme == FLOW

    @property
    def has_limit(self) -> bool:
        """Whether every branch is added to its input; otherwise there is no continuous limit."""
        return _RESIDUALS.get(self.residual, True) is True

    def stabilisers(self, trained: Stabilisers | None = None) -> Stabilisers:
        """What the words mean; those of a checkpoint where they say ``own``.

        Raises:
            UnknownName: for an unknown norm scheme or residual, such as ``own`` without a
                checkpoint.
        """
        if trained is None or self.scheme != OWN:
            trained = Stabilisers(norm="none" if self.is_flow else self.scheme)
        return replace(
            trained,
            residual=_RESIDUALS.get(self.residual, True),
            residual_scale=1.0 if self.is_flow else self._scale(),
        )

    def _scale(self) -> float | str:
        """A factor, or a rule of `Stabilisers`."""
        if self.residual in _RESIDUALS:
            return 1.0
        try:
            return float(self.residual)
        except ValueError:
            return self.residual

    @property
    def label(self) -> str:
        """The name in sentences."""
        if self.is_flow:
            return "PDE"
        scheme = {"none": "no norm", OWN: "own norm"}.get(self.scheme, self.scheme)
        tails = {"on": "", "off": ", no residual"}
        tails |= {branch: f", residual of {branch} only" for branch in ("attention", "mlp")}
        return f"{scheme}{tails.get(self.residual, f', residual {self.residual}')}"


def cases_of(config: AblateConfig, *, trained_depth: int | None = None) -> list[Case]:
    """The networks of the grid; those of a checkpoint have its depth.

    One without MLP has no case with the residual of the MLP alone.

    Raises:
        InvalidValue: if there is no case.
    """
    usual = _RANDOM if config.task is None else _TASK
    usual = usual if trained_depth is None else _TRAINED
    names = ("mlp", "residuals", "schemes")
    words = [getattr(config, name) or usual[name] for name in names]
    depths = sizes_of(config).depth if trained_depth is None else (trained_depth,)
    cases = [
        Case(scheme=scheme, residual=residual, mlp=mlp, depth=depth)
        for depth, (mlp, residual, scheme) in itertools.product(depths, itertools.product(*words))
    ]
    kept = [case for case in cases if not (case.mlp == "none" and case.residual == "mlp")]
    if not kept:
        raise InvalidValue(
            "The grid needs a network but has none: without MLP there is no residual of the MLP "
            "alone. Add to --mlp or --residuals."
        )
    return kept


def flow_of(case: Case) -> Case:
    """The continuous system that has the weights of a network."""
    return replace(case, scheme=FLOW, residual="flow")


def flows_of(cases: Sequence[Case]) -> list[Case]:
    """The continuous systems of a grid: one for each set of weights."""
    return list(dict.fromkeys(flow_of(case) for case in cases))
