"""`vlasov bench`."""

__all__ = ["command"]

from vlasov.experiments.bench_run import BENCH

from .experiment import experiment_command

command = experiment_command(
    BENCH,
    """Time one softmax sum by every engine, and say which one 'auto' takes.

    The last column is how far 'auto' is from the best engine. Wall time; with --threads 1
    processor time, which a busy machine does not disturb. With --calibrate, the rule of 'auto' is
    first fitted to this machine and kept in the user's cache folder.
    """,
)
