"""The members of a batch one by one, as the certified engines take them."""

__all__ = ["members", "present"]

import itertools
from collections.abc import Iterator

from vlasov.engines.pairs import Pairs


def members(pairs: Pairs) -> Iterator[Pairs]:
    """The members of a batch one after the other, in double precision."""
    batch = pairs.batch
    q, k, v = (x.detach().expand(*batch, *x.shape[-2:]) for x in (pairs.q, pairs.k, pairs.v))
    logits = pairs.logits.detach().expand(*batch, pairs.k.shape[-2])
    for index in itertools.product(*map(range, batch)):
        yield Pairs(
            q[index].double(), k[index].double(), v[index].double(), logits[index].double()
        )


def present(pairs: Pairs) -> Pairs:
    """One member without the keys of weight zero."""
    there = ~pairs.logits.isneginf()
    if bool(there.all()):
        return pairs
    return Pairs(pairs.q, pairs.k[there], pairs.v[there], pairs.logits[there])
