"""What a training ablation says beside its numbers."""

__all__ = ["training_notes"]

from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_sizes import sizes_of
from vlasov.experiments.train_loop import LAST
from vlasov.experiments.train_tasks import Characters, Task
from vlasov.experiments.train_verdicts import thresholds


def training_notes(config: AblateConfig, task: Task) -> tuple[str, ...]:
    """The sentences of the report."""
    sizes = sizes_of(config)
    notes = (
        thresholds(),
        f"Adam without warm-up, decay or clipping, {config.steps} steps of {config.batch} "
        f"sequences of {sizes.n}; all networks of a seed see the same batches. Chance is "
        f"{task.chance:.4g} nats, the best answer that does not look at the sequence.",
        f"The last loss is the mean of the last {LAST} steps. Losses, gradients and "
        "update ratios are geometric means over the seeds that did not diverge; bands are 95 % "
        "intervals of these.",
    )
    if isinstance(task, Characters):
        notes += ("Losses are those of the text that is trained on, not of unseen text.",)
    return notes
