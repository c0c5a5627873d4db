"""What does not fit a Transformer is refused in a sentence: where it enters, not by torch."""

import pytest
import torch
from torch.nn import functional

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch
from vlasov.transformer import Transformer, TransformerConfig, byte_tokens

pytestmark = pytest.mark.usefixtures("unchecked_types")

IDS = torch.tensor([[0, 3, 1], [2, 2, 4]])
X = torch.linspace(-1, 1, 48, dtype=torch.float64).reshape(2, 3, 8)
PADDING = torch.tensor([[False, False, True], [False, False, False]])
ELSEWHERE = torch.device("meta")  # a device that every machine has


def _model(**settings):
    sizes = {"width": 8, "depth": 2, "heads": 2, "max_positions": 6}
    return Transformer(TransformerConfig(**{**sizes, **settings}), dtype=torch.float64)


WORDS = {"vocabulary": 5, "classes": 3}
POINTS = {"positions": "none"}
PATCHES = {"patch": 4}


@pytest.mark.parametrize(
    ("settings", "inputs", "error", "phrase"),
    [
        (WORDS, IDS.double(), InvalidValue, "takes whole numbers.* are torch.float64; pass"),
        (WORDS, IDS.to(torch.complex64), InvalidValue, "the inputs are torch.complex64"),
        (WORDS, IDS.bool(), InvalidValue, "the inputs are torch.bool"),
        (WORDS, IDS + 3, InvalidValue, "entries 0 to 4 but the inputs hold 7; use the tokenizer"),
        (WORDS, IDS - 1, InvalidValue, "the inputs hold -1; use"),
        (WORDS, (IDS + 250).to(torch.uint8), InvalidValue, "the inputs hold 254"),
        (WORDS, torch.tensor([[2**40]], dtype=torch.uint64), InvalidValue, "hold 1099511627776"),
        (WORDS, torch.tensor(1), InvalidValue, r"got shape \(\); leave empty"),
        (WORDS, IDS[:0], InvalidValue, r"one token at least, but got shape \(0, 3\)"),
        (WORDS, IDS[:, :0], InvalidValue, r"one token at least, but got shape \(2, 0\)"),
        (WORDS, IDS.repeat(1, 3), InvalidValue, "6 positions but the sequence has 9"),
        (WORDS, IDS.tolist(), InvalidValue, "are a tensor but got list; write torch.tensor"),
        (WORDS, IDS.numpy(), InvalidValue, "got ndarray"),
        (WORDS, None, InvalidValue, "got NoneType"),
        (WORDS, IDS.to(ELSEWHERE), InvalidValue, "model is on cpu but its inputs are on meta"),
        ({"bytes": True}, torch.tensor([[256]]), InvalidValue, "entries 0 to 255"),
        (POINTS, X.float(), InvalidValue, "with torch.float64 but the points are torch.float32"),
        (POINTS, X.long(), InvalidValue, "but the inputs are torch.int64; convert"),
        (POINTS, X.to(torch.complex64), InvalidValue, "the inputs are torch.complex64"),
        (POINTS, X[..., :5], ShapeMismatch, r"tokens of 8 numbers.* are \(2, 3, 5\); bring"),
        (POINTS, X[0, 0], ShapeMismatch, r"the inputs are \(8,\)"),
        (POINTS, X[:0], ShapeMismatch, r"the inputs are \(0, 3, 8\)"),
        (POINTS, IDS, ShapeMismatch, r"the inputs are \(2, 3\)"),
        (POINTS, X / 0, NotFinite, "The inputs must be finite"),
        (POINTS, "text", InvalidValue, "got str"),
        (PATCHES, X[..., :4].float(), InvalidValue, "but the inputs are torch.float32; convert"),
        (PATCHES, X[..., :4].long(), InvalidValue, "the inputs are torch.int64"),
        (PATCHES, X, ShapeMismatch, "tokens of 4 numbers"),
        (PATCHES, X[..., :4].to(ELSEWHERE), InvalidValue, "its inputs are on meta; move"),
    ],
)
def test_inputs_of_another_kind_are_refused(settings, inputs, error, phrase):
    with pytest.raises(error, match=phrase):
        _model(**settings)(inputs)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.uint32])
def test_entries_of_any_width_are_the_same(dtype):
    model = _model(**WORDS)
    assert torch.equal(model(IDS.to(dtype)), model(IDS))


BAD_PADDING = [
    (PADDING[:, :2], ShapeMismatch, r"one entry per token, \(2, 3\), but has shape \(2, 2\)"),
    (PADDING[0], ShapeMismatch, r"has shape \(3,\); True is padding"),
    (PADDING[:1], ShapeMismatch, r"has shape \(1, 3\)"),
    (functional.pad(PADDING, (1, 0)), ShapeMismatch, r"has shape \(2, 4\)"),
    (PADDING.long(), InvalidValue, "got torch.int64; compare it first, as in `mask == 0`"),
    (PADDING.double(), InvalidValue, "got torch.float64"),
    (PADDING.tolist(), InvalidValue, "The padding of a model are a tensor but got list"),
    (PADDING.to(ELSEWHERE), InvalidValue, "its padding are on meta"),
    (torch.ones_like(PADDING), InvalidValue, "one is all padding; leave it out"),
]


