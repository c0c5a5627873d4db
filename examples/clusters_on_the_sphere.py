"""Tokens on the sphere gather in a few clusters, which last long and then merge.

Figure: 300 tokens of softmax attention (beta = 9) at three times, and their clusters over time.
Source: setting of Geshkovski, Letrouit, Polyanskiy and Rigollet, "The emergence of clusters in
self-attention dynamics" (2023) and "A mathematical perspective on Transformers" (2023).
Runtime: 5 seconds on one core.
"""

import argparse
from pathlib import Path

import vlasov as vl
from vlasov.plots.clouds import cloud as draw_cloud
from vlasov.plots.observables import observables
from vlasov.plots.stage import axes_for
from vlasov.plots.style import dress, new_figure

CLUSTERS = "clusters:radius=0.05"
TIMES = (0.0, 3.0, 12.0)


def simulated() -> vl.Run:
    """300 uniform tokens under the identity as query, key and value."""
    pde = vl.TransformerPDE("softmax", beta=9.0, geometry="sphere")
    cloud = vl.Cloud.sphere(n=300, d=3, seed=1)
    return vl.simulate(pde, cloud, until=12.0, step=0.05, save_every=4, observe=[CLUSTERS])


def main(path: Path) -> None:
    """Draw the figure into `path`."""
    run = simulated()
    figure = new_figure(7.0, 4.0)
    grid = figure.add_gridspec(2, len(TIMES), height_ratios=(2.0, 1.0))
    for column, time in enumerate(TIMES):
        frame = int((run.times - time).abs().argmin())
        ax = draw_cloud(run, axes_for(run, figure, grid[0, column]), frame=frame)
        ax.set_title(f"$t = {time:g}$")
        dress(ax)
    ax = observables(run, figure.add_subplot(grid[1, :]), next(iter(run.observables)))
    ax.set(ylabel="clusters", yscale="log", xlim=(0.0, TIMES[-1]), ylim=(1, 400))
    dress(ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path("figures/clusters_on_the_sphere.png")
    parser.add_argument("output", nargs="?", type=Path, default=default)
    main(parser.parse_args().output)
