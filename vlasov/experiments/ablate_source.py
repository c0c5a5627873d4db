"""Where the networks and tokens of an ablation come from: a random draw or a checkpoint."""

__all__ = ["architecture", "source_of"]

from pathlib import Path

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.ablate_cases import OWN, Case, cases_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_network import Network, Source, Subject
from vlasov.experiments.ablate_sizes import sizes_of
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.cloud_tokens import SAMPLE
from vlasov.pretrained import pretrained_tower, with_stabilisers
from vlasov.transformer import Transformer, TransformerConfig

_MOST_TOKENS = 256  # of a text, unless more are asked for
_TOKENS = 1_000_003  # tokens and weights of one seed are drawn apart


def source_of(config: AblateConfig) -> Source:
    """The source that the settings name.

    Raises:
        InvalidValue: for a text that is not there, or a PDE of networks without attention.
        UnknownName: for a checkpoint that is not there.
    """
    return _random(config) if config.pretrained is None else _trained(config)


def _random(config: AblateConfig) -> Source:
    """Random networks on tokens of N(0, I): those of one seed share weights and tokens."""
    if config.attention == "none" and config.pde != ("none",):
        raise InvalidValue(
            "Networks without attention have no continuous system to compare with but 'pde' is "
            f"'{','.join(config.pde)}'. Add --pde none."
        )
    dtype, sizes = DTYPES[config.dtype or "float64"], sizes_of(config)

    def subject(case: Case, number: int) -> Subject:
        seed = config.seed + number
        model = Transformer(architecture(config, case), case.stabilisers(), seed=seed)
        generator = torch.Generator().manual_seed(seed + _TOKENS)
        points = torch.randn(sizes.n, sizes.width, generator=generator, dtype=torch.float64)
        placed = model.to(device=config.device, dtype=dtype)
        return Subject(Network(placed), points.to(device=config.device, dtype=dtype), seed)

    return Source(subject, cases_of(config), [sizes.n] * config.seeds, "seed")


def architecture(config: AblateConfig, case: Case) -> TransformerConfig:
    """The random network of a case without its stabilisers; it takes points."""
    sizes = sizes_of(config)
    return TransformerConfig(
        width=sizes.width,
        depth=case.depth,
        heads=sizes.heads,
        attention=config.attention,
        beta=config.beta,
        causal=config.causal,
        positions="none",
        mlp=case.mlp,
        bias=False,
        init=config.init,
    )


def _trained(config: AblateConfig) -> Source:
    """A checkpoint under the stabilisers of each case, on the first texts."""
    dtype = DTYPES[config.dtype or "float32"]
    tower = pretrained_tower(str(config.pretrained), dtype=dtype, device=config.device)
    texts = _texts(str(config.tokens))[: config.seeds]
    most = config.max_tokens or min(_MOST_TOKENS, tower.model.config.max_positions)
    clouds = [tower.embed(text, most).points.detach() for text in texts]
    cases = cases_of(config, trained_depth=tower.model.config.depth)
    for word in {case.mlp for case in cases} - {OWN, "none"}:
        raise InvalidValue(
            f"The second branch of a checkpoint is own or none but got '{word}'. Correct --mlp."
        )

    def subject(case: Case, number: int) -> Subject:
        model = with_stabilisers(
            tower.model, case.stabilisers(tower.model.stabilisers), mlp=case.mlp == OWN
        )
        return Subject(
            Network(model.requires_grad_(), trained=True), clouds[number], config.seed + number
        )

    return Source(subject, cases, [len(cloud) for cloud in clouds], "text")


def _texts(tokens: str) -> list[Path]:
    """The files that ``text:...`` names, in the order of their names."""
    kind, _, place = tokens.partition(":")
    if kind != "text" or not place:
        raise InvalidValue(
            f"Tokens of a checkpoint are text:FILE, text:FOLDER or text:sample but got '{tokens}'."
        )
    if place == "sample":
        return [SAMPLE]
    path = Path(place)
    found = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    if not found:
        raise InvalidValue(f"The folder '{path}' has no .txt file. Name another, or one file.")
    return found
