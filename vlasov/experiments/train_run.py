"""The part of `vlasov ablate` that trains the networks of its grid on a task."""

__all__ = ["Training", "training"]

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.ablate_cases import Case, cases_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_network import counted
from vlasov.experiments.ablate_sizes import sizes_of
from vlasov.experiments.ablate_source import architecture
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.experiment import Context, Job
from vlasov.experiments.pieces import Piece
from vlasov.experiments.report import Report
from vlasov.experiments.train_loop import trained
from vlasov.experiments.train_model import TokenScores
from vlasov.experiments.train_notes import training_notes
from vlasov.experiments.train_tables import Trial, curve_table, summary_table, sweep_table
from vlasov.experiments.train_tasks import Batch, Task, task_of
from vlasov.experiments.train_verdicts import verdict_table
from vlasov.transformer.denormals import flushed_denormals

_BATCHES = 3_000_017  # batches and weights of one seed are drawn apart


def training(config: AblateConfig) -> Job:
    """The job that trains every network at every rate from every seed.

    Raises:
        InvalidValue: for a causal mask where a task needs the whole sequence, and for sizes that
            do not fit.
        UnknownName: for an unknown task, scheme or residual.
        Unsupported: for a network that cannot be built.
    """
    study = Training(config, task_of(str(config.task)))
    for case in cases_of(config):  # what cannot be run is refused before a file is touched
        with torch.no_grad():
            study.model(case, config.seed)(study.batch(1, torch.Generator())[0])
    return study.report


@dataclass(frozen=True, eq=False)
class Training:
    """The grid with the task.

    Raises:
        InvalidValue: for a causal mask where the task needs the whole sequence.
    """

    config: AblateConfig
    task: Task

    def __post_init__(self) -> None:
        if self.config.causal and self.task.whole:
            raise InvalidValue(
                f"The task '{self.task.name}' needs tokens that a causal mask hides. Drop "
                "--causal, or choose another task."
            )

    def report(self, context: Context) -> Report:
        """Train, each trial and seed as a piece."""
        rates = sorted(set(self.config.rates))
        trials = [Trial(*pair) for pair in itertools.product(cases_of(self.config), rates)]
        seeds = range(self.config.seed, self.config.seed + self.config.seeds)
        pieces = context.pieces(len(trials) * len(seeds))
        with flushed_denormals():
            found = {
                trial: [
                    pieces.get(
                        f"train-{number:04d}-{seed - self.config.seed:03d}",
                        functools.partial(self._train, trial, seed),
                    )
                    for seed in seeds
                ]
                for number, trial in enumerate(trials)
            }
        return self._report({trial: _joined(parts) for trial, parts in found.items()})

    def model(self, case: Case, seed: int) -> TokenScores:
        """The network of a case with the weights of a seed."""
        shape = replace(
            architecture(self.config, case),
            vocabulary=self.task.vocabulary,
            causal=self.config.causal or self.task.causal,
            positions="sinusoidal",
            max_positions=sizes_of(self.config).n,
        )
        dtype = DTYPES[self.config.dtype or "float64"]
        model = TokenScores(shape, case.stabilisers(), seed=seed, dtype=dtype)
        return model.to(self.config.device)

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Sequences and targets on the device."""
        drawn = self.task.draw(size, sizes_of(self.config).n, generator)
        return drawn[0].to(self.config.device), drawn[1].to(self.config.device)

    def _train(self, trial: Trial, seed: int) -> Piece:
        """One run; all trials of a seed see the same batches."""
        generator = torch.Generator().manual_seed(seed + _BATCHES)
        return trained(
            self.model(trial.case, seed),
            lambda: self.batch(self.config.batch, generator),
            rate=trial.rate,
            steps=self.config.steps,
        )

    def _report(self, found: dict[Trial, dict[str, torch.Tensor]]) -> Report:
        chance, seeds = self.task.chance, self.config.seeds
        networks, rates = (len({getattr(t, name) for t in found}) for name in ("case", "rate"))
        samples = counted(seeds, "seed")
        return Report(
            {
                "status": "finished",
                "message": f"{counted(networks, 'network')} trained at "
                f"{counted(rates, 'learning rate')}, each from {samples}.",
                "samples": samples,
                "task": self.task.name,
                "chance": chance,
            },
            {
                "summary": summary_table(found),
                "verdicts": verdict_table(found, chance),
                "sweep": sweep_table(found),
                "training": curve_table(found),
            },
            notes=training_notes(self.config, self.task),
        )


def _joined(parts: Sequence[Piece]) -> dict[str, torch.Tensor]:
    """Measures with the seeds in front."""
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}
