r"""Tokens approach their mean-field limit like n^(-1/2), unless their law has too heavy tails.

Figure: root mean square distance of tokens from where the limit carries them, against n, for
softmax attention with identity maps on the line and two Gaussian laws N(0, s),

    s = 0.25 (the variance stays below 0.7071) and s = 1.2 (it does not).

What a token sees of n others has a variance whose average over the law is finite while the norm of
R A R, here the variance, is below 1/sqrt 2; above, the rate is lost.

Source: Fournier and Guillin (2015) for the rate; delta method for the threshold.
Runtime: half a minute on one core.
"""

import argparse
from pathlib import Path

from vlasov.experiments.converge import prepare
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.experiment import Context
from vlasov.plots.converge_report import errors
from vlasov.plots.style import new_figure

VARIANCES = (0.25, 1.2)
SHARE = 0.4  # of the time 1/(2 s) at which the variance of the limit is infinite


def main(path: Path) -> None:
    """Draw the figure into `path`."""
    figure = new_figure(7.0, 3.2)
    for ax, variance in zip(figure.subplots(1, 2), VARIANCES, strict=True):
        config = ConvergeConfig(
            d=1, cov=(variance,), time=SHARE / (2 * variance), ns=(50, 100, 200, 400, 800)
        )
        report = prepare(config)(Context())
        ax.set_title(f"$N(0, {variance:g})$")
        errors(report, ax, {"coupling": "coupling"})
        print(f"s = {variance:g}", *report.notes, sep="\n  ")
    figure.axes[0].set_ylabel("root mean square error")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path("figures/mean_field_limit.png")
    parser.add_argument("output", nargs="?", type=Path, default=default)
    main(parser.parse_args().output)
