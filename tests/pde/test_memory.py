"""A sum that would not fit is refused before it starts, with an engine that fits."""

import pytest
import torch

import vlasov as vl
from vlasov.errors import TooLittleMemory
from vlasov.pde import memory


def test_free_memory_is_known_on_this_system():
    free = memory.available_memory(torch.device("cpu"))
    assert free is None or free > 0


def test_a_device_without_an_answer_is_not_checked():
    assert memory.available_memory(torch.device("meta")) is None


def test_too_little_memory_names_the_need_and_a_fitting_engine(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 50_000_000)
    cloud = vl.Cloud.gaussian(n=20_000, d=2)
    with pytest.raises(TooLittleMemory, match=r"needs .* GB for 20000 tokens.*use engine='"):
        vl.velocity(vl.TransformerPDE(engine="dense"), cloud)


def test_nothing_fits(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 1)
    with pytest.raises(TooLittleMemory, match="use fewer tokens"):
        vl.velocity(vl.TransformerPDE(), vl.Cloud.gaussian(n=10, d=2))
