"""Every engine gives the same field, for every variant, mask and geometry; the rest is refused."""

import itertools

import pytest
import torch

import vlasov as vl
from vlasov.attention import ATTENTIONS
from vlasov.attention.masks import Alibi
from vlasov.engines import ENGINES
from vlasov.errors import EngineUnsupported, Unsupported

pytestmark = pytest.mark.usefixtures("unchecked_types")

N = 24
SPECS = {"rbm": f"rbm:p={N}", "tiled": "tiled:rows=5"}
"""A random batch of all tokens is no estimate: it is the field."""
ENGINE_NAMES = [name for name in ENGINES if name != "dense"]
MASKS = {
    "none": None,
    "causal": "causal",
    "window": "window:width=2",
    "causal window": "window:width=2,causal=true",
    "alibi": Alibi(0.3),
    "causal alibi": Alibi(0.3, causal=True),
    "explicit": torch.eye(N, dtype=torch.bool) | (torch.arange(N) % 3 == 0),
}
ORDERED = ("none", "causal", "causal alibi")
EXPONENTIAL = ("softmax", "l2", "unnormalised", "sinkhorn")
TOLERANCES = {"tree": 1e-7, "auto": 1e-7, "monomials": 1e-7}


def takes(engine: str, attention: str, mask: str) -> bool:
    """What an engine promises to sum; the rest it must refuse by its name."""
    if engine in ("auto", "tiled") or (attention == "linear" and mask == "none"):
        return True
    if engine == "rbm":
        return attention != "hardmax" and mask == "none"
    if engine == "monomials":  # its tolerance is too coarse for the marginals of Sinkhorn
        return attention in EXPONENTIAL and attention != "sinkhorn" and mask == "none"
    if engine == "direct" and attention in ("sigmoid", "linear"):
        return mask in ("none", "causal")
    return attention in EXPONENTIAL and mask in ORDERED


def _cloud(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(N, 3, generator=g, dtype=torch.float64)
    weights = torch.rand(N, generator=g, dtype=torch.float64) + 0.1
    positions = torch.randint(0, 9, (N,), generator=g)
    return vl.Cloud(x / x.norm(dim=1, keepdim=True), weights / weights.sum(), positions=positions)


def _velocity(engine, attention, mask, geometry, seed):
    g = torch.Generator().manual_seed(seed)
    maps = [torch.randn(2, 3, 3, generator=g, dtype=torch.float64) / 2 for _ in range(3)]
    pde = vl.TransformerPDE(
        attention=attention,
        projections=vl.Projections(*maps),
        beta=0.7,
        geometry=geometry,
        engine=SPECS.get(engine, engine),
        mask=MASKS[mask],
    )
    return vl.velocity(pde, _cloud(seed))


@pytest.mark.parametrize("attention", list(ATTENTIONS))
@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_the_field_is_that_of_dense_or_refused_by_name(engine, attention):
    for seed, (mask, geometry) in enumerate(itertools.product(MASKS, ("euclid", "sphere"))):
        try:
            wanted = _velocity("dense", attention, mask, geometry, seed)
        except Unsupported:
            continue  # the variant itself has no meaning under this mask
        if not takes(engine, attention, mask):
            with pytest.raises(EngineUnsupported, match=f"'{engine}'"):
                _velocity(engine, attention, mask, geometry, seed)
            continue
        found = _velocity(engine, attention, mask, geometry, seed)
        tolerance = TOLERANCES.get(engine, 1e-12) * (1 + wanted.abs().max())
        assert (found - wanted).abs().max() <= tolerance, (mask, geometry)
