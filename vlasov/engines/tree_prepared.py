"""Trees that are grown once and serve one sum after another."""

__all__ = ["PreparedTrees"]

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Values
from vlasov.engines.base import PreparedSum
from vlasov.engines.certified import Sums, certified_whole
from vlasov.engines.members import members
from vlasov.engines.pair_checks import require_finite
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_sums import Trees, trees_over


@dataclass(frozen=True, eq=False)
class PreparedTrees(PreparedSum):
    """Sums of the engine `tree` over fixed queries and keys, unmasked."""

    tolerance: float

    @cached_property
    def _centred(self) -> tuple[Pairs, Tensor]:
        flat = torch.zeros(self.k.shape[:-1], dtype=self.k.dtype)
        pairs, centre = Pairs(self.q, self.k, self.k[..., :0], flat).working().centred()
        return pairs, (pairs.q * centre).sum(-1)

    @cached_property
    def _members(self) -> list[tuple[Pairs, Trees]]:
        pairs = self._centred[0]
        require_finite("tree", pairs)
        return [(x, trees_over(x.q.numpy(), x.k.numpy())) for x in members(pairs)]

    def log_sum(self, key_logits: KeyLogits) -> Float[Tensor, "*batch nq"]:  # noqa: D102
        if not self._fits(key_logits):
            return super().log_sum(key_logits)
        logs = self._joined([x.logs for x in self._sums(self.k[..., :0], key_logits)])
        return (logs + self._centred[1]).to(self.q.dtype)

    def average(  # noqa: D102
        self, v: Values, key_logits: KeyLogits
    ) -> Float[Tensor, "*batch nq dv"]:
        if not self._fits(key_logits) or v.shape[:-2] != self._centred[0].batch:
            return super().average(v, key_logits)
        return self._joined([x.averages for x in self._sums(v, key_logits)]).to(v.dtype)

    def _fits(self, key_logits: KeyLogits) -> bool:
        """Whether these logits have the members of the tokens, and ask for no gradient."""
        graded = torch.is_grad_enabled() and key_logits.requires_grad
        return not graded and key_logits.shape[:-1] == self._centred[0].batch

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return torch.stack(parts).reshape(*self._centred[0].batch, *parts[0].shape)

    def _sums(self, v: Tensor, key_logits: Tensor) -> list[Sums]:
        batch, nk = self._centred[0].batch, self.k.shape[-2]
        count, c = batch.numel(), v.shape[-1]
        values = v.detach().expand(*batch, nk, c).reshape(count, nk, c).double()
        logits = key_logits.detach().reshape(count, nk).double()
        return [
            certified_whole(
                self.tolerance, dataclasses.replace(part, v=values[i], logits=logits[i]), trees
            )
            for i, (part, trees) in enumerate(self._members)
        ]
