"""Train a model on a task of the Long Range Arena, in one process or several."""

__all__ = ["Report", "train"]

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vlasov.errors import InvalidValue, RunFolderError
from vlasov.interruption import Stop
from vlasov.lra.checkpoints import has_checkpoint, load_last
from vlasov.lra.evaluation import Score
from vlasov.lra.lra_model import diffusion_layers
from vlasov.lra.plan import Plan, Report
from vlasov.lra.processes import Processes, on_processes
from vlasov.lra.recipe import Recipe
from vlasov.lra.sole_use import sole_use
from vlasov.lra.splits import Splits
from vlasov.lra.training import Training
from vlasov.lra.training_result import TrainingResult, read_result, stored_result, write_result
from vlasov.lra.training_state import identity_of
from vlasov.transformer import Diffusions
from vlasov.transformer.denormals import flushed_denormals

_PATIENCE = 15.0  # seconds for what is left of a run whose grid was killed


def _ignore(report: Report) -> None: ...


def train(  # noqa: PLR0913 - what is trained, and how one run is told from another
    recipe: Recipe,
    splits: Splits,
    *,
    diffusions: Diffusions | None = None,
    seed: int = 0,
    folder: Path,
    resume: bool = False,
    devices: int = 1,
    device: str | None = None,
    watch: Callable[[Report], object] = _ignore,
    checkpoint_seconds: float = 60.0,
) -> TrainingResult:
    """Train, keep the epoch that is best on validation, and score it on the test once.

    The order of the data, the dropout and the weights at the start depend on the seed alone, and
    are shared by all diffusions. SIGINT and SIGTERM end the run after a checkpoint.

    Args:
        recipe: sizes and settings.
        splits: the examples.
        diffusions: where diffusion layers are inserted; none by default.
        seed: of weights, order and dropout.
        folder: where checkpoints, logs and the result go; made if it does not exist.
        resume: go on from the last checkpoint in the folder, if there is one. A run that has
            ended is read, not trained again.
        devices: processes; each takes a part of every batch.
        device: ``cpu`` or ``cuda``; the GPU where there is one.
        watch: called with a `Report` after every step.
        checkpoint_seconds: time between checkpoints within an epoch; each epoch ends with one.

    Raises:
        InvalidValue: for examples that do not belong to the recipe.
        RunFolderError: for a folder of another run, one that another process trains in, or one
            that cannot be written.
        MissingExtra: for several processes without Lightning.
    """
    identity = identity_of(recipe, splits, str(diffusions or "none"), seed)
    _require_fit(recipe, splits)
    _make(folder)
    with sole_use(folder, patience=_PATIENCE):
        _require_own(folder, identity, resume=resume)
        done = read_result(folder)
        if done is not None and done.final:
            return done
        warmup = recipe.warmup_steps(recipe.steps(len(splits.train)))
        plan = Plan(recipe, splits, diffusions, seed, folder, identity, warmup, checkpoint_seconds)
        on_processes(devices, functools.partial(_train, plan), watch=watch, device=device)
        return stored_result(folder)


def _train(plan: Plan, processes: Processes, stop: Stop, tell: Callable[[Report], object]) -> None:
    """The part of one process; the first one writes the result."""
    processes = replace(processes, autocast=plan.recipe.precision == "bfloat16")
    devices = [processes.device] if processes.device.type == "cuda" else []
    with flushed_denormals(), torch.random.fork_rng(devices):
        training = Training(plan, processes, stop=stop, tell=tell)
        status, score = training.run()
    if processes.first:
        write_result(plan.folder, _result(training, status, score))


def _result(training: Training, status: str, score: Score | None) -> TrainingResult:
    state, plan = training.state, training.plan
    layers = diffusion_layers(training.model)
    return TrainingResult(
        status=status,
        epochs=state.epoch,
        steps=state.step,
        best_epoch=state.stopping(0).best_epoch,
        train_losses=tuple(row.train_loss for row in state.rows),
        validation_losses=tuple(row.validation_loss for row in state.rows),
        validation_accuracies=tuple(row.validation_accuracy for row in state.rows),
        test_accuracy=None if score is None else score.accuracy,
        test_count=0 if score is None else score.count,
        seconds=state.seconds,
        step_seconds=training.step_seconds,
        parameters=sum(weight.numel() for weight in training.model.parameters()),
        alphas={name: layer.alphas().double().mean(-1).tolist() for name, layer in layers.items()},
        scales={name: list(layer.diffusion.scales) for name, layer in layers.items()},
        weights={name: layer.weights().double().tolist() for name, layer in layers.items()},
        floors=dict(plan.splits.floors),
    )


def _require_fit(recipe: Recipe, splits: Splits) -> None:
    if splits.task != recipe.task:
        raise InvalidValue(
            f"The recipe is for '{recipe.task}' but the examples are of '{splits.task}'. "
            "Load that task, or take its recipe."
        )
    for name, part in splits.parts().items():
        if not len(part):
            raise InvalidValue(f"Training needs examples in every part but {name} has none.")
        longest = int(part.lengths.max())
        if longest > recipe.length:
            raise InvalidValue(
                f"The recipe takes sequences of at most {recipe.length} tokens but {name} holds "
                f"one of {longest}. Load the task with that length, or raise it in the recipe."
            )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"Cannot make the folder '{folder}' ({error.strerror}). Choose another place."
        ) from None


def _require_own(folder: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
    """Refuse a folder that is neither that of a new run nor of the one to go on with."""
    if not has_checkpoint(folder) and read_result(folder) is None:
        return
    if not resume:
        raise RunFolderError(
            f"A new training needs a folder of its own but '{folder}' holds one already. "
            "Resume it, or choose another folder."
        )
    load_last(folder, identity)
