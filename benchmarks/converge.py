"""How long a convergence study of 200 seeds takes, with a flow and with a quantised limit.

    python benchmarks/converge.py

Wanted on two cores, d = 2, n = 100 to 1,600: 5 minutes with the flow of the Gaussian law, 10
with a quantised law of 4,096 tokens.
"""

__all__ = ["main"]

import time

from machine import describe

from vlasov.experiments.converge import prepare
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.experiment import Context


def main() -> None:
    """Print seconds and slopes of both."""
    print(describe())
    for name, law in (("flow", "gaussian"), ("quantised", "cube:radius=0.5")):
        clock, processor = time.perf_counter(), time.process_time()
        result = prepare(ConvergeConfig(law=law, reference=name))(Context()).result
        spent, used = time.perf_counter() - clock, time.process_time() - processor
        print(f"{name}: {spent:.0f} s, {used:.0f} CPU s; slope of the mean "
              f"{result['slope_mean']:.3f}, of W_1 {result['slope_distance']:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
