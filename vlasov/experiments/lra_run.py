"""The experiment behind `vlasov train`: tasks, arms and seeds, each run in its own folder."""

__all__ = ["TRAIN"]

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.lra_facts import TaskFacts, task_facts
from vlasov.experiments.lra_findings import findings
from vlasov.experiments.lra_trials import Outcome, Trial, trials_of
from vlasov.experiments.lra_widening import lost_or_changed
from vlasov.experiments.lra_work import LraWork
from vlasov.experiments.lra_workers import Work, in_processes, in_turn
from vlasov.experiments.report import Report
from vlasov.lra.processes import require_processes
from vlasov.lra.training_result import read_result


@dataclass(frozen=True, eq=False)
class _Grid:
    """All runs; those that ended in an earlier start are read, not done again."""

    config: LraConfig
    facts: Mapping[str, TaskFacts]

    def report(self, context: Context) -> Report:
        """Do the runs that are left, then say what all of them show."""
        if context.folder is None:
            raise InvalidValue("Training writes its runs to a folder but got none. Give one.")
        root, trials = context.folder.path, self._trials
        left = [trial for trial in trials if not _done(root / trial.path)]
        works = [self._work(trial, root) for trial in left]
        if self._workers == 1:
            failures = in_turn(works, context.watch)
        else:
            failures = in_processes(works, self._workers, context.watch)
        sentences = {left[number]: sentence for number, sentence in failures.items()}
        outcomes = [_outcome(trial, root, sentences) for trial in trials]
        return findings(self.config, self.facts, outcomes, root)

    @property
    def _trials(self) -> list[Trial]:
        arms = {task: facts.arms for task, facts in self.facts.items()}
        return trials_of(arms, self.config.all_seeds)

    @property
    def _workers(self) -> int:
        usual = 1 if self.config.devices > 1 else max(1, torch.cuda.device_count())
        return min(self.config.workers or usual, len(self._trials))

    def _work(self, trial: Trial, root: Path) -> Work:
        config, several = self.config, self._workers > 1
        return LraWork(
            trial,
            config.recipe(trial.task),
            config.source(trial.task),
            root / trial.path,
            config.devices,
            max(1, (os.cpu_count() or 1) // self._workers) if several else None,
            _gpus() if several else (),
            several,
        )


def _prepare(config: LraConfig) -> Job:
    """Refuse what cannot be run before a file is touched: the data is read once for that."""
    require_processes(config.devices)
    return _Grid(config, {task: task_facts(config, task) for task in config.names}).report


def _done(folder: Path) -> bool:
    found = read_result(folder)
    return found is not None and found.final


def _outcome(trial: Trial, root: Path, failures: Mapping[Trial, str]) -> Outcome:
    found = read_result(root / trial.path)
    final = found if found is not None and found.final else None
    return Outcome(trial, final, failures.get(trial))


def _gpus() -> tuple[str, ...]:
    """The GPUs that may be used, as the driver names them."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return tuple(name for name in chosen.split(",") if name)
    return tuple(map(str, range(torch.cuda.device_count())))


TRAIN = Experiment("train", LraConfig, _prepare, keeps=True, differences=lost_or_changed)
"""`vlasov train`."""
