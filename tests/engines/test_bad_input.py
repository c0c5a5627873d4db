"""What is no sum: every engine refuses it in the same words, before it looks at the numbers."""

import dataclasses
import functools
import math
import re
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from vlasov.engines import ENGINES, Dense, Engine, Visibility
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, VlasovError

pytestmark = pytest.mark.usefixtures("unchecked_types")

SENTENCE = re.compile(r"Engine 'dense' needs [^;]+ but (got|found) [^;]+; [^;]+\.")


@dataclasses.dataclass(frozen=True)
class Case:
    """Operands with two members, five queries and four keys of width 2, values of width 3."""

    q: Tensor
    k: Tensor
    v: Tensor
    logits: Tensor
    mask: Visibility | None = None

    def sums(self, engine: Engine):
        """Every way to ask for a sum, by name."""
        q, k, v, logits, mask = self.q, self.k, self.v, self.logits, self.mask
        return {
            "average": lambda: engine.average(q, k, v, logits, mask=mask),
            "log_sum": lambda: engine.log_sum(q, k, logits, mask=mask),
            "both": lambda: engine.average_and_log_sum(q, k, v, logits, mask=mask),
            "pair_sum": lambda: engine.pair_sum(torch.sigmoid, q, k, v, logits, mask=mask),
            "leaders": lambda: engine.leader_average(q, k, v, logits, tie=0.0, mask=mask),
            "prepared log_sum": lambda: engine.prepared(q, k, mask=mask).log_sum(logits),
            "prepared average": lambda: engine.prepared(q, k, mask=mask).average(v, logits),
        }


def _good() -> Case:
    g = torch.Generator().manual_seed(0)
    shapes = [(2, 5, 2), (2, 4, 2), (2, 4, 3), (2, 4)]
    return Case(*(torch.randn(*s, generator=g, dtype=torch.float64) / 4 for s in shapes))


GOOD = _good()
FIVE, FOUR = torch.arange(5.0, dtype=torch.float64)[None], torch.arange(4.0).double()[None]


def _with(**changes: Tensor | Visibility) -> Case:
    return dataclasses.replace(GOOD, **changes)


def _broken(name: str, number: float) -> Case:
    x = getattr(GOOD, name).clone()
    x[1, 2] = number
    return _with(**{name: x})


def _seen(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.bool)


def _hidden_nan() -> Case:
    """NaN in a value that no query sees."""
    return dataclasses.replace(
        _broken("v", math.nan), mask=Visibility(FIVE - 9, FOUR, causal=True)
    )


def _absent_infinity() -> Case:
    """An infinite key of weight zero."""
    return dataclasses.replace(_broken("k", math.inf), logits=_broken("logits", -math.inf).logits)


