"""What `vlasov ablate` refuses before anything is written."""

import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE

SMALL = {"width": 8, "n": 6, "depth": (3,), "seeds": 2, "substeps": 2}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"heads": 3}, "no multiple of 3"),
        ({"depth": (0,)}, "'depth' must be at least 1"),
        ({"n": 1}, "'n' must be at least 2"),
        ({"schemes": ("post-ln",)}, "did you mean 'post'"),
        ({"schemes": ("ngpt:gain=true",)}, "'ngpt' is RMS without gain.* gain=true; drop them"),
        ({"schemes": ("ngpt:kind=layer",)}, "but got kind=layer and gain=false"),
        ({"schemes": ("ngpt:alpha=0",)}, "alpha of 'ngpt' is above 0 but is 0.0; 1 replaces"),
        ({"schemes": ("sphere:radius=-1",)}, "radius of 'sphere' is above 0.* but is -1.0"),
        ({"residuals": ("of",)}, "Unknown residual scale 'of'"),
        ({"mlp": ("reul",)}, "did you mean 'relu'"),
        ({"pde": ("atention",)}, "Unknown part of the continuous system"),
        ({"pde": ("stability:rate=-1",)}, "rate of stability must be finite and above 0"),
        ({"dtype": "float16"}, "float32"),
        ({"attention": "none"}, "Add --pde none"),
    ],
)
def test_settings_without_meaning_are_refused(settings, sentence):
    with pytest.raises((InvalidValue, UnknownName), match=sentence):
        ABLATE.prepare(AblateConfig(**{**SMALL, **settings}))


CHECKPOINT = {"pretrained": "any", "tokens": "text:sample"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tokens": "text:sample"}, "belong together"),
        ({"pretrained": "any"}, "belong together"),
        (CHECKPOINT | {"width": 32}, "'width' is a choice for random networks"),
        (CHECKPOINT | {"depth": (6,)}, "'depth' is a choice for random networks"),
        (CHECKPOINT | {"max_tokens": 1}, "'max-tokens' must be at least 2"),
    ],
)
def test_a_checkpoint_and_its_text_decide_the_sizes(settings, sentence):
    with pytest.raises(InvalidValue, match=sentence):
        AblateConfig(**settings)
