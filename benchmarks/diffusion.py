"""What diffusion layers add to a training step, and what its data costs.

    python benchmarks/diffusion.py [--batch 2] [--repeats 5]

The published ListOps model (width 128, 6 layers, 8 heads, MLP 512, length 2000, dropout 0.1) in
float32: a step of the trainer, gradient, clipping and AdamW. Time is processor time of one
thread; the models take turns and each is compared with the bare one of the same turn, as the
median of the ratios. Memory is the most that the tensors of a step hold at one time, counted
operation by operation. Last come the share of the loader in a step, and the rate of the ListOps
generator.
"""

__all__ = ["main"]

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from machine import describe
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from vlasov.lra.batches import Shares
from vlasov.lra.examples import Batch, Examples
from vlasov.lra.gradients import clipped, set_gradients
from vlasov.lra.listops_grammar import Grammar
from vlasov.lra.lra_model import build_model, build_optimiser
from vlasov.lra.processes import Processes
from vlasov.lra.recipe import recipe
from vlasov.lra.splits import Splits
from vlasov.transformer import Diffusions

# largest overheads of time, in shares of the step of the bare model; and the published ones
MODELS = {
    "none": (0.0, 0.0),
    "after-embedding:1": (0.03, 0.056),
    "after-mlp:1": (0.08, 0.128),
    "after-embedding:1,2,4": (0.06, 0.184),
}
MEMORY = 0.01
GENERATED = 2000
RECIPE = recipe("listops", "paper")


def examples(count: int, length: int) -> Examples:
    """Random words, all of one length."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 16, (count * length,), generator=generator, dtype=torch.int16)
    labels = torch.randint(0, 10, (count,), generator=generator)
    return Examples(tokens, torch.arange(count + 1) * length, labels)


def loaded(batch: int, length: int) -> list[Batch]:
    """What the loader hands to a step."""
    return list(Shares(0, 1)(examples(4 * batch, length), torch.arange(batch)))


def step(name: str, batch: int) -> Callable[[int], None]:
    """A step of one model on sequences of some length."""
    part = examples(1, RECIPE.length)
    splits = Splits("listops", part, part, part, 16, 10, (), {})
    model = build_model(replace(RECIPE, batch=batch), splits, Diffusions.parse(name), 0)
    optimiser = build_optimiser(model, RECIPE)
    alone = Processes.alone("cpu")

    def run(length: int) -> None:
        set_gradients(model, loaded(batch, length), alone, count=batch)
        clipped(model.parameters(), RECIPE.clip)
        optimiser.step()

    run(8)  # the optimiser makes its state
    return run


def seconds(run: Callable[..., object], *given: int) -> float:
    start = time.process_time()
    run(*given)
    return time.process_time() - start


class Living(TorchDispatchMode):
    """The most bytes that tensors made inside held at one time, forward and backward.

    The peak of the process would do for large differences only: pages are kept and reused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._living: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, tuple | list) else [found]:
            if isinstance(one, torch.Tensor):
                storage = StorageWeakRef(one.untyped_storage())
                self._living[storage.cdata] = storage, one.untyped_storage().nbytes()
        held = self._living.items()
        self._living = {key: one for key, one in held if not one[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._living.values()))
        return found


def peak(name: str, batch: int) -> float:
    """Megabytes that the tensors of a step hold at most, gradients and weights among them."""
    run = step(name, batch)
    with Living() as living:
        run(RECIPE.length)
    return living.peak / 2**20


def rows(batch: int, repeats: int) -> list[list[float]]:
    """Seconds of a step of every model, turn by turn."""
    runs = [step(name, batch) for name in MODELS]
    for run in runs:
        run(RECIPE.length)
    return [[seconds(run, RECIPE.length) for run in runs] for _ in range(repeats)]


def generate(count: int) -> None:
    for _ in itertools.islice(Grammar().lists(0), count):
        pass


def main() -> None:
    """Print the overheads, the share of the loader and the rate of the generator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(describe())
    peaks = [peak(name, given.batch) for name in MODELS]
    found = rows(given.batch, given.repeats)
    bare = statistics.median(row[0] for row in found)
    print(f"a step of the bare model, batch {given.batch}: {bare:.2f} s, {peaks[0]:.0f} MB")
    for i, (name, (limit, published)) in enumerate(MODELS.items()):
        if i == 0:
            continue
        over = statistics.median(row[i] / row[0] for row in found) - 1
        print(
            f"{name}: time {over:+.1%} (limit {limit:.0%}, published {published:.1%}), "
            f"memory {peaks[i] / peaks[0] - 1:+.1%} (limit {MEMORY:.0%})"
        )
    load = statistics.median(seconds(loaded, given.batch, RECIPE.length) for _ in range(20))
    print(f"loader: {load / bare:.2%} of a step (limit 5%)")
    rate = GENERATED / seconds(generate, GENERATED)
    print(f"generator: {rate:.0f} kept lists a second on one core (limit 1000)")


if __name__ == "__main__":
    main()
