"""The line of text that says where a model diffuses: round trip, defaults, refusals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlasov.errors import InvalidValue, UnknownName, Unsupported
from vlasov.transformer import POSITIONS_OF_DIFFUSION, Diffusion, Diffusions

_SCALES = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(tuple)
_EXPLICIT = _SCALES.flatmap(
    lambda scales: st.fixed_dictionaries(
        {
            "scales": st.just(scales),
            "weights": st.none() | st.tuples(*[st.floats(1e-30, 1e30)] * len(scales)),
            "alpha": st.floats(1e-6, 0.4999),
            "steps": st.integers(1, 5),
            "norm": st.booleans(),
            "conservative": st.booleans(),
        }
    )
)
_EXACT = st.fixed_dictionaries(
    {
        "scales": st.just((1,)),
        "kind": st.sampled_from(["implicit", "exact"]),
        "alpha": st.floats(1e-6, 1e30),
    }
)
_POSITIONS = st.lists(st.sampled_from(POSITIONS_OF_DIFFUSION), unique=True)


@settings(max_examples=30, deadline=None)
@given(
    _POSITIONS.flatmap(
        lambda names: st.tuples(*[st.tuples(st.just(n), _EXPLICIT | _EXACT) for n in names])
    )
)
def test_text_and_settings_are_inverse(insertions):
    fields = {name.replace("-", "_"): Diffusion(**found) for name, found in insertions}
    diffusions = Diffusions(**fields)
    assert Diffusions.parse(str(diffusions)) == diffusions


def test_the_seven_positions_of_the_paper():
    assert POSITIONS_OF_DIFFUSION == (
        "after-embedding",
        "after-mlp",
        "between-layers",
        "before-norm",
        "in-attention",
        "across-heads",
        "after-attention",
    )


@pytest.mark.parametrize("text", ["none", "", "  "])
def test_nothing_is_no_diffusion(text):
    assert Diffusions.parse(text) == Diffusions()
    assert str(Diffusions()) == "none"
    assert list(Diffusions()) == []


def test_a_line_of_two_positions():
    text = "after-mlp + after-embedding : 1,2,4 ; steps=2; norm;weights=1/0.5/0.25"
    found = Diffusions.parse(text)
    first = Diffusion((1, 2, 4), weights=(1.0, 0.5, 0.25), steps=2, norm=True)
    assert found == Diffusions(after_embedding=first, after_mlp=Diffusion((1,)))
    assert found.in_blocks == ("after-mlp",)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("after-embeding", UnknownName, "did you mean 'after-embedding'"),
        ("after-mlp;nrm", UnknownName, "did you mean 'norm'"),
        ("after-mlp:1+after-mlp:2", InvalidValue, "'after-mlp' is given twice"),
        ("after-mlp:1,two", InvalidValue, "'scales' of diffusion takes whole numbers but got"),
        ("after-mlp:", InvalidValue, "takes whole numbers but got ''"),
        ("after-mlp;alpha=big", InvalidValue, "'alpha' of diffusion takes numbers"),
        ("after-mlp;norm=1", InvalidValue, "'norm' of diffusion takes no value"),
        ("after-mlp;steps", InvalidValue, "'steps' of diffusion needs a value"),
        ("after-mlp;transposed", Unsupported, "Transposed diffusion"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_in_one_sentence(text, error, words):
    with pytest.raises(error, match=words):
        Diffusions.parse(text)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 0.5, 0.7, float("nan"), float("inf")])
def test_a_strength_by_hand_lies_between_0_and_a_half(alpha):
    with pytest.raises(InvalidValue, match=r"between 0 and 0\.49997, where"):
        Diffusion(alpha=alpha)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"kind": "explict"}, UnknownName, "did you mean 'explicit'"),
        ({"kind": "exact"}, Unsupported, "the scales are \\(1, 2, 4\\)"),
        ({"kind": "exact", "scales": (1,), "alpha": 0.0}, InvalidValue, "alpha must lie above 0"),
        ({"scales": ()}, InvalidValue, "different whole numbers"),
        ({"scales": (0, 1)}, InvalidValue, "different whole numbers"),
        ({"scales": (2, 2)}, InvalidValue, "different whole numbers"),
        ({"steps": 0}, InvalidValue, "'steps' must lie between 1 and 1000"),
        ({"steps": 10**12}, InvalidValue, "'steps' must lie between 1 and 1000"),
        ({"weights": (1.0, 2.0)}, InvalidValue, "must be 3 numbers above 0"),
        ({"weights": (1e308, 1e308, 1.0)}, InvalidValue, "must be 3 numbers above 0"),
        ({"weights": (1.0, 0.0, 1.0)}, InvalidValue, "must be 3 numbers above 0"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_sentence(settings, error, words):
    with pytest.raises(error, match=words):
        Diffusion(**settings)


@pytest.mark.parametrize(
    ("scales", "shares"),
    [
        ((1,), [1]),
        ((1, 2), [1, 0.6]),
        ((1, 2, 4), [1, 0.6, 0.3]),
        ((1, 2, 4, 8, 16), [1, 0.6, 0.3, 0.15, 0.075]),
    ],
)
def test_shares_start_as_in_the_paper_and_go_on_by_halves(scales, shares):
    assert Diffusion(scales).shares == pytest.approx([x / sum(shares) for x in shares])
