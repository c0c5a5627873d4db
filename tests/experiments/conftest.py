"""Experiments are long runs; the cloud whose runs are recorded."""

import pytest

from vlasov.cloud import Cloud


@pytest.fixture(autouse=True)
def _long_run(unchecked_types: None) -> None: ...


@pytest.fixture
def cloud() -> Cloud:
    return Cloud.gaussian(4, [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], seed=0)
