"""Trainings of a second: made-up examples, a recipe, and what a run left behind."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from vlasov.lra.checkpoints import BEST, LAST
from vlasov.lra.examples import stacked
from vlasov.lra.recipe import recipe
from vlasov.lra.splits import Splits
from vlasov.lra.training_log import STEPS_FILE

SMALL = replace(recipe("listops", "tiny"), epochs=3, precision="float64", batch=4, patience=0)


def examples(count, generator, *, towers=1, longest=9):
    """Sequences of ids 1 to 6 that tell their label: class 1 draws from the upper half."""
    labels = generator.integers(0, 2, count)
    lengths = generator.integers(2, longest + 1, count * towers)
    low = np.repeat(labels, towers) * 3 + 1
    sequences = [generator.integers(a, a + 3, n) for a, n in zip(low, lengths, strict=True)]
    return stacked(sequences, labels, towers=towers)


def splits(*, task="listops", towers=1, counts=(17, 6, 5), seed=0):
    generator = np.random.default_rng(seed)
    train, validation, test = (examples(count, generator, towers=towers) for count in counts)
    return Splits(task, train, validation, test, 7, 2, (), {"majority": 0.5})


def weights(folder: Path, name: str = LAST):
    """The weights of a checkpoint, read by the weights-only loader."""
    return torch.load(folder / name, weights_only=True)["model"]


def same_weights(folder: Path, other: Path) -> bool:
    """Whether the last and the best weights of two runs are equal bit for bit."""
    return all(
        torch.equal(weights(folder, file)[name], x)
        for file in (LAST, BEST)
        for name, x in weights(other, file).items()
    )


def curve(folder: Path):
    """Loss and norm of the gradient of each step."""
    with (folder / STEPS_FILE).open(newline="") as file:
        rows = [[float(row["loss"]), float(row["gradient_norm"])] for row in csv.DictReader(file)]
    return torch.tensor(rows, dtype=torch.float64)
