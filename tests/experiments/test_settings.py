"""Settings read from text and TOML by the types of a dataclass."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.settings import choice, from_mapping, option, read_toml, split_specs


@dataclass(frozen=True)
class Sample:
    count: int = option(1, "A count.")
    rate: float = option(0.5, "A rate.")
    step_size: float | str = option(0.1, "A number or a word.")
    limit: int | None = option(None, "May be absent.")
    flag: bool = option(False, "Yes or no.")
    times: tuple[float, ...] = option((), "Numbers.")
    specs: tuple[str, ...] = option((), "Specs.")


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("count", "12", 12),
        ("count", "-3", -3),
        ("rate", "-2e-3", -0.002),
        ("rate", 2, 2.0),
        ("step-size", "0.25", 0.25),
        ("step_size", "adaptive", "adaptive"),
        ("limit", None, None),
        ("limit", "7", 7),
        ("flag", True, True),
        ("times", "0,-0.5,1e1", (0.0, -0.5, 10.0)),
        ("times", [0, 1.5], (0.0, 1.5)),
        ("times", ("0,1", "2"), (0.0, 1.0, 2.0)),
        (
            "specs",
            "mean,mlp:hidden=16,scale=2,diameter",
            ("mean", "mlp:hidden=16,scale=2", "diameter"),
        ),
        ("specs", ["mean", "decay:rate=1"], ("mean", "decay:rate=1")),
    ],
)
def test_i01_values_are_read_by_type(name: str, written: object, value: object) -> None:
    assert getattr(from_mapping(Sample, {name: written}), name.replace("-", "_")) == value


@pytest.mark.parametrize(
    ("name", "written", "phrase"),
    [
        ("count", "1.5", "'count' takes a whole number but got '1.5'"),
        ("count", True, "'count' takes a whole number"),
        ("count", "--5", "takes a whole number"),
        ("rate", "inf", "'rate' takes a finite number but got 'inf'"),
        ("rate", "-Infinity", "a finite number"),
        ("rate", "nan", "a finite number"),
        ("rate", float("nan"), "a finite number"),
        ("rate", "fast", "a finite number but got 'fast'"),
        ("rate", False, "a finite number"),
        ("step-size", True, "'step-size' takes a finite number or text but got True"),
        ("flag", "yes", "'flag' takes true or false"),
        ("limit", "many", "'limit' takes a whole number"),
        ("times", "0,one", "'times' takes a finite number but got 'one'"),
        ("specs", [1], "'specs' takes text but got 1"),
        ("specs", "", "'specs' needs a value but got ''"),
        ("specs", "mean,,decay", "needs a value on both sides of a comma but got 'mean,,decay'"),
        ("specs", "mean, ", "on both sides of a comma but got 'mean, '. Write them, or drop"),
        ("times", "0,,1", "'times' needs a value on both sides of a comma"),
        ("times", ["1", " "], "'times' needs a value but got ' '"),
    ],
)
def test_i01_other_values_are_refused_by_name(name: str, written: object, phrase: str) -> None:
    with pytest.raises(InvalidValue, match=phrase):
        from_mapping(Sample, {name: written})


def test_an_unknown_setting_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="Unknown setting 'stepsize': did you mean 'step-size'"):
        from_mapping(Sample, {"stepsize": 1})


def test_an_unknown_word_gets_the_nearest_one() -> None:
    choice("last", ("all", "last"), name="keep")
    with pytest.raises(UnknownName, match="Unknown keep 'lst': did you mean 'last'"):
        choice("lst", ("all", "last"), name="keep")


@given(st.lists(st.sampled_from(["mean", "a:b=1", "a:b=1,c=2", "x"]), max_size=5))
def test_joined_specs_come_apart_again(specs: list[str]) -> None:
    assert split_specs(",".join(specs)) == specs


def test_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('count = 3\nstep-size = "adaptive"\n')
    assert read_toml(tmp_path / "a.toml") == {"count": 3, "step-size": "adaptive"}


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (None, "Cannot read"),
        (b"count = ", "is not valid TOML"),
        (b"\xff\xfe", "is not valid TOML"),
    ],
)
def test_a_bad_toml_file_is_refused(tmp_path: Path, content: bytes | None, phrase: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidValue, match=phrase):
        read_toml(path)
