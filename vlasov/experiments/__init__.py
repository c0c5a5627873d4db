"""Experiments: settings in, a run folder out."""

from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run
from vlasov.experiments.presets import PRESETS

__all__ = ["PRESETS", "CloudConfig", "RunFolder", "load_run"]
