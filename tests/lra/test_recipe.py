"""Recipes: the published numbers, what is refused, and the warm-up that outlasts a run."""

import dataclasses

import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.lra.recipe import PRECISIONS, SIZES, recipe

TASKS = ("listops", "text", "retrieval", "pathfinder", "image")
# Table 8: layers and batch size
PUBLISHED = {
    "listops": (6, 256),
    "pathfinder": (6, 512),
    "text": (6, 128),
    "retrieval": (4, 64),
    "image": (4, 1024),
}


@pytest.mark.parametrize("task", TASKS)
def test_the_paper_size_is_tables_8_and_9(task):
    found = recipe(task, "paper")
    assert (found.depth, found.batch) == PUBLISHED[task]
    assert (found.width, found.heads, found.mlp_width) == (128, 8, 512)
    assert (found.learning_rate, found.warmup, found.weight_decay) == (1e-3, 10_000, 1e-5)
    assert (found.clip, found.dropout, found.epochs, found.patience) == (1.0, 0.1, 50, 10)
    assert found.limit is None


@pytest.mark.parametrize("task", TASKS)
def test_the_cpu_size_is_for_a_few_epochs_of_short_sequences(task):
    found = recipe(task, "cpu")
    lengths = {"listops": 500, "text": 1000, "retrieval": 1000}
    assert found.length == lengths.get(task, 1024)
    assert found.epochs <= 6
    assert (found.width, found.depth, found.heads, found.mlp_width) == (32, 2, 2, 64)
    assert found.warmup_steps(1000) == 100


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", SIZES)
def test_every_preset_says_where_it_comes_from(task, size):
    assert (recipe(task, size).task, recipe(task, size).size) == (task, size)


def test_the_tiny_size_is_two_epochs_of_few_examples():
    found = recipe("image", "tiny")
    assert (found.epochs, found.limit, found.steps(32)) == (2, 32, 8)


def test_steps_count_the_last_batch_of_an_epoch():
    found = dataclasses.replace(recipe("listops", "cpu"), batch=32, epochs=3)
    assert found.steps(65) == 9


# spec: 2,200 steps for Image and 9,800 for Text are fewer than the 10,000 of the warm-up
@pytest.mark.parametrize(
    ("task", "examples", "steps"), [("image", 45_000, 2200), ("text", 25_000, 9800)]
)
def test_a_warmup_that_outlasts_the_run_is_cut_with_a_warning(task, examples, steps):
    published = recipe(task, "paper")
    assert published.steps(examples) == steps
    with pytest.warns(
        UserWarning, match=f"takes 10000 of {steps} steps; it is cut to {steps // 10}"
    ):
        assert published.warmup_steps(steps) == steps // 10


def test_as_published_keeps_the_warmup_without_a_warning():
    published = dataclasses.replace(recipe("image", "paper"), as_published=True)
    assert published.warmup_steps(2200) == 10_000


def test_a_warmup_that_fits_is_kept():
    assert recipe("listops", "paper").warmup_steps(18_750) == 10_000


@pytest.mark.parametrize(
    ("field", "value", "phrase"),
    [
        ("length", 0, "length must be at least 1 but is 0"),
        ("batch", -1, "batch must be at least 1 but is -1"),
        ("epochs", 0, "epochs must be at least 1"),
        ("accumulate", 9, "accumulate must be 1 to batch but is 9"),
        ("limit", 0, "limit must be at least 1"),
        ("patience", -1, "patience must be 0"),
        ("dropout", 1.0, "dropout must be in"),
        ("learning_rate", 0.0, "learning_rate must be finite and above 0"),
        ("clip", float("nan"), "clip must be finite"),
        ("warmup", -1, "warmup must be finite and 0 or more"),
        ("weight_decay", float("inf"), "weight_decay must be finite"),
    ],
)
def test_numbers_out_of_range_are_refused(field, value, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        dataclasses.replace(recipe("image", "tiny"), **{field: value})


@pytest.mark.parametrize(
    ("field", "value", "phrase"),
    [
        ("task", "listop", "Unknown task 'listop': did you mean 'listops'"),
        ("size", "papers", "Unknown size 'papers': did you mean 'paper'"),
        ("precision", "float16", "Unknown precision 'float16'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(field, value, phrase):
    with pytest.raises(UnknownName, match=phrase):
        dataclasses.replace(recipe("image", "tiny"), **{field: value})


@pytest.mark.parametrize(("task", "size"), [("images", "cpu"), ("image", "cpus")])
def test_there_is_no_preset_of_an_unknown_task_or_size(task, size):
    with pytest.raises(UnknownName, match="did you mean"):
        recipe(task, size)


def test_precisions_need_no_loss_scale():
    # float16 would need its gradients unscaled before clipping (G04)
    assert "float16" not in PRECISIONS
