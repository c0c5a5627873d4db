"""One run of a grid: its data, its training, its folder."""

__all__ = ["LraWork"]

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from vlasov.experiments.lra_trials import Trial
from vlasov.lra import Splits, load_task
from vlasov.lra.memory import peak_memory
from vlasov.lra.recipe import Recipe
from vlasov.lra.trainer import train
from vlasov.lra.training_result import TrainingResult, write_result


@dataclass(frozen=True)
class LraWork:
    """What a process has to know to do one run; it goes on where an earlier one was stopped.

    Args:
        trial: the run.
        recipe: how it is trained.
        source: the spec of its task, and where its data is.
        folder: where it is written.
        devices: how many processes share it.
        threads: of torch; None leaves them as they are.
        gpus: names of the GPUs that runs at the same time take one of each.
        alone: whether no other run is done in this process, so that its memory can be told.
    """

    trial: Trial
    recipe: Recipe
    source: tuple[str, Path | None]
    folder: Path
    devices: int = 1
    threads: int | None = None
    gpus: tuple[str, ...] = ()
    alone: bool = False

    def __call__(self, tell: Callable[[float], None], worker: int) -> None:
        """Do it, as this one of the workers."""
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        if self.gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpus[worker % len(self.gpus)]
        task, data = self.source
        splits = load_task(task, data, length=self.recipe.length, limit=self.recipe.limit)
        if not self.alone:
            self._train(splits, tell)
            return
        result, memory = peak_memory(lambda: self._train(splits, tell))
        write_result(self.folder, replace(result, memory=memory))

    def _train(self, splits: Splits, tell: Callable[[float], None]) -> TrainingResult:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The warm-up")  # a note of the whole grid
            return train(
                self.recipe,
                splits,
                diffusions=self.trial.arm.diffusions,
                seed=self.trial.seed,
                folder=self.folder,
                resume=True,
                devices=self.devices,
                watch=lambda report: tell(report.step / report.steps),
            )
