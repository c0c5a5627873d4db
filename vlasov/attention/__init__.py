"""Attention variants: each a function of the measure that the tokens form.

To add one, write a class in a file of its own and put its name in the list below.
"""

__all__ = [
    "ATTENTIONS",
    "L2",
    "Attention",
    "Hardmax",
    "HeadMixture",
    "Linear",
    "Sigmoid",
    "Sinkhorn",
    "Softmax",
    "Unnormalised",
    "attention_spec",
    "build_attention",
]

import re
from collections.abc import Sequence

from vlasov.attention.base import Attention
from vlasov.attention.hardmax import Hardmax
from vlasov.attention.l2 import L2
from vlasov.attention.linear import Linear
from vlasov.attention.mixture import HeadMixture
from vlasov.attention.sigmoid import Sigmoid
from vlasov.attention.sinkhorn import Sinkhorn
from vlasov.attention.softmax import Softmax
from vlasov.attention.unnormalised import Unnormalised
from vlasov.catalogue import Catalogue

ATTENTIONS: Catalogue[Attention] = Catalogue(
    "attention",
    [
        Softmax,
        L2,
        Sinkhorn,
        Sigmoid,
        Linear,
        Unnormalised,
        Hardmax,
    ],
)


def build_attention(attention: str | Attention | Sequence[str | Attention]) -> Attention:
    """The variant that a spec string describes; a sequence, or specs joined by ``+``, per head.

    Raises:
        UnknownName: for a name that no variant has.

    Example:
        >>> build_attention("softmax+sinkhorn:eps=0.3").members
        (Softmax(), Sinkhorn(eps=0.3, tolerance=1e-10, max_sweeps=10000))
    """
    if isinstance(attention, Attention):
        return attention
    if isinstance(attention, str):
        # A plus before a letter: "eps=1e+2" is a number.
        parts = re.split(r"\s*\+\s*(?=[A-Za-z])", attention)
        members = [ATTENTIONS.build(part) for part in parts]
    else:
        members = [build_attention(part) for part in attention]
    return members[0] if len(members) == 1 else HeadMixture(tuple(members))


def attention_spec(attention: Attention) -> str:
    """The spec string that `build_attention` reads back.

    Example:
        >>> attention_spec(HeadMixture((Softmax(), Sigmoid(bias=-1.0))))
        'softmax+sigmoid:bias=-1.0'
    """
    if isinstance(attention, HeadMixture):
        return "+".join(attention_spec(member) for member in attention.members)
    return ATTENTIONS.spec(attention)
