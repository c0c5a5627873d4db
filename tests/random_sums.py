"""Random sums over a cloud, for laws that must hold whatever the sizes, masks and weights."""

from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention.masks import Alibi, Causal, Explicit, Mask, Window
from vlasov.engines import ENGINES, Visibility

MASK_KINDS = ("none", "causal", "window", "alibi", "causal alibi", "explicit")
FUSABLE = ("none", "causal", "causal alibi")
EXPONENTIAL_ONLY = ("direct", "fused", "tree")
"""Engines that refuse other kernels, and masks that are not fusable."""
GENERAL = [name for name in ENGINES if name not in ("monomials", "rbm")]
"""Engines that answer any exponential sum, in causal order too; the two others have own tests."""


@dataclass(frozen=True)
class RandomSum:
    """Operands of shapes (members, heads, tokens, width), some of the keys absent."""

    q: Tensor
    k: Tensor
    v: Tensor
    logits: Tensor
    mask: Visibility | None

    @property
    def operands(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.q, self.k, self.v, self.logits

    def score_bound(self) -> float:
        scores = (self.q.double() @ self.k.double().mT).abs()
        if self.mask is not None and self.mask.slope is not None:
            q, k = self.mask.query_positions, self.mask.key_positions
            reach = max(q.max(), k.max()) - min(q.min(), k.min())
            scores = scores + self.mask.slope[..., None, None] * reach
        present = torch.where(self.logits.isinf(), 0.0, self.logits.double())
        return (scores + present.abs().unsqueeze(-2)).max().item()


def random_mask(
    kind: str, *, heads: int, shape: tuple[int, int], g: torch.Generator
) -> Mask | None:
    slopes = tuple(torch.rand(heads, generator=g).tolist())
    return {
        "none": None,
        "causal": Causal(),
        "window": Window(width=2.0, causal=bool(torch.rand(1, generator=g) < 0.5)),
        "alibi": Alibi(slopes),
        "causal alibi": Alibi(slopes, causal=True),
        "explicit": Explicit(torch.rand(*shape, generator=g) < 0.5),
    }[kind]


def random_positions(n: int, members: int, g: torch.Generator) -> Tensor:
    """In order, or on a small grid: unsorted, with ties; one row for all members or one each."""
    ordered, shared = (torch.rand(2, generator=g) < 0.4).tolist()
    rows = 1 if shared else members
    if ordered:
        return torch.arange(n).expand(rows, 1, n)
    return torch.randint(0, 6, (rows, 1, n), generator=g)


def random_sum(seed: int, kind: str = "none", dtype: torch.dtype = torch.float64) -> RandomSum:
    """A random sum under a mask of a kind; the same for the same seed."""
    g = torch.Generator().manual_seed(seed)
    sizes = [int(torch.randint(1, high, (1,), generator=g)) for high in (3, 4, 9, 12, 5, 5)]
    members, heads, nq, nk, width, dv = sizes

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype)

    logits = normal(members, 1, nk)
    logits[torch.rand(members, 1, nk, generator=g) < 0.2] = -torch.inf
    mask = random_mask(kind, heads=heads, shape=(nq, nk), g=g)
    queries, keys = (random_positions(n, members, g).to(dtype) for n in (nq, nk))
    if nq == nk and bool(torch.rand(1, generator=g) < 0.5):
        queries = keys
    return RandomSum(
        2 * normal(members, heads, nq, width),
        normal(members, heads, nk, width) + 3 * normal(1),
        normal(members, heads, nk, dv),
        logits,
        None if mask is None else mask.bind(queries, keys),
    )
