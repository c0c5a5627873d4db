"""The subset of the real data, where it lies beside the checkout; how trainings are run."""

import os
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
import torch

_ROOT = Path(__file__).parents[2]
_VARIABLE = "VLASOV_LRA_DATA"
_PLACES = (_ROOT / "shared/data/lra", _ROOT.parent / "shared/data/lra")


@pytest.fixture
def lra_data() -> Path:
    """The folder of the data of all five tasks."""
    named = os.environ.get(_VARIABLE)
    found = [place for place in ((Path(named),) if named else _PLACES) if place.is_dir()]
    if not found:
        pytest.skip(f"no Long Range Arena data in ${_VARIABLE} or shared/data/lra")
    return found[0]


@pytest.fixture(scope="module")
def plain_calls() -> Iterator[None]:
    """One thread and no run-time type checks: the other tests of these parts check the types."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
    torch.set_num_threads(before)
