"""What a training needs at its peak, and where that cannot be told."""

import json
import mmap

import pytest
import torch
from lra_grids import made_result

from vlasov.experiments import lra_work
from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.lra_trials import Trial
from vlasov.experiments.lra_work import LraWork
from vlasov.lra import memory
from vlasov.lra.memory import peak_memory
from vlasov.lra.recipe import recipe
from vlasov.lra.training_result import read_result, write_result

pytestmark = [
    pytest.mark.usefixtures("unchecked_types"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="the peak is that of the GPU"),
    pytest.mark.skipif(not memory._STATUS.exists(), reason="no table of memory on this system"),
]

MEGA = 2**20


def filled(count):
    """So many megabytes of the system's own, not of what this process has freed; given back."""
    with mmap.mmap(-1, count * MEGA) as pages:
        for place in range(0, len(pages), mmap.PAGESIZE):
            pages[place] = 1
        return len(pages) // MEGA


@pytest.mark.parametrize("count", [60, 30])  # the second within what the first has freed
def test_the_peak_is_what_was_held_at_once_whatever_was_before(count):
    done, peak = peak_memory(lambda: filled(count))
    assert done == count
    assert peak / MEGA == pytest.approx(count, abs=5)


def test_without_a_table_or_a_new_peak_nothing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_FORGET", tmp_path / "none" / "here")
    filled(40)
    assert peak_memory(lambda: 7) == (7, None)
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    assert peak_memory(lambda: filled(40)) == (40, None)


@pytest.mark.parametrize("alone", [True, False])
def test_the_memory_of_a_run_alone_in_its_process_is_kept(monkeypatch, tmp_path, alone):
    def train(recipe, splits, **given):
        filled(30)
        write_result(given["folder"], made_result(0.4))
        return made_result(0.4)

    monkeypatch.setattr(lra_work, "train", train)
    trial = Trial("listops", Arm("none"), 0)
    small = recipe("listops", "tiny")
    LraWork(trial, small, ("listops", None), tmp_path, alone=alone)(lambda share: None, 0)
    found = read_result(tmp_path).memory
    assert found / MEGA == pytest.approx(30, abs=5) if alone else found is None


def test_results_without_a_memory_still_read(tmp_path):
    write_result(tmp_path, made_result(0.4))
    path = tmp_path / "result.json"
    content = json.loads(path.read_text())
    del content["memory"]
    path.write_text(json.dumps(content))
    assert read_result(tmp_path) == made_result(0.4)
