"""Predictions are long runs."""

import pytest


@pytest.fixture(autouse=True)
def _long_run(unchecked_types: None) -> None: ...
