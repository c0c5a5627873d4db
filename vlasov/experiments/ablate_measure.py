"""What is measured of one network on one cloud: numbers by layer, as a piece."""

__all__ = ["MEASURES", "flow_piece", "network_piece"]

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.energies import energy
from vlasov.errors import NotFinite, Unsupported
from vlasov.experiments.ablate_network import Network, Subject
from vlasov.transformer.diagnostics import diagnose
from vlasov.transformer.gradients import gradient_norms
from vlasov.transformer.state_distances import (
    consecutive_distances,
    state_cosines,
    state_distances,
)

MEASURES = (
    "norm",
    "token_cosine",
    "input_cosine",
    "gradient",
    "effective_rank",
    "rank_one_distance",
    "w2_step",
    "weight_gradient",
    "update_ratio",
    "energy",
    "w2_to_limit",
    "cosine_to_limit",
    "limit_agreement",
    "w2_to_pde",
    "cosine_to_pde",
)
"""Columns of the table, by layer; layer 0 is the input.

W2 is over the size of what it is measured from; `limit_agreement` is the cosine between the limits
of all and of half the small steps.
"""

Piece = Mapping[str, Tensor]


def network_piece(
    subject: Subject, *, substeps: int | None, flow: Sequence[Tensor] | None
) -> Piece:
    """All measures of a network, beside its limit of small steps and the continuous system.

    `substeps` is None where layers add nothing to their input; `flow` where it was not run.
    """
    states, gradients = _with_gradients(subject)
    found = {**gradients, **_of_states(states, subject)}
    found["energy"] = _energies(subject, states)
    if substeps is not None:
        limit, coarse = _limit(subject, substeps), _limit(subject, max(1, substeps // 2))
        found |= _apart(states, limit, subject, name="limit")
        found["limit_agreement"] = state_cosines(limit, coarse, subject.log_w)
    if flow is not None:
        found |= _apart(states, flow, subject, name="pde")
    return found


@torch.no_grad()
def _limit(subject: Subject, substeps: int) -> list[Tensor]:
    return subject.network.small_steps(subject.points, substeps)


def _apart(
    states: Sequence[Tensor], others: Sequence[Tensor], subject: Subject, *, name: str
) -> dict[str, Tensor]:
    apart = state_distances(states, others, subject.log_w)
    return {f"w2_to_{name}": apart.relative, f"cosine_to_{name}": apart.cosine}


def flow_piece(subject: Subject, states: Sequence[Tensor], coarse: Sequence[Tensor]) -> Piece:
    """The measures of a continuous system at the ends of layers, and its states.

    `coarse` are those of half the small steps.
    """
    return {
        **_of_states(states, subject),
        "limit_agreement": state_cosines(states, coarse, subject.log_w),
        "states": torch.stack(list(states)),
    }


def _of_states(states: Sequence[Tensor], subject: Subject) -> dict[str, Tensor]:
    found = dict(vars(diagnose(states, subject.log_w)))
    overflow = found.pop("overflow")
    found["overflow"] = torch.tensor(-1 if overflow is None else overflow)
    found["w2_step"] = consecutive_distances(states, subject.log_w).relative
    return found


def _with_gradients(subject: Subject) -> tuple[list[Tensor], dict[str, Tensor]]:
    """States, and the gradients of a random linear readout of the last one."""
    network = subject.network
    states = network.states(subject.points.clone().requires_grad_())
    generator = torch.Generator().manual_seed(subject.seed)
    drawn = torch.randn(states[-1].shape, generator=generator, dtype=torch.float64)
    direction = (drawn / torch.linalg.vector_norm(drawn)).to(states[-1])
    norms = gradient_norms(
        (direction * network.readout(states[-1])).sum(), states, network.weights()
    )
    layers = {"weight_gradient": norms.weights, "update_ratio": norms.relative}
    shifted = {
        name: torch.cat([one.new_full((1,), torch.nan), one]) for name, one in layers.items()
    }
    return [state.detach() for state in states], {"gradient": norms.states, **shifted}


@torch.no_grad()
def _energies(subject: Subject, states: Sequence[Tensor]) -> Tensor:
    """The energy that the attention of each layer descends; NaN where it descends none."""
    found = states[0].new_full((len(states),), torch.nan)
    for layer, state in enumerate(states[:-1]):
        found[layer] = _energy(subject.network, layer, state)
    return found


def _energy(network: Network, layer: int, state: Tensor) -> float:
    if not bool(state.isfinite().all()):
        return torch.nan
    try:
        return float(energy(network.attention(layer), Cloud(state)).mean())
    except (Unsupported, NotFinite):
        return torch.nan
