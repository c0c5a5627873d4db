"""Named settings of `vlasov converge`."""

__all__ = ["PRESETS"]

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Tokens on the circle up to a million: prediction V56 over three decades. Steps of 0.25 are
    # those of the limit, too; against steps of 0.05 the limit moves by less than 1e-5.
    "mean-field-rate": {
        "geometry": "sphere",
        "d": 2,
        "law": "von-mises:concentration=1",
        "attention": "softmax",
        "beta": 2.0,
        "time": 1.0,
        "step": 0.25,
        "integrator": "rk4",
        "engine": "tree:tolerance=1e-6",
        "ns": (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        "seeds": (64, 64, 64, 40, 24, 12, 8),
        "distance_seeds": 64,
        "reference_size": 2**17,
    },
}
