"""The trainer against a plain loop, its ends, and what it leaves in its folder."""

import csv
import json
import os
import sys
from dataclasses import replace

import pytest
import torch
from lra.small_runs import SMALL, curve, splits, weights
from torch.nn import functional
from torch.testing import assert_close

from vlasov.errors import InvalidValue, RunFolderError
from vlasov.lra import TASKS, load_task
from vlasov.lra.batches import Shares, epoch_batches
from vlasov.lra.checkpoints import BEST, LAST
from vlasov.lra.evaluation import evaluate
from vlasov.lra.lra_model import build_model, build_optimiser
from vlasov.lra.processes import Processes
from vlasov.lra.recipe import recipe
from vlasov.lra.schedule import Schedule
from vlasov.lra.trainer import train
from vlasov.lra.training_result import read_result
from vlasov.transformer import Diffusion, Diffusions

pytestmark = pytest.mark.usefixtures("plain_calls")

DIFFUSIONS = Diffusions(after_embedding=Diffusion(scales=(1, 2)), after_mlp=Diffusion(scales=(1,)))


def run(folder, recipe=SMALL, given=None, **options):
    return train(recipe, given or splits(), folder=folder, device="cpu", **options)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A run of every file, and its result."""
    folder = tmp_path_factory.mktemp("learnt") / "run"
    recipe = replace(SMALL, epochs=8, learning_rate=2e-2)
    return folder, run(folder, recipe, diffusions=DIFFUSIONS)


def test_a_run_learns_and_reports_the_test_of_its_best_epoch(learnt):
    _, result = learnt
    assert (result.status, result.epochs, result.steps) == ("finished", 8, 40)
    assert result.train_losses[-1] < 0.5 * result.train_losses[0]
    best = max(result.validation_accuracies)
    assert result.validation_accuracies[result.best_epoch] == best == 1.0
    assert (result.test_accuracy, result.test_count) == (1.0, 5)
    assert result.floors == {"majority": 0.5}


def test_the_result_reads_back(learnt):
    folder, result = learnt
    assert read_result(folder) == result


def test_learned_strengths_are_told_by_layer_and_scale(learnt):
    _, result = learnt
    assert sorted(len(one) for one in result.alphas.values()) == [1, 2]
    for name, alphas in result.alphas.items():
        assert alphas == pytest.approx([0.1] * len(alphas), abs=0.05)
        assert alphas != [0.1] * len(alphas)
        assert sum(result.weights[name]) == pytest.approx(1.0)
        assert result.scales[name] == [1, 2][: len(alphas)]


def test_the_logs_have_a_row_for_each_epoch_and_each_step(learnt):
    folder, result = learnt
    with (folder / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["train_loss"]) for row in rows] == list(result.train_losses)
    assert [int(row["steps"]) for row in rows] == list(range(5, 41, 5))
    assert len(curve(folder)) == 40
    assert list((folder / "tensorboard").iterdir())


def test_a_run_needs_no_tensorboard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
    assert run(tmp_path, replace(SMALL, epochs=1)).status == "finished"
    assert not (tmp_path / "tensorboard").exists()


def test_the_best_weights_are_kept_beside_the_last(tmp_path):
    # validation asks for the opposite of what is learnt: it only gets worse
    given = splits()
    wrong = replace(given.validation, labels=1 - given.validation.labels)
    recipe = replace(SMALL, epochs=6, learning_rate=2e-2)
    result = run(tmp_path, recipe, replace(given, validation=wrong))
    assert result.best_epoch is not None
    assert result.best_epoch < 5
    best, last = weights(tmp_path, BEST), weights(tmp_path, LAST)
    assert not torch.equal(best["head.out.weight"], last["head.out.weight"])
    model = build_model(recipe, given, None, 0)
    model.load_state_dict(best)
    found = evaluate(model.eval(), wrong, Shares(0, 1), Processes.alone("cpu"), batch=4)
    assert found.accuracy == result.validation_accuracies[result.best_epoch]
    assert found.loss == pytest.approx(result.validation_losses[result.best_epoch], rel=1e-14)


def test_an_epoch_is_the_plain_loop_of_torch(tmp_path):
    recipe = replace(SMALL, epochs=2, dropout=0.0, warmup=3, weight_decay=0.1)
    given = splits()
    run(tmp_path, recipe, given, seed=5)
    model = build_model(recipe, given, None, 5)
    optimiser = build_optimiser(model, recipe)
    schedule = Schedule(recipe.learning_rate, 3, 10)
    losses = []
    for epoch in range(2):
        for rows in epoch_batches(given.train, 4, seed=5, epoch=epoch):
            batch = given.train.batch(rows)
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(batch.inputs, batch.padding), batch.labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for group in optimiser.param_groups:
                group["lr"] = schedule(len(losses))
            optimiser.step()
            losses.append(loss.item())
    assert_close(curve(tmp_path)[:, 0], torch.tensor(losses, dtype=torch.float64))
    assert_close(weights(tmp_path), model.state_dict())


def test_the_loss_of_an_epoch_is_the_mean_over_its_examples(tmp_path):
    result = run(tmp_path, replace(SMALL, epochs=1))
    losses = curve(tmp_path)[:, 0]
    sizes = [len(rows) for rows in epoch_batches(splits().train, 4, seed=0, epoch=0)]
    expected = (losses * torch.tensor(sizes, dtype=torch.float64)).sum() / 17
    assert result.train_losses[0] == pytest.approx(expected.item(), rel=1e-14)


def test_accumulation_does_not_change_the_curve(tmp_path):
    recipe = replace(SMALL, dropout=0.0, epochs=2)
    run(tmp_path / "whole", recipe)
    run(tmp_path / "parts", replace(recipe, accumulate=3))
    assert_close(curve(tmp_path / "parts"), curve(tmp_path / "whole"), rtol=0, atol=1e-12)


def test_a_seed_fixes_the_run_and_another_one_changes_it(tmp_path):
    before = torch.get_rng_state()
    for name, seed in [("a", 0), ("b", 0), ("c", 1)]:
        torch.rand(3)  # the generator of torch has no part in it
        run(tmp_path / name, replace(SMALL, epochs=1), seed=seed)
    torch.set_rng_state(before)
    assert torch.equal(curve(tmp_path / "a"), curve(tmp_path / "b"))
    assert not torch.equal(curve(tmp_path / "a"), curve(tmp_path / "c"))


def test_the_generator_of_torch_is_left_alone(tmp_path):
    before = torch.get_rng_state()
    run(tmp_path, replace(SMALL, epochs=1))
    assert torch.equal(torch.get_rng_state(), before)


def test_models_of_other_diffusions_share_the_weights_of_their_seed():
    bare = build_model(SMALL, splits(), None, 3).state_dict()
    found = build_model(SMALL, splits(), DIFFUSIONS, 3).state_dict()
    assert len(found) > len(bare)
    assert all(torch.equal(found[name], x) for name, x in bare.items())


def test_only_matrices_and_tables_decay():
    model = build_model(SMALL, splits(), DIFFUSIONS, 0)
    decaying, free = build_optimiser(model, replace(SMALL, weight_decay=0.1)).param_groups
    assert (decaying["weight_decay"], free["weight_decay"]) == (0.1, 0.0)
    names = {id(weight): name for name, weight in model.named_parameters()}
    kept = {names[id(weight)] for weight in free["params"]}
    assert len(kept) + len(decaying["params"]) == len(names)
    assert all(weight.ndim > 1 for weight in decaying["params"])
    wide = {name for name, weight in model.named_parameters() if weight.ndim > 1} & kept
    assert len(wide) == 2
    assert all(name.endswith("alpha_logits") for name in wide)


def test_a_run_without_improvement_stops_early(tmp_path):
    recipe = replace(SMALL, epochs=9, patience=2, learning_rate=1e-300, dropout=0.0)
    result = run(tmp_path, recipe)
    assert (result.status, result.epochs, result.best_epoch) == ("stopped early", 3, 0)
    assert result.test_accuracy is not None


def test_a_loss_that_is_not_finite_ends_the_run_without_a_crash(tmp_path):
    result = run(tmp_path, replace(SMALL, learning_rate=1e300, warmup=0))
    assert result.status == "diverged"
    assert (result.test_accuracy, result.test_count) == (None, 0)
    assert read_result(tmp_path) == result

    def refuse(name):
        raise AssertionError(name)

    json.loads((tmp_path / "result.json").read_text(), parse_constant=refuse)


def test_numbers_that_are_not_finite_read_back(tmp_path):
    run(tmp_path, replace(SMALL, epochs=1))
    path = tmp_path / "result.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | {"validation_losses": ["nan", "inf", 1.0]}))
    assert str(read_result(tmp_path).validation_losses) == "(nan, inf, 1.0)"


def test_a_damaged_result_is_named(tmp_path):
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(RunFolderError, match="cannot be read as the result of a training"):
        read_result(tmp_path)


def test_there_is_no_result_before_the_end(tmp_path):
    assert read_result(tmp_path) is None


def test_progress_is_told_after_every_step(tmp_path):
    seen = []
    run(tmp_path, watch=seen.append)
    assert [report.step for report in seen] == list(range(1, 16))
    assert {report.steps for report in seen} == {15}
    assert [report.epoch for report in seen] == [i // 5 for i in range(15)]
    assert seen[0].seconds_left > 0 == seen[-1].seconds_left
    assert_close(torch.tensor([one.loss for one in seen]).double(), curve(tmp_path)[:, 0])


def test_denormal_numbers_are_flushed_while_training_alone(tmp_path):
    seen = []
    tiny = torch.tensor(1e-310, dtype=torch.float64)
    run(tmp_path, replace(SMALL, epochs=1), watch=lambda report: seen.append((tiny * 1.0).item()))
    assert set(seen) == {0.0}
    assert (tiny * 1.0).item() > 0


def test_pairs_are_read_by_two_towers(tmp_path):
    given = splits(task="retrieval", towers=2)
    recipe = replace(SMALL, task="retrieval", length=9, epochs=2)
    result = run(tmp_path, recipe, given, diffusions=DIFFUSIONS)
    assert (result.status, result.test_count) == ("finished", 5)


def test_bfloat16_keeps_weights_and_losses_in_single_precision(tmp_path):
    recipe = replace(SMALL, epochs=1, dropout=0.0, clip=100.0)
    run(tmp_path / "half", replace(recipe, precision="bfloat16"))
    run(tmp_path / "whole", replace(recipe, precision="float32"))
    assert {x.dtype for x in weights(tmp_path / "half").values()} == {torch.float32}
    half, whole = curve(tmp_path / "half"), curve(tmp_path / "whole")
    assert not torch.equal(half, whole)
    # bfloat16 has 8 bits: products of a few of them are off by some 2**-8
    assert_close(half[0], whole[0], rtol=0.05, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_at_its_tiny_size_on_real_data(tmp_path, lra_data, task):
    tiny = recipe(task, "tiny")
    given = load_task(task, lra_data, length=tiny.length, limit=tiny.limit)
    result = run(tmp_path, tiny, given, diffusions=DIFFUSIONS)
    assert (result.status, result.epochs, result.steps) == ("finished", 2, 8)
    assert result.test_count == 8
    assert result.floors["majority"] <= 1


def test_a_recipe_of_another_task_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="for 'listops' but the examples are of 'image'"):
        run(tmp_path, given=splits(task="image"))


def test_a_part_without_examples_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="validation has none"):
        run(tmp_path, given=splits(counts=(4, 0, 2)))


def test_sequences_longer_than_the_recipe_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match="at most 4 tokens but train holds one of 9"):
        run(tmp_path, replace(SMALL, length=4))


def test_a_folder_that_holds_a_training_is_refused(learnt):
    folder, _ = learnt
    with pytest.raises(RunFolderError, match=r"needs a folder of its own but .* Resume it"):
        run(folder)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="Cannot make the folder"):
        run(tmp_path / "file" / "run")


def test_a_disk_that_is_full_is_named(tmp_path, monkeypatch):
    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunFolderError, match=r"Cannot write '.*': No space left on device"):
        run(tmp_path)
