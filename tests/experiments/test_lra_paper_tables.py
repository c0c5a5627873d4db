"""The tables of the paper filled from made-up runs: cells, empty cells, and how they read."""

import functools

import pytest
from lra_grids import made_outcomes, made_result

from vlasov.experiments.lra_paper_cells import Cell, PaperTable, markdown
from vlasov.experiments.lra_paper_tables import paper_tables
from vlasov.experiments.lra_published import ACCURACY, SCALES, TASKS
from vlasov.experiments.lra_statistics import Estimate, estimate
from vlasov.experiments.lra_tables import run_table
from vlasov.experiments.lra_trials import Outcome

SEEDS = 3
ARMS = ("none", "after-embedding:1", "after-embedding:2", "after-embedding:4",
        "after-embedding:1,2,4")  # fmt: skip
GAIN = dict(zip(ARMS, (0.0, 0.02, 0.04, 0.03, 0.05), strict=True))


def accuracy(trial):
    """Seed by seed the same gain."""
    return 0.4 + 0.01 * trial.seed + GAIN[trial.arm.name]


@functools.cache
def tables(*tasks):
    outcomes = made_outcomes(tasks or tuple(TASKS), ARMS, SEEDS, accuracy)
    return {table.number: table for table in paper_tables(run_table(outcomes))}


def cells(number, row, *tasks):
    return tables(*tasks)[number].rows[row]


def test_all_seven_are_there_and_empty_without_runs():
    empty = paper_tables(run_table([]))
    assert [table.number for table in empty] == [6, 7, 10, 11, 12, 14, 15]
    for table in empty:
        for row in table.rows.values():
            assert all(cell.text == "" for cell in row)
    assert empty[2].rows["After MLP"][0].paper == ACCURACY["after-mlp"][0]


def test_positions_are_those_of_scale_one():
    cell = cells(10, "After Embedding")[0]
    assert cell.found == estimate([0.42, 0.43, 0.44])
    assert cell.paper == 0.3962
    assert cell.text == "0.4300 (0.4052 to 0.4548, n = 3)"
    assert cells(10, "After MLP")[0].text == ""


def test_an_average_needs_all_five_tasks():
    assert cells(10, "After Embedding")[-1].found.mean == pytest.approx(0.43)
    assert cells(6, "After Embedding")[0].found.mean == pytest.approx(0.43)
    whole, some = cells(6, "After Embedding", "listops", "image")
    assert whole.found.n == 0
    assert some.found.mean == pytest.approx(0.43)
    assert some.paper == pytest.approx((0.3962 + 0.4296) / 2)
    assert tables("listops", "image")[6].columns[1] == (
        "Average of the tasks run (ListOps, Image Cls.)"
    )


def test_gains_are_paired_and_in_percent_of_the_same_seed():
    change, percent = cells(11, "After Embedding")[:2]
    assert change.found.mean == pytest.approx(0.02)
    assert change.paper == pytest.approx(0.0222)
    known = estimate([100 * 0.02 / (0.4 + 0.01 * seed) for seed in range(SEEDS)])
    assert percent.found.mean == pytest.approx(known.mean)
    assert percent.found.high == pytest.approx(known.high)
    assert percent.paper_text == "+5.94"
    assert "Baseline (Transformer)" not in tables()[11].rows


def test_scales_the_best_single_one_and_the_gain_over_it():
    row = cells(12, "After Embedding")
    assert [cell.found.mean for cell in row] == pytest.approx([0.43, 0.45, 0.44, 0.46, 0.45, 0.01])
    assert row[-1].paper == pytest.approx(0.009)
    assert [cell.found.mean for cell in cells(7, "After Embedding")] == pytest.approx(
        [0.43, 0.45, 0.44, 0.46]
    )
    over = cells(12, "After Embedding, over the baseline")
    assert [cell.found.mean for cell in over] == pytest.approx(
        [0.02, 0.04, 0.03, 0.05, 0.04, 0.01]
    )
    assert [cell.paper_text for cell in over] == [
        "+0.0220", "+0.0200", "+0.0250", "+0.0340", "+0.0250", "+0.0090"
    ]  # fmt: skip
    (base,) = cells(12, "Baseline (Transformer), without scales")
    assert (base.found.mean, base.paper) == (pytest.approx(0.41), 0.3740)
    assert len(tables()[12].columns) == len(SCALES) + 2


def test_intervals_of_accuracies_end_where_accuracies_do_and_those_of_gains_do_not():
    outcomes = made_outcomes(["listops"], ARMS, 2, lambda trial: (0.1, 0.95)[trial.seed % 2])
    found = {table.number: table for table in paper_tables(run_table(outcomes))}
    for number, row in (
        (10, "After Embedding"),
        (12, "After Embedding"),
        (15, "Baseline (Transformer)"),
    ):
        one = found[number].rows[row][0].found
        assert (one.mean, one.low, one.high) == (pytest.approx(0.525), 0.0, 1.0)
    signs = made_outcomes(["listops"], ARMS[:2], 2, lambda trial: 0.5 + 0.4 * (
        trial.arm.name != "none") * (-1) ** trial.seed)  # fmt: skip
    gain = paper_tables(run_table(signs))[3].rows["After Embedding"][0].found
    assert gain.low < -1
    assert gain.high > 1


@pytest.mark.parametrize(("known", "shown"), [(True, 50.0), (False, None)])
def test_the_overhead_is_that_of_the_same_seed_and_memory_where_it_is_known(known, shown):
    def cost(trial):
        more = "embed" in trial.arm.name
        return {"step_seconds": 1.1 if more else 1.0,
                "memory": (300 + 150 * more) * (1 + trial.seed) if known else None}  # fmt: skip

    outcomes = [
        Outcome(one.trial, made_result(**cost(one.trial)))
        for one in made_outcomes(["listops"], ARMS[:2], SEEDS, accuracy)
    ]
    table = paper_tables(run_table(outcomes))[5]
    time, memory = table.rows["After Embedding, Fast (h=1)"]
    assert time.found.mean == pytest.approx(10.0)
    assert (time.paper, memory.found.mean, memory.paper_text) == (5.6, shown, "+1.2")


def test_the_spread_is_the_deviation_over_seeds():
    mean, spread = cells(15, "After Embedding")
    assert mean.found.mean == pytest.approx(0.43)
    assert spread.found.mean == pytest.approx(0.01)
    assert spread.text == "0.0100 (n = 3)"


def test_the_file_has_all_digits_and_the_paper_beside():
    table = tables()[10].table()
    row = table.rows[table.column("row").index("After Embedding")]
    found = dict(zip(table.columns, row, strict=True))
    known = estimate([0.42, 0.43, 0.44])
    assert found["ListOps"] == known.mean
    assert (found["ListOps n"], found["ListOps low"]) == (3, known.low)
    assert found["Retrieval paper"] == 0.8113
    short = tables()[12].table()
    assert {len(row) for row in short.rows} == {len(short.columns)}


def test_markdown_has_a_line_for_each_row_and_the_remarks_below():
    rows = {"a": (Cell(Estimate(1, 0.5), 0.25),), "b": ()}
    text = markdown([PaperTable(15, "Title", ("x",), rows)], "Head")
    assert text.startswith("# Head\n")
    assert "## Table 15: Title" in text
    assert "| a | 0.5000 (n = 1) | 0.2500 |" in text
    assert "| b |  |  |" in text
    assert text.rstrip().endswith("- A deviation over seeds, not an error of the mean.")
