"""The experiment behind `vlasov ablate`: what residuals and norms do, layer by layer."""

__all__ = ["ABLATE"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.experiments.ablate_cases import Case, flow_of, flows_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_flow import Switches, flow_states
from vlasov.experiments.ablate_measure import flow_piece, network_piece
from vlasov.experiments.ablate_network import Source, counted
from vlasov.experiments.ablate_notes import ablate_notes
from vlasov.experiments.ablate_source import source_of
from vlasov.experiments.ablate_tables import (
    Grid,
    layer_table,
    summary_table,
    verdict_table,
)
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.pieces import Pieces
from vlasov.experiments.report import Report
from vlasov.experiments.train_run import training
from vlasov.transformer.denormals import flushed_denormals

Piece = Mapping[str, Tensor]
Carried = Mapping[Case, Sequence[Piece]]


@dataclass(frozen=True, eq=False)
class _Study:
    """The grid with where its networks come from."""

    config: AblateConfig
    switches: Switches | None
    source: Source

    def report(self, context: Context) -> Report:
        """Run every network on every sample, each as a piece."""
        cases, samples = self.source.cases, range(self.source.samples)
        flows = [] if self.switches is None else flows_of(cases)
        pieces = context.pieces(len(samples) * (len(cases) + len(flows)))
        with flushed_denormals():
            carried = {
                flow: [self._flow(pieces, k, sample, flow) for sample in samples]
                for k, flow in enumerate(flows)
            }
            found = {
                case: [self._network(pieces, k, sample, case, carried) for sample in samples]
                for k, case in enumerate(cases)
            }
        return self._report({case: _joined(parts) for case, parts in (found | carried).items()})

    def _flow(self, pieces: Pieces, number: int, sample: int, case: Case) -> Piece:
        return pieces.get(f"pde-{number:04d}-{sample:03d}", lambda: self._flowing(case, sample))

    def _flowing(self, case: Case, sample: int) -> Piece:
        subject, substeps = self.source.subject(case, sample), self.config.substeps
        switches = self.switches or Switches(attention=True, mlp=True)
        states, coarse = (
            flow_states(switches, subject, substeps=count)
            for count in (substeps, max(1, substeps // 2))
        )
        return flow_piece(subject, states, coarse)

    def _network(
        self, pieces: Pieces, number: int, sample: int, case: Case, carried: Carried
    ) -> Piece:
        flows = carried.get(flow_of(case))
        flow = None if flows is None else list(flows[sample]["states"])
        return pieces.get(
            f"network-{number:04d}-{sample:03d}",
            lambda: network_piece(
                self.source.subject(case, sample),
                substeps=self.config.substeps if case.has_limit else None,
                flow=flow,
            ),
        )

    def _report(self, grid: Grid) -> Report:
        return Report(
            {
                "status": "finished",
                "message": f"{counted(len(self.source.cases), 'network')}, each on "
                f"{self.source.described}.",
                "samples": self.source.described,
                "tokens": self.source.tokens,
            },
            {
                "summary": summary_table(grid),
                "verdicts": verdict_table(grid),
                "ablation": layer_table(grid),
            },
            notes=ablate_notes(self.config, self.source, self.switches, grid),
        )


def _joined(parts: Sequence[Piece]) -> dict[str, Tensor]:
    """Measures with the samples in front; the states of a flow have served."""
    return {
        name: torch.stack([part[name] for part in parts]) for name in parts[0] if name != "states"
    }


def _prepare(config: AblateConfig) -> Job:
    if config.task is not None:
        return training(config)
    switches, source = Switches.read(config.pde), source_of(config)
    if switches is not None:
        switches.require(substeps=config.substeps, causal=config.causal)
    for case in source.cases:  # what cannot be built is refused before a file is touched
        source.subject(case, 0)
    return _Study(config, switches, source).report


ABLATE = Experiment(
    "ablate",
    AblateConfig,
    _prepare,
    presets={
        "norms": {
            "schemes": ("none", "pre", "post", "peri", "mix", "ngpt", "ln-scaling", "sphere"),
        },
        "scaling": {"schemes": ("none", "pre"), "residuals": ("on", "1/sqrt(L)", "1/L")},
        "rates": {"task": "reverse", "seeds": 3, "rates": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)},
    },
)
"""`vlasov ablate`."""
