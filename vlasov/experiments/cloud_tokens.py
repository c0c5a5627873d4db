"""The cloud that a simulation starts from: drawn, read from a file, or the words of a text."""

__all__ = ["SAMPLE", "Tokens", "initial_tokens", "placed"]

from dataclasses import dataclass
from pathlib import Path

import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.drawn import drawn_cloud
from vlasov.geometry import Geometry
from vlasov.pretrained import BertCheckpoint, text_tokens

SAMPLE = Path(__file__).with_name("sample.txt")
"""The text that comes with vlasov."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """A cloud, and the words its tokens stand for where it is a text."""

    cloud: Cloud
    words: tuple[str, ...] = ()


def initial_tokens(config: CloudConfig, checkpoint: BertCheckpoint | None) -> Tokens:
    """The tokens as drawn or read, in fp64."""
    if config.tokens is None:
        tokens = Tokens(drawn_cloud(config, init=config.init, n=config.n))
    elif config.tokens.startswith("text:"):
        tokens = _text(config, checkpoint)
    else:
        tokens = Tokens(Cloud.load(config.tokens))
    return Tokens(tokens.cloud.to(dtype=torch.float64), tokens.words)


def placed(cloud: Cloud, geometry: Geometry, config: CloudConfig) -> Cloud:
    """The tokens where they start, in the number format and on the device of the settings.

    Drawn tokens are brought onto the geometry; those of a file only where `project` says so.
    """
    if config.tokens is None or config.project:
        moved = geometry.retract(cloud.points)
        # points that are there keep their last digit: Python and the command line then agree
        if not torch.allclose(moved, cloud.points, rtol=0.0, atol=1e-12):
            cloud = cloud.with_points(moved)
    return cloud.to(dtype=DTYPES[str(config.dtype)], device=config.device)


def _text(config: CloudConfig, checkpoint: BertCheckpoint | None) -> Tokens:
    if checkpoint is None:
        raise InvalidValue("The words of a text need a checkpoint. Add --pretrained NAME.")
    source = str(config.tokens).removeprefix("text:")
    read = text_tokens(
        checkpoint, SAMPLE if source == "sample" else Path(source), config.max_tokens
    )
    return Tokens(Cloud(read.points, positions=read.positions), read.tokens)
