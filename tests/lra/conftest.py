"""The subset of the real data, where it lies beside the checkout."""

import os
from pathlib import Path

import pytest

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
