"""Ways to compute one softmax field in the plane: a peer maps the points to the velocities."""

__all__ = ["PEERS", "Peer", "reference"]

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import vlasov as vl

Field = Callable[[Tensor], Tensor]

STORED_ROWS = 2_000
"""Rows of the stored matrix that are computed where all of them do not fit."""
STORED_LIMIT = 20_000
"""Tokens up to which the stored matrix (8 bytes a pair, three copies) is held whole."""


@dataclass(frozen=True)
class Peer:
    """A named way to compute the field; `share` is the part of the rows it computes."""

    name: str
    field: Field
    available: bool = True
    share: Callable[[int], float] = lambda n: 1.0


def velocity(x: Tensor) -> Tensor:
    """The library as a user calls it."""
    pde = vl.TransformerPDE(attention="softmax", projections=vl.Projections.identity(2), beta=1.0)
    return vl.velocity(pde, vl.Cloud(x))


def engine(x: Tensor) -> Tensor:
    """The library's engine alone."""
    log_w = torch.full((1, len(x)), 1 / len(x), dtype=x.dtype).log()
    return vl.ENGINES.build("auto").average(x[None], x[None], x[None], log_w)[0]


def by_hand(x: Tensor) -> Tensor:
    """The kernel of torch, called the way that is fast: 4-D tensors of equal widths."""
    tokens = x[None, None]
    return scaled_dot_product_attention(tokens, tokens, tokens, scale=1.0)[0, 0]


def stored(x: Tensor) -> Tensor:
    """The n × n matrix in memory; only the first rows of it where it does not fit."""
    queries = x if len(x) <= STORED_LIMIT else x[:STORED_ROWS]
    return torch.softmax(queries @ x.T, dim=-1) @ x


def stored_share(n: int) -> float:
    """The part of the rows that `stored` computes."""
    return 1.0 if n <= STORED_LIMIT else STORED_ROWS / n


def keops(x: Tensor) -> Tensor:
    """KeOps' symbolic matrix; its compilation falls into the warm-up."""
    from pykeops.torch import LazyTensor

    scores = (LazyTensor(x[:, None]) * LazyTensor(x[None])).sum(-1)
    return scores.sumsoftmaxweight(LazyTensor(x[None]), axis=1)


def reference(x: Tensor, rows: int) -> Tensor:
    """The first velocities by the definition."""
    return torch.softmax(x[:rows] @ x.T, dim=-1) @ x


PEERS = {
    peer.name: peer
    for peer in (
        Peer("vlasov velocity", velocity),
        Peer("vlasov engine", engine),
        Peer("torch SDPA by hand", by_hand),
        Peer("stored matrix", stored, share=stored_share),
        Peer("KeOps", keops, available=importlib.util.find_spec("pykeops") is not None),
    )
}
