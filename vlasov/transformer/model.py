"""The discrete Transformer: embedding, blocks of attention and MLP, pooling and a head."""

__all__ = ["Transformer"]

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vlasov._shapes import LogWeights, Points
from vlasov.engines.visibility import Visibility
from vlasov.errors import Unsupported
from vlasov.pde import Term
from vlasov.projections import Projections
from vlasov.transformer.block import Block
from vlasov.transformer.block_diffusions import require_diffusions
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.diffusion import DiffusionLayer
from vlasov.transformer.embedding import Embedding, Inputs, Padding
from vlasov.transformer.heads import LanguageHead, head_of, pooled
from vlasov.transformer.initial import draw_weights
from vlasov.transformer.input_checks import require_padding, require_vectors, require_weights
from vlasov.transformer.insertion import Diffusions
from vlasov.transformer.model_arguments import require_arguments, require_layer
from vlasov.transformer.positions import Places, shifted_places, token_mask
from vlasov.transformer.stabilisers import Stabilisers
from vlasov.transformer.token_weights import token_weights


class Transformer(nn.Module):
    """A Transformer whose blocks are Euler steps of the particle system under stabilisers.

    Padding is boolean, True where there is no token: such tokens have weight zero and are seen by
    nobody. Weights are drawn from `seed`, in `dtype` (None: the default of torch).

    Example:
        >>> model = Transformer(TransformerConfig(width=8, depth=2, heads=2, vocabulary=5))
        >>> len(model.states(model.embed(torch.tensor([[0, 3, 1]]))))
        3
    """

    def __init__(
        self,
        config: TransformerConfig,
        stabilisers: Stabilisers | None = None,
        *,
        diffusions: Diffusions | None = None,
        seed: int = 0,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        stabilisers = Stabilisers() if stabilisers is None else stabilisers
        diffusions = Diffusions() if diffusions is None else diffusions
        require_arguments(config, stabilisers, diffusions, seed=seed, dtype=dtype)
        self.config, self.stabilisers, self.diffusions = config, stabilisers, diffusions
        require_diffusions(config, self.stabilisers, self.diffusions)
        scheme = self.stabilisers.scheme
        self.embedding = Embedding(config, eps=scheme.embedding_eps)
        first = self.diffusions.after_embedding
        self.after_embedding = (
            DiffusionLayer(config.width, first, causal=config.causal) if first else None
        )
        self.enter = scheme.enter(config.width)
        count = 1 if self.stabilisers.shared else config.depth
        self.blocks = nn.ModuleList(
            Block(config, self.stabilisers, i, self.diffusions) for i in range(count)
        )
        self.leave = scheme.leave(config.width)
        self.head = head_of(config)
        self._mask = token_mask(config)
        self.to(dtype=dtype)  # before the draw, which fills every digit
        draw_weights(self, config.init, gain=scheme.init_gain(config.depth), seed=seed)
        for module in self.modules():
            if isinstance(module, DiffusionLayer):
                module.reset_parameters()

    def embed(self, inputs: Inputs, padding: Padding | None = None) -> Points:
        """The points that enter the first layer, one per token (and ``cls`` in front).

        Raises:
            InvalidValue: for no token, entries beyond the table, or more tokens than positions.
            NotFinite: for NaN or infinity in patches or points.
            ShapeMismatch: for inputs or padding of another shape.
        """
        return self.embedding(inputs, padding)

    def states(self, x: Points, padding: Padding | None = None) -> list[Points]:
        """The clouds before the first block and after each one; `padding` as given to `embed`."""
        entered, log_w, places = self._entered(x, padding)
        states = [entered]
        for layer in range(self.config.depth):
            states.append(self._step(layer, states[-1], log_w, places))
        return states

    def layer(self, layer: int, x: Points, log_w: LogWeights) -> Points:
        """One block on the tokens of these log weights (*batch, n).

        Raises:
            ShapeMismatch: for points of another width, or log weights of another shape.
            InvalidValue: if there is no such layer, or for tensors of another type or device.
        """
        self._require_points(x)
        require_weights(x, log_w)
        return self._step(layer, x, log_w, self._places(log_w, log_w))

    def _step(self, layer: int, x: Tensor, log_w: Tensor, places: Tensor | None) -> Tensor:
        mask, log_w = self.visibility(x, places), log_w.unsqueeze(-2)
        return self.block(layer)(x, log_w=log_w, mask=mask, layer=layer, places=places)

    def _places(self, log_w: Tensor, padding: Tensor | None) -> Tensor | None:
        ordered = self._mask is not None or self.config.positions == "rotary"
        return shifted_places(log_w) if ordered and padding is not None else None

    def forward(
        self, inputs: Inputs, padding: Padding | None = None
    ) -> Float[Tensor, "*lead outputs"]:
        """Scores of classes (*batch, classes) or of the next token (*batch, n, vocabulary).

        A classifier without classes gives the pooled points (*batch, d). A two-tower model takes
        pairs (*batch, 2, n).
        """
        x, log_w, places = self._entered(self.embed(inputs, padding), padding)
        for layer in range(self.config.depth):
            x = self._step(layer, x, log_w, places)
        x = self.leave(x)
        if isinstance(self.head, LanguageHead):
            return self.head(x, self.embedding.table)
        point = pooled(x, log_w, self.config.pooling)
        return point if self.head is None else self.head(point)

    def _entered(self, x: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The first state, its log weights and the places that padding shifts."""
        log_w = self.log_weights(x, padding)
        if self.after_embedding is not None:
            x = self.after_embedding(x, log_w.isneginf())
        return self.enter(x), log_w, self._places(log_w, padding)

    def log_weights(self, x: Points, padding: Padding | None = None) -> LogWeights:
        """The cloud of a sequence: equal weights of its real tokens, minus infinity for padding.

        Raises:
            InvalidValue: for a sequence that is all padding, or tensors of another type or device.
            ShapeMismatch: for points of another width, or padding of another shape.
        """
        self._require_points(x)
        if padding is not None:
            first = self.config.pooling == "cls"
            require_padding(padding, (*x.shape[:-2], x.shape[-2] - first), x)
            padding = nn.functional.pad(padding, (1, 0), value=False) if first else padding
        return token_weights(x, padding)

    def _require_points(self, x: Tensor) -> None:
        require_vectors(x, self.config.width, next(self.parameters(), None), name="points")

    def visibility(self, x: Points, places: Places | None = None) -> Visibility | None:
        """What the tokens may see of each other, by their places; by index without padding."""
        if self._mask is None:
            return None
        exact = torch.promote_types(x.dtype, torch.float32)  # bfloat16 ties places from 256 on
        order = torch.arange(x.shape[-2], dtype=exact, device=x.device)[None]
        order = order if places is None else places.to(exact)
        return self._mask.bind(order, order)

    def projections(self, layer: int) -> Projections:
        """The maps of one layer, as the simulator takes them: views of the parameters.

        Raises:
            Unsupported: for a model without attention.
        """
        attention = self.block(layer).attention
        if attention is None:
            raise Unsupported(
                "A model with attention='none' has no projections; choose an attention."
            )
        return attention.projections()

    def mlp_terms(self) -> tuple[Term, ...]:
        """The MLP of every layer, as the simulator takes it; empty without MLP."""
        layers = [self.block(layer).mlp for layer in range(self.config.depth)]
        return tuple(one.term() for one in layers if one is not None)

    def block(self, layer: int) -> Block:
        """The block of one layer; with shared weights the same for all.

        Raises:
            InvalidValue: if there is no such layer.
        """
        require_layer(layer, self.config.depth)
        return cast(Block, self.blocks[0 if self.stabilisers.shared else layer])
