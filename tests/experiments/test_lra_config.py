"""The settings of `vlasov train`: presets with what is given in their place, and refusals."""

from dataclasses import replace
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.settings import from_mapping
from vlasov.lra.recipe import recipe

PLAIN = LraConfig(tasks=("listops",))


@pytest.mark.parametrize("size", ["tiny", "cpu", "paper"])
def test_without_choices_the_recipe_is_the_preset(size):
    assert replace(PLAIN, size=size).recipe("listops") == recipe("listops", size)


def test_choices_take_the_place_of_the_preset():
    found = replace(PLAIN, epochs=3, learning_rate=0.5, train_examples=7, as_published=True)
    known = recipe("listops", "cpu")
    assert found.recipe("listops") == replace(
        known, epochs=3, learning_rate=0.5, limit=7, as_published=True
    )


def test_a_limit_may_be_that_of_one_task():
    config = LraConfig(tasks=("listops", "text"), train_examples="listops=40")
    assert [config.recipe(task).limit for task in config.names] == [40, None]
    both = replace(config, train_examples="listops=40, text=50")
    assert [both.recipe(task).limit for task in both.names] == [40, 50]
    assert replace(config, train_examples=7).recipe("text").limit == 7


def test_a_whole_grid_names_its_arms_itself():
    assert len(replace(PLAIN, grid=True).arms) == 29
    assert [arm.name for arm in PLAIN.arms] == ["none"]


def test_a_task_may_carry_options_of_its_reader_or_be_generated():
    config = LraConfig(
        tasks=("listops:cut=1", "text"), generate=("listops",), data="folder", seeds=2, seed=5
    )
    assert config.names == ("listops", "text")
    assert config.source("listops") == ("listops:cut=1", None)
    assert config.source("text") == ("text", Path("folder"))
    assert list(config.all_seeds) == [5, 6]


def test_workers_and_the_place_of_the_data_may_change_and_others_may_not():
    assert replace(PLAIN, workers=2, data="elsewhere") == PLAIN
    assert replace(PLAIN, seeds=2) != PLAIN


@pytest.mark.parametrize(("given", "error", "words"), [
    ({"tasks": ()}, InvalidValue, "needs a task but got none"),
    ({"tasks": ("listop",)}, UnknownName, "did you mean 'listops'"),
    ({"tasks": ("text", "text")}, InvalidValue, "'text' is asked for twice"),
    ({"size": "small"}, UnknownName, "Unknown size 'small'"),
    ({"diffusion": "after-embeding"}, UnknownName, "did you mean 'after-embedding'"),
    ({"diffusion": "none", "grid": True}, InvalidValue, "both name the arms"),
    ({"generate": ("text",)}, UnknownName, "Unknown task to generate 'text'"),
    ({"train_examples": "text=4"}, UnknownName, "Unknown task to limit 'text'"),
    ({"train_examples": "listops=many"}, InvalidValue, "takes a whole number, or one for a task"),
    ({"train_examples": 0}, InvalidValue, "limit must be at least 1"),
    ({"seeds": 0}, InvalidValue, "'seeds' must be at least 1 but is 0"),
    ({"workers": 0}, InvalidValue, "'workers' must be at least 1 but is 0"),
    ({"devices": 0}, InvalidValue, "'devices' must be at least 1 but is 0"),
    ({"devices": 2, "workers": 2}, InvalidValue, "share no devices"),
    ({"learning_rate": -1.0}, InvalidValue, "learning_rate must be"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        from_mapping(LraConfig, {"tasks": ("listops",)} | given)
