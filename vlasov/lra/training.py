"""The loop of a training: steps, epochs, validation, checkpoints, and an orderly end.

Random numbers of a step are a function of seed, step and process, so there is no generator whose
state could be lost; a resumed run draws what the uninterrupted one would have.
"""

__all__ = ["Training"]

import statistics
import time
from collections.abc import Callable
from math import isfinite

import torch
from torch import Tensor

from vlasov.interruption import Stop
from vlasov.lra.batches import Rows, Shares, epoch_batches, number
from vlasov.lra.checkpoints import has_checkpoint, load_last, save_best, save_last
from vlasov.lra.evaluation import Score, evaluate
from vlasov.lra.examples import Examples
from vlasov.lra.gradients import clipped, set_gradients
from vlasov.lra.lra_model import build_model, build_optimiser
from vlasov.lra.plan import Plan, Report
from vlasov.lra.processes import Processes
from vlasov.lra.schedule import Schedule
from vlasov.lra.training_log import TrainingLog
from vlasov.lra.training_state import TrainingState


class Training:
    """A training in one process, from its last checkpoint if there is one."""

    def __init__(
        self, plan: Plan, processes: Processes, *, stop: Stop, tell: Callable[[Report], object]
    ) -> None:
        self.plan = plan
        self.processes = processes
        self.model = build_model(plan.recipe, plan.splits, plan.diffusions, plan.seed)
        self.model.to(processes.device)
        self.optimiser = build_optimiser(self.model, plan.recipe)
        self.state = TrainingState()
        self._best: dict[str, Tensor] = {}
        self._schedule = Schedule(plan.recipe.learning_rate, plan.warmup, plan.steps)
        self._shares = Shares(processes.rank, processes.world, parts=plan.recipe.accumulate)
        self._stop, self._tell = stop, tell
        if has_checkpoint(plan.folder):
            self._load()
        self._log = TrainingLog(plan.folder, self.state) if processes.first else None
        self._spent: list[float] = []
        self._before, self._begun = self.state.seconds, time.monotonic()
        self._saved = self._begun

    def run(self) -> tuple[str, Score | None]:
        """Train to the end, or to an interruption; how it ended, and the score on the test."""
        status, score = self._epochs(), None
        self._save()
        if status in ("finished", "stopped early"):
            self.model.load_state_dict(self._best)
            score = self._score(self.plan.splits.test)
            status = status if score is not None else "interrupted"
        self.state.seconds = self._seconds()
        if self._log is not None:
            self._log.tables(self.state)
        return status, score

    @property
    def step_seconds(self) -> float:
        """The median time of a step since the start of this process; NaN without any."""
        return statistics.median(self._spent) if self._spent else float("nan")

    def _epochs(self) -> str:
        recipe = self.plan.recipe
        while self.state.epoch < recipe.epochs:
            if self.state.stopping(recipe.patience).stops:
                return "stopped early"
            ending = self._steps() or self._validation()
            if ending is not None:
                return ending
        return "finished"

    def _steps(self) -> str | None:
        """The steps of an epoch that are still to do; how the run ended if it did."""
        plan, state = self.plan, self.state
        train = plan.splits.train
        order = epoch_batches(train, plan.recipe.batch, seed=plan.seed, epoch=state.epoch)
        self.model.train()
        for rows in order[state.position :]:
            if self.processes.any(self._stop()):
                return "interrupted"
            start = time.monotonic()
            if not self._step(rows):
                return "diverged"
            self._spent.append(time.monotonic() - start)
            if time.monotonic() - self._saved > plan.checkpoint_seconds:
                self._save()
        return None

    def _step(self, rows: Rows) -> bool:
        """One step of the optimiser; False where loss or gradient is not finite."""
        plan, state = self.plan, self.state
        self.processes.seed(number("dropout", plan.seed, state.step, self.processes.rank))
        parts = self._shares(plan.splits.train, rows)
        loss = set_gradients(self.model, parts, self.processes, count=len(rows))
        norm = clipped(self.model.parameters(), plan.recipe.clip)
        values = torch.stack([loss.double(), norm.double()]).tolist()
        if not all(map(isfinite, values)):
            return False
        for group in self.optimiser.param_groups:
            group["lr"] = self._schedule(state.step)
        self.optimiser.step()
        state.took_step(*values, count=len(rows))
        if self.processes.first:
            left = (plan.steps - state.step) * self._pace()
            at = (state.epoch, plan.recipe.epochs, state.step, plan.steps)
            self._tell(Report(*at, values[0], left))
        return True

    def _validation(self) -> str | None:
        """Close the epoch; how the run ended if it did."""
        score = self._score(self.plan.splits.validation)
        if score is None:
            return "interrupted"
        if not isfinite(score.loss):
            return "diverged"
        rate = self._schedule(self.state.step - 1)
        self.state.seconds = self._seconds()
        self.state.took_epoch(rate=rate, loss=score.loss, accuracy=score.accuracy)
        if self.state.stopping(self.plan.recipe.patience).improved:
            self._best = {name: x.clone() for name, x in self.model.state_dict().items()}
            if self.processes.first:
                save_best(self.plan.folder, self.plan.identity, {"model": self._best})
        self._save()
        if self._log is not None:
            self._log.epoch(self.state)
        return None

    def _score(self, examples: Examples) -> Score | None:
        batch = self.plan.recipe.batch
        return evaluate(
            self.model, examples, self._shares, self.processes, batch=batch, stop=self._stop
        )

    def _save(self) -> None:
        self.state.seconds = self._seconds()
        self._saved = time.monotonic()
        if self.processes.first:
            content = {
                "state": self.state.content(),
                "model": self.model.state_dict(),
                "optimiser": self.optimiser.state_dict(),
                "best": self._best,
            }
            save_last(self.plan.folder, self.plan.identity, content)

    def _load(self) -> None:
        content = load_last(self.plan.folder, self.plan.identity)
        self.state = TrainingState.from_content(content["state"])
        self.model.load_state_dict(content["model"])
        self.optimiser.load_state_dict(content["optimiser"])
        self._best = content["best"]

    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._begun

    def _pace(self) -> float:
        """Seconds of a step, with its share of validations, since the start of this process."""
        return (time.monotonic() - self._begun) / (len(self._spent) + 1)
