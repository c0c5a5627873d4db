"""Two processes against one: the same curve, uneven shares, and an orderly end."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lra.small_runs import SMALL, curve, splits, weights
from torch.testing import assert_close

from vlasov.errors import InvalidValue, MissingExtra, UnknownName
from vlasov.lra.processes import Processes, on_processes
from vlasov.lra.trainer import train

# 17 examples in batches of 4: the last one has a single example, so that one share is empty
LONG = replace(SMALL, epochs=40, dropout=0.0)  # 200 steps


def run(folder, recipe=LONG, **options):
    return train(recipe, splits(), folder=folder, device="cpu", **options)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread", "unchecked_types")
@pytest.mark.parametrize(
    ("precision", "epochs", "tolerance"), [("float64", 40, 1e-12), ("float32", 20, 1e-5)]
)
def test_h01_h02_two_processes_follow_the_curve_of_one(tmp_path, precision, epochs, tolerance):
    pytest.importorskip("lightning")
    recipe = replace(LONG, precision=precision, epochs=epochs, accumulate=2)
    one = run(tmp_path / "one", replace(recipe, accumulate=1))
    seen = []
    two = run(tmp_path / "two", recipe, devices=2, watch=seen.append)
    assert two.steps == one.steps == len(seen) == 5 * epochs
    assert_close(curve(tmp_path / "two"), curve(tmp_path / "one"), rtol=0, atol=tolerance)
    assert two.validation_accuracies == one.validation_accuracies
    assert (two.test_accuracy, two.test_count) == (one.test_accuracy, 5)
    # rounding of the gradient is magnified where Adam divides it by its own small size
    for name, x in weights(tmp_path / "one").items():
        assert_close(weights(tmp_path / "two")[name], x, rtol=0, atol=1e3 * tolerance)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_g14_a_signal_to_the_launcher_stops_two_processes_which_then_go_on(tmp_path):
    pytest.importorskip("lightning")
    recipe = replace(LONG, epochs=3, dropout=0.2)
    whole = run(tmp_path / "whole", recipe, devices=2)

    def stop(report):
        if report.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    stopped = run(tmp_path / "stopped", recipe, devices=2, watch=stop)
    assert stopped.status == "interrupted"
    assert 4 <= stopped.steps < 15
    resumed = run(tmp_path / "stopped", recipe, devices=2, resume=True)
    assert (resumed.status, resumed.steps) == ("finished", whole.steps)
    assert torch.equal(curve(tmp_path / "stopped"), curve(tmp_path / "whole"))


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_an_error_of_the_watcher_ends_two_processes(tmp_path):
    pytest.importorskip("lightning")

    def broken(report):
        raise KeyError(report.step)

    with pytest.raises(KeyError, match="1"):
        run(tmp_path, devices=2, watch=broken)
    assert (tmp_path / "result.json").exists()


_LAUNCH = """
import sys
sys.path.insert(0, sys.argv[1])
from dataclasses import replace
from pathlib import Path
from lra.test_processes import LONG, run
print(run(Path(sys.argv[2]), replace(LONG, epochs=2), devices=2).status)
"""


@pytest.mark.slow
def test_h04_two_runs_of_two_processes_start_together(tmp_path):
    pytest.importorskip("lightning")
    folders = [tmp_path / "a", tmp_path / "b"]
    tests = str(Path(__file__).parents[1])
    commands = [[sys.executable, "-c", _LAUNCH, tests, str(folder)] for folder in folders]
    runs = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands]
    assert [one.communicate()[0].split()[-1] for one in runs] == ["finished"] * 2
    assert torch.equal(*map(curve, folders))


def nothing(processes, stop, tell):
    raise AssertionError(processes)


@pytest.mark.parametrize("count", [0, -1])
def test_less_than_one_process_is_refused(count):
    with pytest.raises(InvalidValue, match=f"at least 1 process but devices is {count}"):
        on_processes(count, nothing, watch=print)


def test_an_unknown_device_is_refused():
    with pytest.raises(UnknownName, match=r"Unknown device 'tpu'.* Known: cpu, cuda"):
        on_processes(1, nothing, watch=print, device="tpu")


@pytest.mark.parametrize("more", [1, 2])
def test_more_processes_than_gpus_are_refused(more):
    wanted = torch.cuda.device_count() + more
    with pytest.raises(InvalidValue, match=f"{wanted} were asked for and there are"):
        on_processes(wanted, nothing, watch=print, device="cuda")


def test_several_processes_without_lightning_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning.fabric", None)
    with pytest.raises(MissingExtra, match=r"pip install 'vlasov\[train\]'. One process needs"):
        on_processes(2, nothing, watch=print, device="cpu")


def test_one_process_needs_no_lightning(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning", None)
    monkeypatch.setitem(sys.modules, "lightning.fabric", None)
    assert run(tmp_path, replace(SMALL, epochs=1)).status == "finished"


def test_any_process_may_ask_all_to_stop():
    # three processes, of which the sum over the others says that another one asks
    asked = Processes(0, 3, torch.device("cpu"), total=lambda x: x + 1.0)
    quiet = Processes(0, 3, torch.device("cpu"), total=lambda x: x)
    assert asked.any(False)
    assert quiet.any(True)
    assert not quiet.any(False)


def test_only_the_first_process_writes():
    assert Processes.alone("cpu").first
    assert not Processes(1, 2, torch.device("cpu")).first
