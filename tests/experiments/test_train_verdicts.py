"""The words on a trained network follow from its numbers and the stated thresholds."""

import pytest
import torch

from vlasov.experiments.train_verdicts import thresholds, verdict


def run(*losses, diverged=()):
    """Constant losses, a seed each; `diverged` are the steps of further seeds."""
    rows = torch.tensor([*losses, *(torch.nan for _ in diverged)]).unsqueeze(-1).expand(-1, 12)
    return {"loss": rows, "diverged": torch.tensor([*(-1 for _ in losses), *diverged])}


@pytest.mark.parametrize(
    ("by_rate", "words"),
    [
        ({0.1: run(0.8, 0.9)}, "learns (loss 0.85, 0.85 of chance)"),
        ({0.1: run(0.95)}, "near chance (loss 0.95, 0.95 of chance)"),
        ({0.1: run(20.0)}, "worse than chance (loss 20, 20 of chance)"),
        ({0.1: run(0.8, diverged=(7, 5))}, "diverged at step 5 at rate 0.1 in 2 of 3 seeds"),
        (
            {0.1: run(0.8), 0.2: run(0.7), 0.3: run(1.0), 0.4: run(diverged=(2,))},
            "stable for rates 0.1 to 0.3; learns for rates 0.1 to 0.2 (loss 0.7, 0.7 of chance, "
            "best at rate 0.2); diverged at step 2 at rate 0.4",
        ),
        (
            {0.1: run(1.0), 0.2: run(diverged=(3,)), 0.3: run(0.5)},
            "stable for rates 0.1 and 0.3; learns for rate 0.3 (loss 0.5, 0.5 of chance, "
            "best at rate 0.3); diverged at step 3 at rate 0.2",
        ),
        (
            {0.1: run(diverged=(4,)), 0.2: run(diverged=(1,))},
            "diverged at step 4 at rate 0.1",
        ),
    ],
)
def test_words(by_rate, words):
    assert verdict(by_rate, 1.0) == words


def test_thresholds_are_stated():
    for part in ("above 10 times the first", "last 10 losses is below 0.9", "above 1.1"):
        assert part in thresholds()