SHAPES = {
    "one width": {
        "keys narrow": lambda: _with(k=GOOD.k[..., :1]),
        "queries wide": lambda: _with(q=GOOD.q.repeat(1, 1, 2)),
    },
    "as many values and logits as keys": {
        "fewer values": lambda: _with(v=GOOD.v[:, :3]),
        "more logits": lambda: _with(logits=torch.zeros(2, 5).double()),
        "one logit": lambda: _with(logits=torch.zeros(2, 1).double()),
    },
    "tokens .*, n, width": {
        "queries without tokens": lambda: _with(q=torch.zeros(2).double()),
        "a number of queries": lambda: _with(q=torch.tensor(1.0).double()),
        "keys without tokens": lambda: _with(k=torch.zeros(2).double()),
        "values without tokens": lambda: _with(v=torch.zeros(4).double()),
        "a number of logits": lambda: _with(logits=torch.tensor(0.0).double()),
        "numbers alone": lambda: Case(*(torch.tensor(0.0).double() for _ in range(4))),
    },
    "batch axes that are equal or 1": {
        "three members of queries": lambda: _with(q=torch.zeros(3, 5, 2).double()),
        "three members of keys": lambda: _with(k=torch.zeros(3, 4, 2).double()),
        "three members of values": lambda: _with(v=torch.zeros(3, 4, 3).double()),
        "three members of logits": lambda: _with(logits=torch.zeros(3, 4).double()),
    },
    "at least one member, token and coordinate": {
        "no queries": lambda: _with(q=GOOD.q[:, :0]),
        "no keys": lambda: _with(k=GOOD.k[:, :0], v=GOOD.v[:, :0], logits=GOOD.logits[:, :0]),
        "no coordinates": lambda: _with(q=GOOD.q[..., :0], k=GOOD.k[..., :0]),
        "no members": lambda: Case(GOOD.q[:0], GOOD.k[:0], GOOD.v[:0], GOOD.logits[:0]),
        "no coordinates of values": lambda: _with(v=GOOD.v[..., :0]),
        "nothing": lambda: Case(GOOD.q[:, :0], GOOD.k[:, :0], GOOD.v[:, :0], GOOD.logits[:, :0]),
    },
    "a mask of its 5 queries and 4 keys": {
        "a mask of other queries": lambda: _with(mask=Visibility(FOUR, FOUR, causal=True)),
        "a mask of other keys": lambda: _with(mask=Visibility(FIVE, FIVE, causal=True)),
        "another matrix": lambda: _with(mask=Visibility(FIVE, FOUR, matrix=_seen(4, 5))),
    },
    r"a mask whose batch axes expand to \(2,\)": {
        "a mask of three": lambda: _with(mask=Visibility(FIVE.expand(3, 5), FOUR, causal=True)),
        "a matrix of three": lambda: _with(mask=Visibility(FIVE, FOUR, matrix=_seen(3, 5, 4))),
        "three slopes": lambda: _with(
            mask=Visibility(FIVE, FOUR, causal=True, slope=torch.ones(3).double())
        ),
    },
}
VALUES = {
    "numbers of one format": {
        "whole queries": lambda: _with(q=torch.ones(2, 5, 2).long()),
        "whole keys": lambda: _with(k=torch.ones(2, 4, 2).int()),
        "truth values": lambda: _with(v=torch.ones(2, 4, 3).bool()),
        "whole logits": lambda: _with(logits=torch.zeros(2, 4).long()),
        "complex keys": lambda: _with(k=GOOD.k.cfloat()),
        "all whole": lambda: Case(*(torch.ones(s).long() for s in ((5, 2), (4, 2), (4, 3), (4,)))),
        "single queries": lambda: _with(q=GOOD.q.float()),
        "single values": lambda: _with(v=GOOD.v.float()),
        "single logits": lambda: _with(logits=GOOD.logits.float()),
        "half queries": lambda: _with(q=GOOD.q.half()),
    },
    "numbers on one device": {
        "queries nowhere": lambda: _with(q=GOOD.q.to("meta")),
        "keys nowhere": lambda: _with(k=GOOD.k.to("meta")),
        "logits nowhere": lambda: _with(logits=GOOD.logits.to("meta")),
        "all nowhere": lambda: Case(
            *(x.to("meta") for x in (GOOD.q, GOOD.k, GOOD.v, GOOD.logits))
        ),
        "a mask nowhere": lambda: _with(mask=Visibility(FIVE.to("meta"), FOUR, causal=True)),
    },
    "finite tokens": {
        f"{number} in {name}": partial(_broken, name, number)
        for name in ("q", "k", "v", "logits")
        for number in (math.nan, math.inf, -math.inf)
        if (name, number) != ("logits", -math.inf)
    }
    | {"a hidden NaN": _hidden_nan, "an absent infinity": _absent_infinity},
}
ERRORS = dict.fromkeys(SHAPES, ShapeMismatch) | dict.fromkeys(VALUES, InvalidValue)
ERRORS["finite tokens"] = NotFinite
BAD = [
    pytest.param(case, phrase, id=name)
    for phrase, cases in (SHAPES | VALUES).items()
    for name, case in cases.items()
]


def _said(engine: Engine, case: Case) -> dict[str, VlasovError]:
    """What each sum of an engine says of a case; sums that do not meet what is wrong are left."""
    found: dict[str, VlasovError] = {}
    for name, ask in case.sums(engine).items():
        if "log_sum" in name and case.v is not GOOD.v and case.k is GOOD.k:
            continue  # only the values are wrong
        with pytest.raises(VlasovError) as error:
            ask()
        found[name] = error.value
    return found


@functools.cache
def _dense(case: Callable[[], Case]) -> dict[str, VlasovError]:
    return _said(Dense(), case())


@pytest.mark.parametrize(("case", "phrase"), BAD)
def test_the_message_is_one_sentence_of_what_was_wanted_and_found(case, phrase):
    for error in _dense(case).values():
        assert type(error) is ERRORS[phrase]
        assert re.search(phrase, str(error))
        assert SENTENCE.fullmatch(str(error))
        assert ". " not in str(error)


@pytest.mark.parametrize("phrase", ERRORS)
@pytest.mark.parametrize("name", [name for name in ENGINES if name != "dense"])
def test_every_engine_says_what_dense_says(name, phrase):
    engine = ENGINES.build(name)
    for kind, case in (SHAPES | VALUES)[phrase].items():
        for ask, found in _said(engine, case()).items():
            wanted = _dense(case)[ask]
            assert type(found) is type(wanted), (kind, ask)
            assert str(found).replace(f"'{name}'", "'dense'") == str(wanted), (kind, ask)
