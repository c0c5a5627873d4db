import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch
from vlasov.pretrained.names import checked, require_layers

EXPECTED = {"encoder.a": (2, 2), "encoder.b": (2,)}


@pytest.fixture
def found() -> dict[str, torch.Tensor]:
    return {"encoder.a": torch.arange(4.0).view(2, 2), "encoder.b": torch.ones(2)}


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "module.",
        "_orig_mod.",
        "module._orig_mod.",
        "_orig_mod.module.",
        "bert.",
        "module._orig_mod.bert.",
    ],
)
def test_e06_prefixes_of_wrappers_are_taken_off(found: dict[str, Tensor], prefix: str) -> None:
    tensors, ignored = checked({prefix + name: x for name, x in found.items()}, EXPECTED)
    assert tensors.keys() == EXPECTED.keys()
    assert_close(tensors["encoder.a"], found["encoder.a"], rtol=0, atol=0)
    assert ignored == ()


def test_e06_keys_that_still_miss_are_listed(found: dict[str, Tensor]) -> None:
    with pytest.raises(InvalidValue, match=r"Missing: encoder\.a, encoder\.b\. Unknown: other\.e"):
        checked({f"other.{name}": x for name, x in found.items()}, EXPECTED)


def test_one_tensor_under_two_prefixes_is_refused(found: dict[str, Tensor]) -> None:
    with pytest.raises(InvalidValue, match=r"holds 'encoder\.a' twice"):
        checked(found | {"module.encoder.a": torch.zeros(2, 2)}, EXPECTED)


def test_a_missing_and_an_unknown_tensor_are_named(found: dict[str, Tensor]) -> None:
    del found["encoder.a"]
    with pytest.raises(InvalidValue, match=r"Missing: encoder\.a\. Unknown: encoder\.c\."):
        checked(found | {"encoder.c": torch.zeros(1)}, EXPECTED)


def test_a_long_list_is_cut_with_its_length(found: dict[str, Tensor]) -> None:
    extra = {f"x{i}": torch.zeros(1) for i in range(9)}
    with pytest.raises(InvalidValue, match="x5 and 3 more"):
        checked(found | extra, EXPECTED)


def test_what_the_encoder_has_no_use_for_is_listed(found: dict[str, Tensor]) -> None:
    aside = {"bert.pooler.dense.bias": torch.ones(2), "cls.predictions.bias": torch.ones(2)}
    tensors, ignored = checked(found | aside, EXPECTED)
    assert tensors.keys() == EXPECTED.keys()
    assert ignored == ("cls.predictions.bias", "pooler.dense.bias")


def test_a_wrong_shape_is_refused(found: dict[str, Tensor]) -> None:
    with pytest.raises(ShapeMismatch, match=r"shape \(2,\) for 'encoder\.b' but the file holds"):
        checked(found | {"encoder.b": torch.ones(3)}, EXPECTED)


def test_weights_that_are_not_finite_are_refused(found: dict[str, Tensor]) -> None:
    with pytest.raises(NotFinite, match=r"'encoder\.b' holds NaN"):
        checked(found | {"encoder.b": torch.tensor([1.0, float("nan")])}, EXPECTED)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64, torch.bool])
def test_weights_that_are_not_real_are_refused(
    found: dict[str, Tensor], dtype: torch.dtype
) -> None:
    with pytest.raises(InvalidValue, match=rf"'encoder\.b' should hold real .* {dtype}"):
        checked(found | {"encoder.b": torch.ones(2, dtype=dtype)}, EXPECTED)


def test_layers_are_counted_before_they_are_named() -> None:
    require_layers(2, 2, source="config.json")
    with pytest.raises(InvalidValue, match=r"json promises 1000000000 layers but .* holds 2 tens"):
        require_layers(10**9, 2, source="config.json")


def test_half_precision_weights_become_float32(found: dict[str, Tensor]) -> None:
    tensors, _ = checked({name: x.half() for name, x in found.items()}, EXPECTED)
    assert {x.dtype for x in tensors.values()} == {torch.float32}
