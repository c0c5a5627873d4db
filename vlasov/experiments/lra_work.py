"""One run of a grid: its data, its training, its folder."""

__all__ = ["LraWork"]

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from vlasov.experiments.lra_trials import Trial
from vlasov.lra import load_task
from vlasov.lra.recipe import Recipe
from vlasov.lra.trainer import train


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
    """

    trial: Trial
    recipe: Recipe
    source: tuple[str, Path | None]
    folder: Path
    devices: int = 1
    threads: int | None = None
    gpus: tuple[str, ...] = ()

    def __call__(self, tell: Callable[[float], None], worker: int) -> None:
        """Do it, as this one of the workers."""
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        if self.gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpus[worker % len(self.gpus)]
        recipe, (task, data) = self.recipe, self.source
        splits = load_task(task, data, length=recipe.length, limit=recipe.limit)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The warm-up")  # a note of the whole grid
            train(
                recipe,
                splits,
                diffusions=self.trial.arm.diffusions,
                seed=self.trial.seed,
                folder=self.folder,
                resume=True,
                devices=self.devices,
                watch=lambda report: tell(report.step / report.steps),
            )
