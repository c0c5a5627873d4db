"""Options and fixtures shared by all tests: number format, device, and explicit randomness."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--dtype`` and ``--device``, which re-run the suite in another format or place."""
    parser.addoption("--dtype", choices=sorted(DTYPES), default="float64")
    parser.addoption("--device", default="cpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests are long runs; those marked ``gpu`` are skipped where there is no CUDA device."""
    for item in items:
        if item.get_closest_marker("slow") and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "unchecked_types")
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_configure(config: pytest.Config) -> None:
    """One thread for each of several test processes: they would wait for each other."""
    if hasattr(config, "workerinput"):
        torch.set_num_threads(1)


@pytest.fixture
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """The number format under test."""
    return DTYPES[request.config.getoption("--dtype")]


@pytest.fixture
def device(request: pytest.FixtureRequest) -> torch.device:
    """The device under test."""
    return torch.device(request.config.getoption("--device"))


@pytest.fixture
def generator(device: torch.device) -> torch.Generator:
    """Explicit randomness with a fixed seed, new for every test."""
    return torch.Generator(device).manual_seed(0)


@pytest.fixture
def unchecked_types() -> Iterator[None]:
    """No run-time type checks: for long runs, whose calls the unit tests check on short ones."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
