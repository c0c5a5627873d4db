"""One training step of the model against `torch.nn.TransformerEncoder` of the same sizes.

    python benchmarks/transformer.py [--batch 16] [--repeats 5]

Pre-norm, width 128, 6 layers, 8 heads, MLP 512 with GELU, length 1024, float32, forward and
backward. Time is processor time of one thread, in turns, as the median of the ratios; memory is
the peak of a process of its own, less what it held before the step.
"""

__all__ = ["main"]

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable

import torch
from machine import describe
from torch import nn

from vlasov.transformer import Stabilisers, Transformer, TransformerConfig

WIDTH, DEPTH, HEADS, MLP, LENGTH = 128, 6, 8, 512, 1024
LIMIT = 1.05
MODELS = ("ours", "torch")


def ours() -> nn.Module:
    """Our model on points, with biases and a last norm."""
    config = TransformerConfig(
        width=WIDTH, depth=DEPTH, heads=HEADS, mlp="gelu", mlp_width=MLP, positions="none"
    )
    return Transformer(config, Stabilisers(norm="pre"))


class Peer(nn.Module):
    """Torch's encoder and the mean over the tokens."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, MLP, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        last = nn.LayerNorm(WIDTH)
        self.encoder = nn.TransformerEncoder(layer, DEPTH, norm=last, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x).mean(-2)


def step(name: str, batch: int) -> Callable[[], None]:
    """Forward and backward of one model on a fixed batch."""
    model = ours() if name == "ours" else Peer()
    x = torch.randn(batch, LENGTH, WIDTH, generator=torch.Generator().manual_seed(0))

    def run() -> None:
        model.zero_grad()
        model(x).square().mean().backward()

    return run


def seconds(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def memory(name: str, batch: int, found: "multiprocessing.Queue[float]") -> None:
    """Megabytes that a step needs at its peak, beyond model and batch."""
    torch.set_num_threads(1)
    run = step(name, batch)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run()
    found.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def peak(name: str, batch: int) -> float:
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    process = context.Process(target=memory, args=(name, batch, found))
    process.start()
    process.join()
    return found.get()


def main() -> None:
    """Print both ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(describe())
    # first: a process starts from the peak of the one that starts it
    mine, theirs = (peak(name, given.batch) for name in MODELS)
    print(
        f"memory of a step, batch {given.batch}: {mine:.0f} MB against {theirs:.0f} MB of torch, "
        f"ratio {mine / theirs:.3f} (limit {LIMIT})"
    )
    runs = [step(name, given.batch) for name in MODELS]
    for run in runs:
        run()
    rows = [[seconds(run) for run in runs] for _ in range(given.repeats)]
    ratio = statistics.median(mine / theirs for mine, theirs in rows)
    mine, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"time of a step, batch {given.batch}: {mine:.2f} s against {theirs:.2f} s of torch, "
        f"ratio {ratio:.3f} (limit {LIMIT})"
    )


if __name__ == "__main__":
    main()
