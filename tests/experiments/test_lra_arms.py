"""The arms of a comparison: how they are written, ordered, placed and named on disk."""

import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.lra_arms import Arm, every_arm, read_arms
from vlasov.experiments.lra_published import POSITIONS, SCALES
from vlasov.transformer import Diffusions
from vlasov.transformer.insertion import POSITIONS_OF_DIFFUSION

WHOLE = read_arms(every_arm())


@pytest.mark.parametrize("text", [
    "none after-embedding after-mlp:1,2,4",
    "none,after-embedding,after-mlp:1,2,4",
    "after-mlp:1,2,4, after-embedding:1  none",
])  # fmt: skip
def test_blanks_and_commas_before_letters_separate(text):
    arms = read_arms(text)
    assert arms[0].name == "none"
    assert {arm.name for arm in arms} == {"none", "after-embedding:1", "after-mlp:1,2,4"}


def test_plus_joins_positions_whatever_stands_around_it():
    (arm,) = read_arms("after-mlp:1,2 + after-embedding;norm")
    assert arm.name == "after-embedding:1;norm+after-mlp:1,2"
    assert arm.place is None


def test_the_whole_grid_is_every_position_at_every_scale():
    places = [arm.place for arm in WHOLE]
    assert len(set(places)) == len(places) == 1 + 7 * len(SCALES)
    assert {place[0] for place in places} == set(POSITIONS)
    assert set(POSITIONS) == {"none", *POSITIONS_OF_DIFFUSION}


@pytest.mark.parametrize("arm", WHOLE, ids=lambda arm: arm.name)
def test_a_name_reads_back_as_its_layers(arm):
    assert str(arm.diffusions) == arm.name
    assert arm.diffusions == Diffusions.parse(arm.name)


def test_folders_are_plain_words_and_all_different():
    folders = [arm.folder for arm in (*WHOLE, Arm("after-mlp:1,2;steps=2"))]
    assert len(set(folders)) == len(folders)
    assert not set("".join(folders)) & set(':;,= /\\"')


@pytest.mark.parametrize(("text", "error", "words"), [
    ("", InvalidValue, "names at least one arm but is empty"),
    ("none none", InvalidValue, "'none' is asked for twice"),
    ("after-mlp after-mlp:1", InvalidValue, "'after-mlp:1' is asked for twice"),
    ("after-embeding", UnknownName, "did you mean 'after-embedding'"),
])  # fmt: skip
def test_what_is_no_list_of_arms_is_refused(text, error, words):
    with pytest.raises(error, match=words):
        read_arms(text)