@pytest.mark.parametrize("causal", [False, True], ids=["seen", "causal"])
@pytest.mark.parametrize(("padding", "error", "phrase"), BAD_PADDING)
def test_padding_of_another_kind_is_refused(padding, error, phrase, causal):
    model = _model(vocabulary=5, causal=causal, positions="rotary")
    x = model.embed(IDS)
    for call in (lambda: model(IDS, padding), lambda: model.states(x, padding)):
        with pytest.raises(error, match=phrase):
            call()


def test_the_padding_of_a_cls_token_is_not_given():
    model = _model(vocabulary=5, pooling="cls")
    x = model.embed(IDS, PADDING)
    whole = functional.pad(PADDING, (1, 0))
    assert torch.equal(model.log_weights(x, PADDING).isneginf(), whole)
    with pytest.raises(ShapeMismatch, match=r"\(2, 3\), but has shape \(2, 4\)"):
        model.log_weights(x, whole)


BAD_POINTS = [
    (X.float(), InvalidValue, "the points are torch.float32"),
    (X.long(), InvalidValue, "the points are torch.int64"),
    (X[..., :5], ShapeMismatch, r"the points are \(2, 3, 5\)"),
    (X[:, :0], ShapeMismatch, r"the points are \(2, 0, 8\)"),
    (X[0, 0], ShapeMismatch, r"the points are \(8,\)"),
    (X.tolist(), InvalidValue, "The points of a model are a tensor but got list"),
    (X.to(ELSEWHERE), InvalidValue, "its points are on meta"),
]


@pytest.mark.parametrize(("points", "error", "phrase"), BAD_POINTS)
def test_points_of_another_kind_are_refused_at_every_door(points, error, phrase):
    model = _model()
    log_w = model.log_weights(X)
    for call in (
        lambda: model.states(points),
        lambda: model.log_weights(points),
        lambda: model.layer(0, points, log_w),
        lambda: model.block(0)(points, log_w=log_w.unsqueeze(-2)),
    ):
        with pytest.raises(error, match=phrase):
            call()


def test_weights_of_another_shape_are_refused():
    model = _model()
    log_w = model.log_weights(X)
    for wrong, phrase in (
        (log_w[:, :2], r"need log weights \(2, 3\) but got \(2, 2\); take those"),
        (log_w[0], r"but got \(3,\)"),
    ):
        with pytest.raises(ShapeMismatch, match=phrase):
            model.layer(0, X, wrong)
    with pytest.raises(InvalidValue, match=r"Log weights are real numbers but got torch.int64"):
        model.layer(0, X, torch.zeros(2, 3, dtype=torch.long))


@pytest.mark.parametrize("part", ["block", "attention"])
def test_weights_without_the_axis_of_the_heads_are_refused(part):
    block, log_w = _model().block(0), torch.zeros(2, 3, dtype=torch.float64)
    attention = block.attention
    assert attention is not None
    call = {"block": lambda w: block(X, log_w=w), "attention": lambda w: attention(X, w)}
    for wrong in (log_w, log_w[0], log_w[:, None, :2]):  # (2, 3) is no row for each of two heads
        with pytest.raises(
            ShapeMismatch, match=r"\(\*batch, 1, 3\).*insert an axis for the heads"
        ):
            call[part](wrong)
    with pytest.raises(InvalidValue, match="Log weights are real numbers"):
        call[part](log_w[:, None].long())


def test_a_head_reads_points_of_its_model():
    classes, words = _model(**WORDS).head, _model(vocabulary=5, head="language", causal=True)
    language = words.head
    assert classes is not None
    assert language is not None
    for head in (classes, lambda x: language(x, words.embedding.table)):
        with pytest.raises(ShapeMismatch, match=r"reads points of 8 numbers but got shape"):
            head(X[..., :5])
        with pytest.raises(InvalidValue, match=r"the points are torch\.float32"):
            head(X.float())


@pytest.mark.parametrize("texts", ["abc", None, [1], [b"a"], 3])
def test_bytes_come_from_a_list_of_texts(texts):
    with pytest.raises(InvalidValue, match=r"a list of texts but got .*; write it as in"):
        byte_tokens(texts)


def test_autocast_converts_by_itself():
    model = Transformer(TransformerConfig(**{"width": 8, "depth": 2, "heads": 2}, **WORDS))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = model.states(model.embed(IDS).bfloat16(), PADDING)
        scores = model(IDS, PADDING)
    assert bool(scores.isfinite().all())
    assert len(states) == 3
