"""The sizes of the networks of an ablation, where the settings leave them open."""

__all__ = ["Sizes", "sizes_of"]

from dataclasses import dataclass

from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.train_tasks import task_of


@dataclass(frozen=True)
class Sizes:
    """Numbers of layers, width of a token, heads, and tokens."""

    depth: tuple[int, ...]
    width: int
    heads: int
    n: int


def sizes_of(config: AblateConfig) -> Sizes:
    """The sizes given, or the usual ones: smaller where networks are trained on a task.

    Raises:
        UnknownName: for an unknown task.
    """
    usual = Sizes((24,), width=64, heads=1, n=64)
    if config.task is not None:
        usual = Sizes((8,), width=32, heads=2, n=task_of(config.task).usual_length)
    return Sizes(
        config.depth or usual.depth,
        width=config.width or usual.width,
        heads=config.heads or usual.heads,
        n=config.n or usual.n,
    )
