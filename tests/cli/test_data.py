"""`vlasov data`: making, checking and describing data, and what is refused."""

import json
import os
import signal
from pathlib import Path

import pytest

from vlasov.lra.listops import ListOps

LISTS = "listops:shortest=16,longest=64"


@pytest.fixture
def lists(call):
    """A folder of made lists."""
    result = call("data", "make", LISTS, "--out", "d", "--count", "20", "--seed", "1")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "d\n"
    assert "Making: 100 %" in result.stderr
    return call


def test_made_lists_are_sound(lists):
    result = lists("data", "check", "listops", "--folder", "d")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "sound"
    assert "train: 20 examples (the release has 96,000)" in result.stdout


def test_wrong_labels_are_not_sound(lists):
    path = Path("d/basic_val.tsv")
    content = path.read_bytes().split(b"\r\n")
    content[1] = content[1][:-1] + str((int(content[1][-1:]) + 1) % 10).encode()
    path.write_bytes(b"\r\n".join(content))
    result = lists("data", "check", "listops", "--folder", "d")
    assert result.exit_code == 1
    assert "wrong: 1 of 5 validation lists" in result.stdout
    assert result.stdout.splitlines()[-1] == "not sound"


def test_a_check_looks_here_unless_told(lists, monkeypatch):
    assert lists("data", "check", "listops").exit_code == 0  # one level down
    monkeypatch.chdir("d")
    assert lists("data", "check", "listops").exit_code == 0


def test_the_table_and_json_tell_the_same(lists):
    table = lists("data", "stats", "listops", "--folder", "d").stdout
    found = json.loads(lists("data", "stats", "listops", "--folder", "d", "--json").stdout)
    assert [part["examples"] for part in found["parts"]] == [20, 5, 5]
    assert set(found["floors"]) == {"majority", "root operator", "one level"}
    for name, accuracy in found["floors"].items():
        assert f"{name} guessed: {accuracy:.1%} of the test right" in table
    row = next(line for line in table.splitlines() if "examples" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["examples", "20", "5", "5"]


def test_a_taken_folder_is_kept_unless_told(lists):
    before = Path("d/basic_train.tsv").read_bytes()
    words = ("data", "make", LISTS, "--out", "d", "--count", "20", "--quiet")
    result = lists(*words)
    assert result.exit_code == 2
    assert "needs a new folder but 'd' exists" in result.stderr
    assert Path("d/basic_train.tsv").read_bytes() == before
    result = lists(*words, "--overwrite")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert Path("d/basic_train.tsv").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (("make", "text", "--out", "d"), "Making data needs a generator but 'text' has none"),
        (("make", "listops", "--out", "d", "--count", "0"), "at least 1 but got 0"),
        (("make", "listops"), "--out"),
        (("stats", "text"), "Loading 'text' needs a folder"),
        (("stats", "texts", "--folder", "."), "did you mean 'text'"),
        (("check", "text", "--length", "0"), "at least 1 but got 0"),
    ],
)
def test_a_wrong_call_is_refused_and_writes_nothing(call, words, phrase):
    result = call("data", *words)
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert list(Path().iterdir()) == []


def test_an_interrupted_call_leaves_nothing(call, monkeypatch):
    make = ListOps.make

    def interrupted(self, folder, *, count, seed, watch):
        def watched(done):
            if done == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            watch(done)

        make(self, folder, count=count, seed=seed, watch=watched)

    monkeypatch.setattr(ListOps, "make", interrupted)
    result = call("data", "make", LISTS, "--out", "d", "--count", "20")
    assert result.exit_code == 143
    assert list(Path().iterdir()) == []
