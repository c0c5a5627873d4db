"""One process or several that train one model: launched by Lightning Fabric, summed exactly.

Gradients are sums over all processes of sums over examples, divided once by the global count: no
mean of means, and a process without a share adds nothing.
"""

__all__ = ["Processes", "on_processes", "require_processes"]

import contextlib
import functools
import multiprocessing
import os
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue, MissingExtra
from vlasov.interruption import Stop, catch_signals

Tell = Callable[[Any], object]
Job = Callable[["Processes", Stop, Tell], None]

_DEVICES = ("cpu", "cuda")
_ADDRESS = ("MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Processes:
    """This process among `world` ones, numbered from 0 by `rank`.

    Args:
        rank: of this one.
        world: how many there are.
        device: where this one computes.
        total: sums a tensor over the processes; None for one alone.
        autocast: compute in bfloat16 what loses nothing by it.
    """

    rank: int
    world: int
    device: torch.device
    total: Callable[[Tensor], Tensor] | None = None
    autocast: bool = False

    @classmethod
    def alone(cls, device: str) -> "Processes":
        """One process on a ``cpu`` or on the first GPU, ``cuda``."""
        return cls(0, 1, torch.device(device, 0))

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files."""
        return self.rank == 0

    def seed(self, number: int) -> None:
        """Seed the generator that dropout draws from here."""
        if self.device.type == "cuda":
            torch.cuda.manual_seed(number)
        else:  # torch.manual_seed would note the call for every GPU that there might be
            torch.default_generator.manual_seed(number)

    def sum(self, x: Tensor) -> Tensor:
        """The sum of the tensors of all processes, the same on each."""
        return x if self.total is None else self.total(x)

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        if self.total is None:
            return flag
        return bool(self.sum(torch.tensor(float(flag), device=self.device)) > 0)


def require_processes(count: int, *, device: str | None = None) -> None:
    """Refuse what `on_processes` would refuse, before anything is done.

    Raises:
        UnknownName: for a device that is not ``cpu`` or ``cuda``; None takes a GPU if it can.
        InvalidValue: for less than one process, or more than there are GPUs.
        MissingExtra: for several, if Lightning is not installed.
    """
    place = _checked(count, device)
    if count > 1:
        _launcher(count, place)


def on_processes(count: int, job: Job, *, watch: Tell, device: str | None = None) -> None:
    """Do `job` in each of `count` processes; signals and reports pass through.

    With several, the job must be a function that can be pickled, and a script needs
    ``if __name__ == "__main__"``.

    Raises:
        UnknownName: for a device that is not ``cpu`` or ``cuda``; None takes a GPU if it can.
        InvalidValue: for less than one process, or more than there are GPUs.
        MissingExtra: for several, if Lightning is not installed.
    """
    place = _checked(count, device)
    if count == 1:
        with catch_signals() as caught:
            job(Processes.alone(place), lambda: caught.requested, watch)
        return
    launch = _launcher(count, place)
    asked = multiprocessing.get_context("spawn").Event()
    with catch_signals(asked.set), _passed_on(watch, asked.set) as tell, _own_address():
        launch(_entered, job, asked.is_set, tell)


def _entered(  # without annotation of what only an optional package declares
    fabric: Any,  # noqa: ANN401
    job: Job,
    asked: Stop,
    tell: Tell,
) -> None:
    """The job in one of several processes."""
    total = functools.partial(fabric.all_reduce, reduce_op="sum")
    own = Processes(fabric.global_rank, fabric.world_size, fabric.device, total)
    with catch_signals() as caught:
        job(own, lambda: caught.requested or asked(), tell)


def _checked(count: int, wanted: str | None) -> str:
    device = wanted or ("cuda" if torch.cuda.is_available() else "cpu")
    if device not in _DEVICES:
        raise nearest(device, _DEVICES, kind="device")
    if count < 1:
        raise InvalidValue(f"Training needs at least 1 process but devices is {count}; give one.")
    if device == "cuda" and count > torch.cuda.device_count():
        raise InvalidValue(
            f"Every process needs a GPU of its own but {count} were asked for and there are "
            f"{torch.cuda.device_count()}; lower devices, or take the device 'cpu'."
        )
    return device


def _launcher(count: int, place: str) -> Callable[..., Any]:
    try:
        from lightning.fabric import Fabric
        from lightning.fabric.plugins.environments.lightning import LightningEnvironment
    except ImportError:
        raise MissingExtra(
            f"Training on {count} processes needs Lightning, which is not installed: "
            "pip install 'vlasov[train]'. One process needs nothing more."
        ) from None
    # its environment takes a free port
    here = LightningEnvironment()
    return Fabric(accelerator=place, devices=count, strategy="ddp_spawn", plugins=here).launch


@contextlib.contextmanager
def _passed_on(watch: Tell, end: Callable[[], object]) -> Generator[Tell]:
    """Pass what is told in other processes on to `watch`, in a thread; an error of it ends all."""
    reports: multiprocessing.Queue[Any] = multiprocessing.get_context("spawn").Queue()
    errors: list[Exception] = []

    def read() -> None:
        for report in iter(reports.get, None):
            try:
                if not errors:
                    watch(report)
            except Exception as error:  # the thread goes on: a full queue would hold the writer
                errors.append(error)
                end()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield reports.put
    finally:
        reports.put(None)
        reader.join()
    if errors:
        raise errors[0]


@contextlib.contextmanager
def _own_address() -> Generator[None]:
    """A free port for these processes alone: Fabric would keep the first one for later runs."""
    before = {name: os.environ.pop(name, None) for name in _ADDRESS}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
