"""When a run that no longer improves should stop."""

__all__ = ["EarlyStopping"]

from collections.abc import Sequence

Score = tuple[float, ...]


class EarlyStopping:
    """The best epoch of a list of scores, smaller ones being better, and whether it is long ago.

    Scores are tuples compared entry by entry, so that a tie of the first is broken by the next.
    The first of equal scores is the best. A patience of 0 never stops.

    Example:
        >>> losses = [1.0, 0.9, 0.91, 0.92]
        >>> found = EarlyStopping(2, [(loss,) for loss in losses])
        >>> found.best_epoch, found.stops
        (1, True)
    """

    def __init__(self, patience: int, scores: Sequence[Score]) -> None:
        self.patience = patience
        self.best_epoch = min(range(len(scores)), key=scores.__getitem__) if scores else None
        self._since = 0 if self.best_epoch is None else len(scores) - 1 - self.best_epoch

    @property
    def improved(self) -> bool:
        """Whether the last score is the best one."""
        return self.best_epoch is not None and self._since == 0

    @property
    def stops(self) -> bool:
        """Whether the last `patience` epochs brought nothing better."""
        return 0 < self.patience <= self._since
