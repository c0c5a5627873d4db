r"""A Gaussian cloud under linear attention blows up in finite time, along its longest axis first.

Figure: covariance ellipses, and the variances along both axes over time; lines are simulated,
markers exact,

    s(t) = s_0 / (1 - 2 s_0 t),    blow-up at 1 / (2 max s_0).

Source: the second moment M of a cloud under linear attention with identity maps obeys M' = 2 M^2.
Runtime: 3 seconds on one core.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

import vlasov as vl
from vlasov.plots.ellipses import ellipses
from vlasov.plots.style import CATEGORIES, dress, new_figure

COVARIANCE = [[0.8, 0.35], [0.35, 0.5]]
SHOWN = 0.94  # of the time to blow-up


def variances(points: torch.Tensor) -> np.ndarray:
    """Second moments along the principal axes, smallest first, for every frame."""
    return torch.linalg.eigvalsh(points.mT @ points / points.shape[-2]).numpy()


def main(path: Path) -> None:
    """Draw the figure into `path`."""
    cloud = vl.Cloud.gaussian(n=2000, mean=[0.0, 0.0], cov=COVARIANCE, seed=0)
    start = variances(cloud.points)
    blow_up = 1 / (2 * start[-1])
    pde = vl.TransformerPDE("linear")
    to_the_end = vl.simulate(pde, cloud, until=2 * blow_up, step="adaptive", keep="last")
    print(f"{to_the_end.status} at t = {to_the_end.stopped_at:.4f}, exact {blow_up:.4f}")

    frames = np.linspace(0.0, SHOWN * blow_up, 40)
    run = vl.simulate(pde, cloud, until=frames[-1], step="adaptive", save_at=frames.tolist())
    figure = new_figure(7.0, 3.0)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    ellipses(run, left)
    for axis, (name, colour) in enumerate(zip(("smallest", "largest"), CATEGORIES, strict=False)):
        right.plot(run.times, variances(run.points)[:, axis], color=colour, lw=1.2, label=name)
        exact = start[axis] / (1 - 2 * start[axis] * frames[::4])
        right.plot(frames[::4], exact, "o", color=colour, ms=3.5)
    right.axvline(blow_up, color="0.5", lw=0.8, ls=":", label="blow-up")
    right.set(xlabel="time $t$", ylabel="variance", yscale="log")
    right.legend(frameon=False)
    dress(right)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path("figures/gaussian_ellipses.png")
    parser.add_argument("output", nargs="?", type=Path, default=default)
    main(parser.parse_args().output)
