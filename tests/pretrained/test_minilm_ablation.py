"""The ablation of the real encoder on real reviews, against the numbers of the specification."""

from pathlib import Path

import pytest
import torch

from vlasov.pretrained import PretrainedTower, with_stabilisers
from vlasov.transformer import Stabilisers
from vlasov.transformer.diagnostics import diagnose

REVIEWS = Path(__file__).parents[3] / "shared/data/lra/aclImdb/test/pos"

POST = "post:eps=1e-12"

# Mean token cosine after the embedding and after each layer: specification of the data, 5.2.
CASES = {
    "full": (Stabilisers(POST), True, (0.07, 0.13, 0.14, 0.17, 0.22, 0.32, 0.26)),
    "no attention residual": (
        Stabilisers(POST, residual="mlp"), True, (0.07, 0.43, 0.79, 0.996, 1.0, 1.0, 1.0),
    ),
    "no residual": (
        Stabilisers(POST, residual=False), True, (0.07, 0.39, 0.79, 0.995, 1.0, 1.0, 1.0),
    ),
    "no LayerNorm in blocks": (
        Stabilisers("none"), True, (0.07, 0.16, 0.94, 0.90, 0.96, 0.98, 0.97),
    ),
    "attention only": (Stabilisers(POST), False, (0.07, 0.19, 0.23, 0.34, 0.38, 0.31, 0.42)),
    "attention only, no residual": (
        Stabilisers(POST, residual=False), False, (0.07, 0.47, 0.96, 0.999, 1.0, 1.0, 1.0),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def reviews(minilm: PretrainedTower) -> list[torch.Tensor]:
    """The first 256 tokens of eight reviews."""
    found = sorted(REVIEWS.glob("*.txt"))[:8]
    if len(found) < 8:
        pytest.skip("the IMDb reviews of the shared data are absent")
    return [minilm.embed(path, 256).points for path in found]


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("name", CASES)
def test_token_cosines_by_depth_are_those_of_the_specification(
    minilm: PretrainedTower, reviews: list[torch.Tensor], name: str
) -> None:
    stabilisers, mlp, wanted = CASES[name]
    changed = with_stabilisers(minilm.model, stabilisers, mlp=mlp)
    measured = [diagnose(changed.states(x)) for x in reviews]
    cosines = torch.stack([one.token_cosine for one in measured]).mean(0)
    torch.testing.assert_close(cosines, torch.tensor(wanted), rtol=0, atol=0.02)
    if name == "no LayerNorm in blocks":
        norms = torch.stack([one.norm for one in measured]).mean(0) * 384**0.5
        assert norms[0] == pytest.approx(10, rel=0.05)
        assert norms[-1] == pytest.approx(4760, rel=0.05)


@pytest.mark.usefixtures("unchecked_types")
def test_real_tokens_collapse_without_the_attention_residual_only(
    minilm: PretrainedTower,
) -> None:
    x = minilm.embed("The night market opens when the ferry has tied up.").points
    without = with_stabilisers(minilm.model, Stabilisers(POST, residual="mlp"))
    collapsed = diagnose(without.states(x)).token_cosine
    whole = diagnose(minilm.model.states(x)).token_cosine
    assert collapsed[3] > 0.9 > 0.5 > whole.max()
