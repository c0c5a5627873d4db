r"""The attention branch of a block: parameters, and the force of the simulator made of them.

.. math:: F(x)_i = b_O + \sum_h O_h \,\mathrm{attention}_h(x_i), \qquad
          \text{scores } \beta\langle Q_h x_i + b_Q,\; K_h x_j + b_K\rangle

Source: Vaswani et al. (2017), section 3.2.2; grouped keys of Ainslie et al., arXiv:2305.13245.
"""

__all__ = ["AttentionLayer", "QueryKeyNorm"]

import dataclasses
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov._shapes import LogWeights, Points
from vlasov.attention import build_attention
from vlasov.engines import ENGINES
from vlasov.engines.visibility import Visibility
from vlasov.pde.field import AttentionForce, Smooth
from vlasov.projections import Projections, QueriesAndKeys
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.input_checks import require_head_weights
from vlasov.transformer.positions import Places, Rotary

_EPS = 1e-6


@dataclass(frozen=True, eq=False)
class QueryKeyNorm:
    """An RMS norm of every query and key over the head width, then the rotary turn if any.

    Source: Henry et al., Query-key normalization, arXiv:2010.04245, with an RMS norm and gains.
    """

    query_gain: Float[Tensor, " k"]
    key_gain: Float[Tensor, " k"]
    rotary: Rotary | None = None

    def __call__(
        self, q: Float[Tensor, "... n k"], k: Float[Tensor, "... n k"]
    ) -> tuple[Float[Tensor, "... n k"], Float[Tensor, "... n k"]]:
        """Both normalised, then turned."""
        q = functional.rms_norm(q, q.shape[-1:], self.query_gain.to(q), _EPS)
        k = functional.rms_norm(k, k.shape[-1:], self.key_gain.to(k), _EPS)
        return (q, k) if self.rotary is None else self.rotary(q, k)


class AttentionLayer(nn.Module):
    """Query, key, value and output maps; `query` is (heads k, d), `output` (d, heads k).

    With grouped keys `key` and `value` are (kv_heads k, d): key head g serves the query heads
    ``[g heads/kv_heads, (g + 1) heads/kv_heads)``.
    """

    query: nn.Parameter
    key: nn.Parameter
    value: nn.Parameter
    output: nn.Parameter
    query_bias: nn.Parameter | None
    key_bias: nn.Parameter | None
    value_bias: nn.Parameter | None
    output_bias: nn.Parameter | None
    query_gain: nn.Parameter | None
    key_gain: nn.Parameter | None

    def __init__(self, config: TransformerConfig, *, qk_norm: bool = False) -> None:
        super().__init__()
        self.heads = config.heads
        self.kv_heads = config.kv_heads or config.heads
        self.attention = build_attention(config.attention)
        self.engine = ENGINES.build(config.engine)
        self.beta = config.score_factor
        rotary = config.positions == "rotary"
        self.rotary = Rotary(config.rotary_base, config.rotary_pairs) if rotary else None
        rows, columns = config.heads * config.k, self.kv_heads * config.k
        d = config.width
        sizes = {"query": (rows, d), "key": (columns, d), "value": (columns, d)}
        sizes["output"] = (d, rows)
        for name, size in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(size)))
            bias = nn.Parameter(torch.zeros(size[0])) if config.bias else None
            self.register_parameter(f"{name}_bias", bias)
        for name in ("query_gain", "key_gain"):
            gain = nn.Parameter(torch.ones(config.k)) if qk_norm else None
            self.register_parameter(name, gain)

    def projections(self, places: Places | None = None) -> Projections:
        """The maps of every head, as the simulator takes them: views of the parameters.

        `places` are those of the tokens where padding shifts them, for the rotary turn.
        """
        h, d = self.heads, self.query.shape[-1]
        maps = {
            "query": self.query.view(h, -1, d),
            "key": self._per_head(self.key.view(self.kv_heads, -1, d)),
            "value": self._per_head(self.value.view(self.kv_heads, -1, d)),
            "output": self.output.view(d, h, -1).transpose(0, 1),
        }
        for name in ("query", "key", "value", "output"):
            bias: Tensor | None = getattr(self, f"{name}_bias")
            if bias is not None:
                maps[f"{name}_bias"] = self._bias_per_head(name, bias)
        return Projections.of_maps(maps, self._refinement(places))

    def force(
        self,
        log_w: LogWeights,
        mask: Visibility | None = None,
        *,
        places: Places | None = None,
        smooth_values: Smooth | None = None,
        smooth_seen: Smooth | None = None,
    ) -> AttentionForce:
        """The field ``(t, x) -> F(x)`` of the simulator for tokens of these log weights.

        `log_w` is ``(*batch, 1, n)``, the 1 standing for the heads; minus infinity is padding.
        `places` are as in `projections`. Values and what the heads saw of them pass through
        `smooth_values` and `smooth_seen`.
        """
        return AttentionForce(
            self.attention,
            self.projections(places),
            self.engine,
            log_w,
            self.beta,
            mask,
            smooth_values,
            smooth_seen,
        )

    def forward(
        self, x: Points, log_w: Float[Tensor, "*lead n"], mask: Visibility | None = None
    ) -> Points:
        """What every token is moved by.

        Raises:
            ShapeMismatch: for log weights without the axis of the heads.
        """
        require_head_weights(x, log_w)
        return self.force(log_w, mask)(0.0, x)

    def _per_head(self, x: Tensor) -> Tensor:
        shared = self.heads // self.kv_heads
        return x if shared == 1 else x.repeat_interleave(shared, dim=0)

    def _bias_per_head(self, name: str, bias: Tensor) -> Tensor:
        if name == "output":
            return bias
        return (
            bias.view(self.heads, -1)
            if name == "query"
            else self._per_head(bias.view(self.kv_heads, -1))
        )

    def _refinement(self, places: Tensor | None) -> QueriesAndKeys | None:
        rotary = self.rotary and dataclasses.replace(self.rotary, places=places)
        if self.query_gain is None or self.key_gain is None:
            return rotary
        return QueryKeyNorm(self.query_gain, self.key_gain, rotary)
