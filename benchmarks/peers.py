"""Ways to compute one field of self-attention: a peer maps queries and tokens to velocities."""

__all__ = [
    "ATTENTIONS",
    "BLOCK",
    "Peer",
    "baseline",
    "kernel_seconds",
    "peer_seconds",
    "peers",
    "reference",
    "seconds",
]

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import vlasov as vl
from vlasov.engines.pair_kernels import Logistic

Field = Callable[[Tensor, Tensor], Tensor]

ATTENTIONS = ("softmax", "sigmoid")
BLOCK = 2**18
"""Scores in a row block: the size at which torch is fastest."""
_SLICE = 2e9
"""Pairs on which a quadratic peer is timed where all of them are more."""
_STORED = 2e8
"""The same for the stored matrix (three copies of it)."""


@dataclass(frozen=True)
class Peer:
    """A named way to compute the field of the queries; `pairs` bounds what it is timed on."""

    name: str
    field: Field
    pairs: float = _SLICE
    available: bool = True
    widest: int = 1_000_000

    def queries(self, n: int) -> int:
        """The number of queries it is timed on."""
        return int(min(n, max(1, self.pairs / n)))


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """One timed call."""
    start = clock()
    work()
    return clock() - start


def kernel_seconds(
    x: Tensor, pairs: float = _SLICE, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Torch's kernel on a slice of the queries, scaled to all of them."""
    rows = min(len(x), max(1, int(pairs / len(x))))
    tokens = x[None, None]
    queries = tokens[:, :, :rows]
    spent = seconds(
        lambda: scaled_dot_product_attention(queries, tokens, tokens, scale=1.0), clock
    )
    return spent * len(x) / rows


def peer_seconds(peer: Peer, x: Tensor, clock: Callable[[], float] = time.perf_counter) -> float:
    """A peer on as many queries as it is timed on, scaled to all of them."""
    queries = x[: peer.queries(len(x))]
    return seconds(lambda: peer.field(queries, x), clock) * len(x) / len(queries)


def peers(attention: str, d: int) -> list[Peer]:
    """Those that can compute this field and are installed."""
    at_hand = _SOFTMAX if attention == "softmax" else _SIGMOID
    return [peer for peer in at_hand if peer.available and d <= peer.widest]


def baseline(attention: str) -> str:
    """The name of torch's fastest way."""
    return "torch SDPA" if attention == "softmax" else _ROW_BLOCKS


def reference(attention: str, q: Tensor, x: Tensor) -> Tensor:
    """The velocities by the definition, in float64."""
    return _row_blocks(attention)(q.double(), x.double())


def _weights(attention: str) -> Callable[[Tensor], Tensor]:
    if attention == "softmax":
        return lambda scores: torch.softmax(scores, dim=-1)
    return lambda scores: scores.sigmoid() / scores.shape[-1]


def _velocity(attention: str) -> Field:
    """The library as a user calls it, for all tokens."""

    def field(q: Tensor, x: Tensor) -> Tensor:
        identity = vl.Projections.identity(x.shape[-1])
        pde = vl.TransformerPDE(attention=attention, projections=identity, beta=1.0)
        return vl.velocity(pde, vl.Cloud(x))

    return field


def _average(engine: str) -> Field:
    """One of the library's engines alone."""

    def field(q: Tensor, x: Tensor) -> Tensor:
        return vl.ENGINES.build(engine).average(q[None], x[None], x[None], _log_w(x))[0]

    return field


def _pair_sum(engine: str) -> Field:
    def field(q: Tensor, x: Tensor) -> Tensor:
        built = vl.ENGINES.build(engine)
        return built.pair_sum(Logistic(), q[None], x[None], x[None], _log_w(x))[0]

    return field


def _log_w(x: Tensor) -> Tensor:
    return torch.full((1, len(x)), 1 / len(x), dtype=x.dtype).log()


def _by_hand(q: Tensor, x: Tensor) -> Tensor:
    """The kernel of torch, called the way that is fast: 4-D tensors of equal widths."""
    tokens = x[None, None]
    return scaled_dot_product_attention(q[None, None], tokens, tokens, scale=1.0)[0, 0]


def _row_blocks(attention: str) -> Field:
    weights = _weights(attention)

    def field(q: Tensor, x: Tensor) -> Tensor:
        found, rows = torch.empty_like(q), max(1, BLOCK // len(x))
        for block, part in zip(q.split(rows), found.split(rows), strict=True):
            part.copy_(weights(block @ x.T) @ x)  # kept results would lie between freed scores
        return found

    return field


def _stored(attention: str) -> Field:
    """The matrix of all the queries in memory."""
    weights = _weights(attention)
    return lambda q, x: weights(q @ x.T) @ x


def _keops(q: Tensor, x: Tensor) -> Tensor:
    """KeOps' symbolic matrix; its compilation falls into the warm-up."""
    from pykeops.torch import LazyTensor

    scores = (LazyTensor(q[:, None]) * LazyTensor(x[None])).sum(-1)
    return scores.sumsoftmaxweight(LazyTensor(x[None]), axis=1)


def _keops_sigmoid(q: Tensor, x: Tensor) -> Tensor:
    from pykeops.torch import LazyTensor

    scores = (LazyTensor(q[:, None]) * LazyTensor(x[None])).sum(-1)
    return ((1 / (1 + (-scores).exp())) @ x) / len(x)


_ROW_BLOCKS = f"row blocks of {BLOCK:,}"
_KEOPS = importlib.util.find_spec("pykeops") is not None
_ALL = float("inf")
_SOFTMAX = (
    Peer("vlasov velocity", _velocity("softmax"), pairs=_ALL),
    Peer("vlasov auto", _average("auto"), pairs=_ALL),
    Peer("vlasov tree", _average("tree"), pairs=_ALL, widest=3),
    Peer("vlasov direct", _average("direct"), widest=8),
    Peer("torch SDPA", _by_hand),
    Peer(_ROW_BLOCKS, _row_blocks("softmax")),
    Peer("stored matrix", _stored("softmax"), pairs=_STORED),
    Peer("KeOps", _keops, available=_KEOPS),
)
_SIGMOID = (
    Peer("vlasov velocity", _velocity("sigmoid"), pairs=_ALL),
    Peer("vlasov direct", _pair_sum("direct"), widest=8),
    Peer(_ROW_BLOCKS, _row_blocks("sigmoid")),
    Peer("stored matrix", _stored("sigmoid"), pairs=_STORED),
    Peer("KeOps", _keops_sigmoid, available=_KEOPS),
)
