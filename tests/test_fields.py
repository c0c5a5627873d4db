from dataclasses import dataclass

import numpy as np
import pytest

from vlasov._fields import require_kinds
from vlasov.errors import InvalidValue
from vlasov.transformer import Diffusion, Stabilisers, TransformerConfig


@dataclass(frozen=True)
class _Record:
    count: int = 1
    factor: float | str = 1.0
    name: str | None = None
    on: bool = True
    places: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("count", 1.5, "a whole number"),
        ("count", True, "a whole number"),
        ("factor", None, "a number or text"),
        ("name", 3, "text or None"),
        ("on", 1, "True or False"),
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(field, value, wanted):
    record = _Record()
    object.__setattr__(record, field, value)  # past the run-time checks of the tests
    with pytest.raises(InvalidValue, match=f"{field} takes {wanted} but is {value!r}"):
        require_kinds(record)


def test_numbers_of_numpy_and_whole_factors_are_what_they_say():
    record = _Record()
    object.__setattr__(record, "count", np.int64(3))
    object.__setattr__(record, "factor", 2)
    require_kinds(record)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (TransformerConfig, "width", "a"),
        (TransformerConfig, "depth", 1.5),
        (TransformerConfig, "beta", "high"),
        (Diffusion, "alpha", "weak"),
        (Diffusion, "steps", 1.5),
        (Stabilisers, "step", "a"),
        (Stabilisers, "residual_scale", None),
        (Stabilisers, "residual", None),
        (Stabilisers, "residual", 0),
    ],
)
def test_settings_of_a_network_say_which_field_has_another_type(kind, field, value):
    record = kind()
    object.__setattr__(record, field, value)  # past the run-time checks of the tests
    with pytest.raises(InvalidValue, match=f"{field} takes "):
        record.__post_init__()
