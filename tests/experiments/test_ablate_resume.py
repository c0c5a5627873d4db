"""An ablation that was interrupted: it goes on with its own settings, and only with them."""

import pytest

from vlasov.errors import RunFolderError, UnknownName
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.experiment import Context, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch

FEW = {"width": 8, "n": 6, "depth": (3,), "seeds": 2, "substeps": 2, "schemes": ("pre",),
       "mlp": ("none",)}  # fmt: skip


def test_an_interrupted_ablation_goes_on_with_the_same_numbers(tmp_path):
    config = AblateConfig(**FEW)
    whole = ABLATE.prepare(config)(Context())
    calls = iter([False] * 3 + [True])
    folder = RunFolder.create(tmp_path / "run")
    stopped = carry_out(ABLATE, config, folder, watch=Watch(interrupted=lambda: next(calls)))
    assert stopped.result["status"] == "interrupted"
    resumed = carry_out(ABLATE, config, RunFolder.open(tmp_path / "run"), resume=True)
    assert resumed.tables["ablation"].rows == whole.tables["ablation"].rows


@pytest.mark.parametrize(
    ("changed", "error", "sentence"),
    [
        ({"seeds": 3}, RunFolderError, r"'.*run': 'seeds' differs. Resume without other settings"),
        ({"width": 16, "schemes": ("post",)}, RunFolderError, "'schemes', 'width' differ. Resume"),
        ({"schemes": ("pree",)}, UnknownName, "did you mean 'pre'"),
    ],
)
def test_other_settings_are_refused_by_name_and_nothing_is_lost(
    tmp_path, changed, error, sentence
):
    few = {**FEW, "pde": ("none",)}
    calls = iter([False, True])
    folder = RunFolder.create(tmp_path / "run")
    settings = AblateConfig(**few)
    carry_out(ABLATE, settings, folder, watch=Watch(interrupted=lambda: next(calls)))
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert any("pieces" in path.parts for path in before)
    other = AblateConfig(**{**few, **changed})
    with pytest.raises(error, match=sentence):
        carry_out(ABLATE, other, RunFolder.open(tmp_path / "run"), resume=True)
    assert all(path.read_bytes() == kept for path, kept in before.items())
    resumed = carry_out(ABLATE, settings, RunFolder.open(tmp_path / "run"), resume=True)
    assert resumed.result["status"] == "finished"
