r"""Two tokens on the circle draw together: the simulated angle lies on the exact curve.

Figure: angle between the tokens over time for four beta; lines are simulated, markers exact,

    t(theta) = int_theta^theta_0 (e^beta + e^(beta cos s)) / (2 e^(beta cos s) sin s) ds.

Source: separation of variables in the two-token equation; setting of Geshkovski, Letrouit,
Polyanskiy and Rigollet, "A mathematical perspective on Transformers" (2023).
Runtime: 10 seconds on one core.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from scipy.integrate import quad

import vlasov as vl
from vlasov.plots.style import CATEGORIES, dress, new_figure

START = 2.5
BETAS = (0.0, 1.0, 1.5, 2.0)
UNTIL = 20.0


def simulated(beta: float) -> vl.Run:
    """Two tokens at an angle of `START` radians from each other."""
    cloud = vl.Cloud([[math.cos(s * START / 2), math.sin(s * START / 2)] for s in (-1, 1)])
    pde = vl.TransformerPDE("softmax", beta=beta, geometry="sphere")
    return vl.simulate(pde, cloud, until=UNTIL, step=0.05, integrator="rk4")


def angles(run: vl.Run) -> np.ndarray:
    """The angle between the tokens in every frame, exact for small ones too."""
    x, y = run.points[:, 0], run.points[:, 1]
    return (2 * ((x - y).norm(dim=-1) / 2).clamp(max=1.0).arcsin()).numpy()


def exact_time(angle: float, beta: float) -> float:
    """When the tokens are at `angle` from each other."""
    return quad(
        lambda s: (math.exp(beta * (1 - math.cos(s))) + 1) / (2 * math.sin(s)), angle, START
    )[0]


def main(path: Path) -> None:
    """Draw the figure into `path`."""
    figure = new_figure(4.6, 3.0)
    ax = figure.add_subplot()
    for beta, colour in zip(BETAS, CATEGORIES, strict=False):
        run = simulated(beta)
        ax.plot(run.times, angles(run), color=colour, lw=1.2, label=f"β = {beta:g}")
        markers = np.linspace(2.4, 0.1, 9)
        ax.plot([exact_time(a, beta) for a in markers], markers, "o", color=colour, ms=3.5)
    ax.set(
        xlabel="time $t$",
        ylabel="angle between the tokens (rad)",
        xlim=(0, UNTIL),
        ylim=(0, START),
    )
    ax.legend(frameon=False)
    dress(ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path("figures/two_tokens_on_the_circle.png")
    parser.add_argument("output", nargs="?", type=Path, default=default)
    main(parser.parse_args().output)
