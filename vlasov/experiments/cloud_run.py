"""The experiment behind `vlasov simulate`: settings in, a run folder and a `Run` out."""

__all__ = ["Simulation", "prepare", "resume", "run"]

import dataclasses
import time
from dataclasses import dataclass

import torch

from vlasov.cloud import Cloud
from vlasov.errors import RunFolderError
from vlasov.experiments.checkpoint import Checkpoint
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.cloud_defaults import with_equation, with_start
from vlasov.experiments.cloud_maps import cloud_projections
from vlasov.experiments.cloud_notes import cloud_notes
from vlasov.experiments.cloud_tokens import initial_tokens, placed
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_simulation
from vlasov.experiments.monitor import FolderMonitor, Watch
from vlasov.experiments.record import provenance_of, result_of
from vlasov.experiments.settings import from_mapping
from vlasov.geometry import GEOMETRIES
from vlasov.pde import TransformerPDE, dedrifted, velocity
from vlasov.pretrained import BertCheckpoint
from vlasov.run import Run
from vlasov.solve import simulate

_PROBE = 8  # tokens
RESUMABLE = frozenset({"interrupted", "max-steps", "wall-time"})
"""Statuses of runs that did not come to their own end."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """An equation and a cloud, built from settings without open choices."""

    config: CloudConfig
    pde: TransformerPDE
    cloud: Cloud
    words: tuple[str, ...] = ()


def prepare(config: CloudConfig) -> Simulation:
    """Build everything that the settings name; nothing is written.

    Raises:
        VlasovError: for whatever cannot be built, in one sentence.
    """
    checkpoint = None if config.pretrained is None else BertCheckpoint.load(config.pretrained)
    config = with_start(config)
    tokens = initial_tokens(config, checkpoint)
    config = with_equation(config, tokens.cloud, checkpoint)
    geometry = GEOMETRIES.build(str(config.geometry))
    cloud = placed(tokens.cloud, geometry, config)
    pde = TransformerPDE(
        config.attention,
        cloud_projections(config, cloud.d, checkpoint),
        beta=float(config.beta or 0.0),
        geometry=geometry,
        engine=config.engine,
        mask=config.mask,
        terms=config.terms,
        noise=config.noise,
    )
    geometry.check(cloud.points)
    moved = dedrifted(pde, cloud.d).pde if config.frame == "dedrifted" else pde
    velocity(moved, _few(cloud))  # what cannot be evaluated is refused before a file is touched
    return Simulation(config, moved, cloud, tokens.words)


def _few(cloud: Cloud) -> Cloud:
    """The first tokens, equally weighted: enough for any refusal, whatever the cloud's size."""
    positions = None if cloud.positions is None else cloud.positions[..., :_PROBE]
    return Cloud(cloud.points[..., :_PROBE, :], positions=positions)


def run(simulation: Simulation, folder: RunFolder, *, watch: Watch | None = None) -> Run:
    """Simulate into a folder; one that was refused leaves the folder as it was.

    Raises:
        VlasovError: for settings that the simulation refuses.
    """
    settings = dataclasses.asdict(simulation.config)

    def start() -> None:
        folder.begin(settings, provenance_of(settings))
        if simulation.words:
            folder.write_words(simulation.words)

    monitor = FolderMonitor(
        folder,
        simulation.cloud,
        keep=simulation.config.keep,
        watch=watch,
        start=start,
    )
    try:
        return _simulate(simulation, folder, monitor)
    finally:
        if not monitor.started:
            folder.discard()


def resume(simulation: Simulation, folder: RunFolder, *, watch: Watch | None = None) -> Run:
    """Go on with the run in a folder; one that came to its end is returned as it is.

    Raises:
        RunFolderError: if it was killed before its first checkpoint.
    """
    if folder.has_result and folder.result()["status"] not in RESUMABLE:
        return load_simulation(folder.path)
    checkpoint = folder.checkpoint()
    if checkpoint is None:
        raise RunFolderError(
            f"The run in '{folder.path}' has no checkpoint to go on from. "
            "Start it again with --overwrite."
        )
    _require_same_start(simulation.cloud, folder)
    folder.drop_result()
    provenance = folder.provenance()
    folder.write_provenance(provenance | {"resumed": provenance["resumed"] + 1})
    monitor = FolderMonitor(
        folder,
        simulation.cloud,
        keep=simulation.config.keep,
        watch=watch,
        resumed=checkpoint,
    )
    return _simulate(simulation, folder, monitor, checkpoint)


def recorded(folder: RunFolder) -> CloudConfig:
    """The settings of the run in a folder."""
    return from_mapping(CloudConfig, folder.config())


def _simulate(
    simulation: Simulation,
    folder: RunFolder,
    monitor: FolderMonitor,
    checkpoint: Checkpoint | None = None,
) -> Run:
    config, clock, goes_on = simulation.config, time.monotonic(), False
    try:
        result = simulate(
            simulation.pde,
            simulation.cloud,
            until=float(config.time or 0.0),
            step=config.step or 0.0,
            integrator=config.integrator,
            rtol=config.rtol,
            atol=config.atol,
            error=config.error,
            max_steps=config.max_steps,
            wall_time=config.wall_time,
            save_at=_save_times(config),
            save_every=config.save_every,
            keep="last",  # the folder has the frames; a second copy of them would fill the memory
            observe=config.observe,
            stop=config.stop,
            merge=config.merge,
            seed=config.seed,
            monitor=monitor,
            resume=None if checkpoint is None else checkpoint.state,
        )
        goes_on = result.status in RESUMABLE
    finally:
        monitor.close(goes_on=goes_on)
    provenance = folder.provenance()
    seconds = provenance["wall_seconds"] + time.monotonic() - clock
    folder.write_provenance(provenance | {"wall_seconds": seconds})
    found = result_of(result) | {"frames": monitor.frames}
    folder.write_result(found)
    whole = load_simulation(folder.path)
    notes = cloud_notes(simulation.pde, simulation.cloud, whole, until=float(config.time or 0.0))
    folder.write_result(found | {"notes": notes})
    return whole


def _save_times(config: CloudConfig) -> tuple[float, ...] | None:
    if config.frames is None:
        return config.save_at or None
    return tuple(
        torch.linspace(0.0, float(config.time or 0.0), config.frames, dtype=torch.float64).tolist()
    )


def _require_same_start(cloud: Cloud, folder: RunFolder) -> None:
    """Refuse tokens that are not those the run began with; of last states only weights remain."""
    stored = folder.frames.read(1)
    same = torch.equal(stored["log_weights"], cloud.log_weights.cpu())
    if same and "point_time" not in stored:
        same = torch.equal(stored["points"][0].to(cloud.points.dtype), cloud.points.cpu())
    if not same:
        raise RunFolderError(
            f"The tokens are not those of the run in '{folder.path}'. "
            "Give the same file, or start again with --overwrite."
        )
