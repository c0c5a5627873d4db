"""The model of a recipe and a task, and the optimiser that trains it."""

__all__ = ["build_model", "build_optimiser", "diffusion_layers"]

import torch
from torch import nn

from vlasov.lra.recipe import Recipe
from vlasov.lra.splits import Splits
from vlasov.transformer import DiffusionLayer, Diffusions, Transformer, TransformerConfig

_BETAS = (0.9, 0.98)  # Table 9


def build_model(
    recipe: Recipe, splits: Splits, diffusions: Diffusions | None, seed: int
) -> Transformer:
    """A pre-norm Transformer with sinusoidal positions, its weights drawn from the seed.

    Pairs are read by two towers and pooled at a first token; others by the mean of real tokens.
    The weights that a model shares with one of other diffusions are the same.
    """
    pairs = splits.train.towers == 2
    config = TransformerConfig(
        width=recipe.width,
        depth=recipe.depth,
        heads=recipe.heads,
        mlp_width=recipe.mlp_width,
        max_positions=recipe.length + pairs,
        vocabulary=splits.vocabulary,
        classes=splits.classes,
        pooling="cls" if pairs else "mean",
        head="two-tower" if pairs else "classify",
        dropout=recipe.dropout,
        engine="fused",
    )
    return Transformer(config, diffusions=diffusions, seed=seed, dtype=_number_format(recipe))


def _number_format(recipe: Recipe) -> torch.dtype:
    """The format of the weights."""
    return torch.float64 if recipe.precision == "float64" else torch.float32


def build_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW that decays matrices and tables only.

    Gains and offsets are left alone, and so are diffusion layers: their parameters are no maps,
    and decay would pull every coefficient to one fixed number.
    """
    layers = diffusion_layers(model).values()
    diffusing = {id(weight) for layer in layers for weight in layer.parameters()}
    decayed: list[nn.Parameter] = []
    left: list[nn.Parameter] = []
    for weight in model.parameters():
        (decayed if weight.ndim > 1 and id(weight) not in diffusing else left).append(weight)
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": left, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=_BETAS)


def diffusion_layers(model: nn.Module) -> dict[str, DiffusionLayer]:
    """The diffusion layers of a model by name."""
    found = model.named_modules()
    return {name: layer for name, layer in found if isinstance(layer, DiffusionLayer)}
