"""What `vlasov simulate` refuses: one sentence, exit status 2, nothing half written."""

from pathlib import Path

import pytest

import vlasov as vl
from vlasov.experiments.folder_store import RunFolder

BAD = {
    "n": ("--n 0", "'n' must be at least 1 but is 0"),
    "step": ("--step -0.1", "'step' must be above 0"),
    "infinite": ("--beta inf", "'beta' takes a finite number"),
    "nan": ("--time nan", "'time' takes a finite number"),
    "attention": ("--attention sotfmax", "did you mean 'softmax'"),
    "argument": ("--attention sinkhorn:esp=1", "did you mean 'eps'"),
    "geometry": ("--geometry shpere", "did you mean 'sphere'"),
    "engine": ("--engine dens", "did you mean 'dense'"),
    "integrator": ("--integrator rk5", "did you mean 'rk4'"),
    "mask": ("--mask casual", "did you mean 'causal'"),
    "term": ("--terms deacy", "did you mean 'decay'"),
    "noise": ("--noise comon", "did you mean 'common'"),
    "observable": ("--observe diametre", "did you mean 'diameter'"),
    "event": ("--stop colapse", "did you mean 'collapse'"),
    "preset": ("--preset cluster-on-sphere", "did you mean 'clusters-on-sphere'"),
    "covariance": ("--geometry euclid --d 2 --cov 1,2,2,1", "-1"),
    "tokens": ("--tokens none.npy", "does not exist"),
    "text": ("--tokens text:none.txt", "need the embedding of a checkpoint"),
    "config": ("--config none.toml", "Cannot read 'none.toml'"),
    "resume": ("--resume", "--resume goes on with the run in --out DIR"),
    "gone": ("--resume --out gone", "'gone' is not a folder"),
    "option": ("--betta 1", "--betta"),
    "movie": ("--movie avi", "avi"),
    "save time": ("--save-at 0,9", "between 0.0 and 0.4"),
    "memory": ("--engine dense --n 2000000", "GB"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(small, name: str) -> None:
    words, phrase = BAD[name]
    result = small(*words.split())
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output
    assert not list(Path().iterdir())


def test_an_unknown_key_of_a_file_gets_the_nearest(small) -> None:
    Path("a.toml").write_text("attentoin = 'l2'\n")
    result = small("--config", "a.toml")
    assert result.exit_code == 2
    assert "did you mean 'attention'" in result.stderr


def test_an_existing_run_is_refused_unless_told_otherwise(small) -> None:
    assert small("--out", "run").exit_code == 0
    refused = small("--out", "run")
    assert refused.exit_code == 2
    assert "already holds a run" in refused.stderr
    assert small("--out", "run", "--overwrite", "--seed", 1).exit_code == 0
    assert RunFolder.open("run").config()["seed"] == 1


def test_a_refused_overwrite_keeps_the_old_run(small) -> None:
    assert small("--out", "run").exit_code == 0
    assert small("--out", "run", "--overwrite", "--save-at", "9").exit_code == 2
    assert vl.load_run("run").finished


def test_overwrite_spares_other_folders(small) -> None:
    Path("home").mkdir()
    Path("home/thesis.tex").write_text("years of work")
    assert small("--out", "home", "--overwrite").exit_code == 2
    assert [path.name for path in Path("home").iterdir()] == ["thesis.tex"]
