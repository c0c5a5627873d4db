"""Pathfinder as grey tokens: the layout of the release, its splits, and damaged copies."""

import shutil
from itertools import chain

import numpy as np
import PIL.Image
import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.lra.pathfinder import DIFFICULTIES, Pathfinder
from vlasov.lra.pathfinder_files import write_labelled
from vlasov.lra.pathfinder_maker import draw

HARD = "curv_contour_length_14"
TOTALS = dict(zip(DIFFICULTIES, (100, 100, 2000), strict=True))  # of the subset
COUNTS = (12, 8)  # images of the two numbered folders


def named(number):
    """An image that holds its number and, by its second pixel, its label."""
    levels = np.zeros((32, 32), dtype=np.uint8)
    levels[0, :2] = number + 1, 100 + number % 2
    return levels, number % 2


def write_release(folder, difficulty=HARD):
    first = 0
    for part, count in enumerate(COUNTS):
        images = (named(number) for number in range(first, first + count))
        write_labelled(folder / difficulty, part, images, parameters="1.0 14 4 2 0.5 1 1")
        first += count
    return folder


@pytest.fixture
def release(tmp_path):
    return write_release(tmp_path / "data/pathfinder32")


def load(folder, *, length=1024, seed=0, **options):
    return Pathfinder(**options).load(folder, length=length, seed=seed)


def refused(folder, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        load(folder)


def numbers(part):
    """The numbers of the images of a part; its labels must be those of the images."""
    heads = [part.sequence(i)[:2].tolist() for i in range(len(part))]
    assert [mark - 101 for _, mark in heads] == part.labels.tolist()
    return [number - 2 for number, _ in heads]


def test_every_image_is_in_one_part_and_the_seed_decides_in_which(release):
    parts = [numbers(part) for part in load(release).parts().values()]
    assert [len(part) for part in parts] == [16, 2, 2]
    assert sorted(chain(*parts)) == list(range(sum(COUNTS)))
    assert [numbers(part) for part in load(release).parts().values()] == parts
    assert [numbers(part) for part in load(release, seed=1).parts().values()] != parts


def test_tokens_are_grey_levels_plus_one(release):
    splits = load(release)
    assert splits.train.lengths.unique().tolist() == [1024]
    assert splits.train.tokens.unique()[0] == 1
    assert (splits.vocabulary, splits.classes) == (257, 2)
    assert not splits.train.batch([0, 1]).padding.any()
    parity = load(release, parity=True)
    assert (parity.train.tokens == splits.train.tokens - 1).all()
    assert parity.train.batch([0]).padding.sum() == 1022


def test_a_cut_is_noted(release):
    splits = load(release, length=64)
    assert splits.train.lengths.unique().tolist() == [64]
    assert splits.notes == ("of the 1,024 pixels of each picture the first 64 are read",)


def test_a_list_may_be_a_numpy_array(release):
    text = load(release)
    for path in (release / HARD / "metadata").iterdir():
        lines = [line.split() for line in path.read_text().splitlines()]
        with path.open("wb") as file:
            np.save(file, np.array(lines))
    assert load(release).train.digest() == text.train.digest()


def test_an_empty_image_is_left_out_with_its_label(release):
    (release / HARD / "imgs/1/sample_3.png").write_bytes(b"")
    splits = load(release)
    assert splits.notes == ("1 empty picture left out: imgs/1/sample_3.png",)
    found = sorted(chain(*map(numbers, splits.parts().values())))
    assert found == [number for number in range(20) if number != COUNTS[0] + 3]


def test_many_empty_images_are_counted_and_some_named(release):
    for number in range(12):
        (release / HARD / f"imgs/0/sample_{number}.png").write_bytes(b"")
    (note,) = load(release).notes
    assert note.startswith("12 empty pictures left out: imgs/0/sample_0.png, ")
    assert note.endswith("imgs/0/sample_9.png, …")


@pytest.mark.parametrize("place", ["", "pathfinder32", f"pathfinder32/{HARD}"])
def test_the_folder_of_all_tasks_the_task_or_the_difficulty_will_do(place, release):
    assert len(load(release.parent / place).test) == 2


def test_a_copy_nested_twice_is_found(release, tmp_path):
    nested = tmp_path / "outer/outer"
    nested.mkdir(parents=True)
    release.rename(nested / "pathfinder32")
    assert sorted(numbers(load(tmp_path / "outer").test)) == sorted(
        numbers(load(nested / "pathfinder32").test)
    )


def test_two_copies_are_refused_by_name(release):
    shutil.copytree(release, release.parent / "old/pathfinder32")
    refused(release.parent, "all hold such files")


def test_larger_images_beside_are_not_taken_for_these(release):
    shutil.copytree(release, release.parent / "pathfinder128")
    for path in (release.parent / "pathfinder128").rglob("*.png"):
        PIL.Image.new("L", (128, 128)).save(path)
    assert len(load(release.parent).test) == 2
    refused(release.parent / "pathfinder128", "32 × 32 pixels but '.*' has 128 × 128")


def test_a_difficulty_is_read_by_its_name(release):
    write_release(release, "curv_baseline")
    assert len(load(release).test) == 2
    assert len(load(release, difficulty="curv_baseline").test) == 2
    refused_here = "needs 'pathfinder32/curv_contour_length_9/imgs'"
    with pytest.raises(InvalidValue, match=refused_here):
        load(release.parent, difficulty="curv_contour_length_9")
    with pytest.raises(UnknownName, match="difficulty of pathfinder 'curv_base'"):
        Pathfinder(difficulty="curv_base")


def test_nothing_at_all_is_refused(tmp_path):
    refused(tmp_path, f"needs '{HARD}/imgs'")


@pytest.mark.parametrize("part", ["imgs", "metadata"])
def test_half_a_difficulty_is_refused(part, release):
    shutil.rmtree(release / HARD / part)
    refused(release, f"lacks '{HARD}/{part}'")
    if part == "metadata":
        refused(release / HARD, "lacks 'metadata'")


def test_a_list_without_its_folder_is_named(release):
    shutil.rmtree(release / HARD / "imgs/1")
    refused(release, r"metadata/1.npy alone")


def test_a_folder_without_its_list_is_named(release):
    (release / HARD / "metadata/0.npy").unlink()
    refused(release, r"imgs/0 alone")


def test_a_missing_image_is_named(release):
    (release / HARD / "imgs/0/sample_5.png").unlink()
    refused(release, r"19 of 20, not .*imgs/0/sample_5.png")


def test_lists_without_lines_are_refused(release):
    for path in (release / HARD / "metadata").iterdir():
        path.write_text("\n")
    refused(release, r"it has 0 of 0\. Copy")


@pytest.mark.parametrize(
    "line", ["imgs/0 sample_1.png 1", "imgs/0 sample_1.png 1 2 1 6 2 2 0 1 1"]
)
def test_a_wrong_line_is_named(line, release):
    path = release / HARD / "metadata/0.npy"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], line, *lines[2:]]))
    refused(release, f"line 2 of '.*0.npy' is '{line}'")


