"""Clouds written as tables."""

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

EPS = torch.finfo(torch.float64).eps


def table(tmp_path, text: str, encoding: str = "utf-8") -> Cloud:
    path = tmp_path / "cloud.csv"
    path.write_text(text, encoding=encoding)
    return Cloud.load(path)


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "1, 2\r\n\r\n3, 4\r\n", "a,b\n1,2\n3,4", '"1",2\n3,4']
)
def test_a_table_of_coordinates(text, tmp_path):
    assert table(tmp_path, text).points.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_byte_order_mark_is_no_name(tmp_path):
    assert table(tmp_path, "1,2\n3,4\n", encoding="utf-8-sig").points.shape == (2, 2)


@pytest.mark.parametrize("names", ["b,Weight,a,position", "b,weights,a,POSITIONS"])
def test_columns_of_weights_and_positions_are_no_coordinates(names, tmp_path):
    cloud = table(tmp_path, f"{names}\n1,0.25,2,7\n3,0.75,4,8\n")
    assert cloud.points.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert_close(cloud.weights, torch.tensor([0.25, 0.75]).double(), atol=4 * EPS, rtol=0)
    assert cloud.positions.tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("text", "error", "phrase"),
    [
        ("x,y\n1,2\n3,abc\n", InvalidValue, "line 3 of '.*' holds 'abc'"),
        ("1,2\n3,\n", InvalidValue, "line 2 of '.*' holds ''"),
        ("1;2\n3;4\n", InvalidValue, "line 2 of '.*' holds '3;4'"),
        ("1,2\n3,nan\n", NotFinite, "line 2 of '.*' is"),
        ("1,2\n3,inf\n", NotFinite, "line 2 of '.*' is"),
        ("1,2\n\n3\n", ShapeMismatch, "must have 2 cells but line 3 of '.*' has 1"),
        ("1,two\n3,4\n", InvalidValue, "numbers only, or names"),
        (",x\n0,4\n", InvalidValue, "index=False"),
        ("x,x\n0,4\n", InvalidValue, "all different"),
        ("x,y\n", InvalidValue, "has none"),
        ("\n\n", InvalidValue, "has none"),
        ("weight\n1\n", InvalidValue, r"needs an array 'points' but .* \['weights'\]"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(text, error, phrase, tmp_path):
    with pytest.raises(error, match=phrase):
        table(tmp_path, text)


def test_a_table_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="comma-separated text in UTF-8"):
        table(tmp_path, "é,1\n", encoding="latin-1")