def test_a_list_of_python_objects_or_other_bytes_is_refused(release):
    path = release / HARD / "metadata/0.npy"
    path.write_bytes(b"\xff\xfe\x00")
    refused(release, "'.*0.npy' cannot be read")
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    refused(release, "'.*0.npy' cannot be read")
    np.save(path, np.zeros(3))
    refused(release, "line 1 of '.*0.npy' is '0.0'")


def test_empty_images_alone_are_refused(release):
    for path in (release / HARD).rglob("*.png"):
        path.write_bytes(b"")
    refused(release, "all 20 of '.*' are empty")


def test_two_images_cannot_be_split(tmp_path):
    write_labelled(tmp_path / HARD, 0, map(named, range(2)), parameters="1.0 14 4 2 0.5 1 1")
    refused(tmp_path, "needs three images but '.*' has 2")


# Our own images.


@pytest.mark.parametrize("count", [1, 4, 9])
def test_made_images_read_back_and_are_enough(count, tmp_path):
    seen = []
    Pathfinder(difficulty="curv_baseline").make(
        tmp_path / "made", count=count, seed=5, watch=seen.append
    )
    splits = load(tmp_path, difficulty="curv_baseline")
    total = sum(len(part) for part in splits.parts().values())
    assert len(splits.train) >= count
    assert seen == list(range(1, total + 1))
    drawn = [draw(6, seed=5, index=index) for index in range(total)]
    assert {tokens_of(part, i) for part in splits.parts().values() for i in range(len(part))} == {
        (drawing.levels.tobytes(), drawing.label) for drawing in drawn
    }


def tokens_of(part, row):
    return (part.sequence(row).numpy() - 1).astype(np.uint8).tobytes(), int(part.labels[row])


def test_made_images_are_the_same_for_the_same_seed(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        Pathfinder(difficulty="curv_baseline").make(tmp_path / name, count=3, seed=seed)
    first, same, other = (contents(tmp_path / name) for name in "abc")
    assert first == same
    assert first != other


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_a_count_below_one_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="count of at least 1 but got 0"):
        Pathfinder().make(tmp_path, count=0, seed=0)


# The subset of the real data.


@pytest.mark.parametrize(("difficulty", "total"), TOTALS.items())
def test_the_subset_loads(difficulty, total, lra_data):
    parts = load(lra_data, difficulty=difficulty).parts()
    assert [len(part) for part in parts.values()] == [total * k // 10 for k in (8, 1, 1)]
    if difficulty == HARD:
        labels = sum(part.labels.sum().item() for part in parts.values())
        assert labels in (991, 1009)
        tokens = np.concatenate([part.tokens.numpy() for part in parts.values()])
        assert abs((tokens == 1).mean() - 0.659) < 5e-4
