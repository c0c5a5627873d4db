"""CIFAR-10 as grey tokens: three forms of files, grey levels, splits, and damaged copies."""

import os
import pickle
import shutil
from itertools import product

import numpy as np
import PIL.Image
import pytest

from vlasov.errors import InvalidValue, UnknownName
from vlasov.lra.grey import grey_examples, luma
from vlasov.lra.image import Image
from vlasov.lra.image_files import CLASSES

BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
COUNT = 4  # pictures of a batch


def content(seed=0):
    """Batches by name, each of rows of colours and labels; the first pixel names the picture."""
    rng = np.random.default_rng(seed)
    batches = {}
    for k, name in enumerate(BATCHES):
        rows = rng.integers(0, 256, (COUNT, 3072), dtype=np.uint8)
        rows[:, [0, 1024, 2048]] = np.arange(1, COUNT + 1)[:, None] + COUNT * k
        batches[name] = rows, rng.integers(0, 10, COUNT)
    return batches


def write_binary(folder, batches):
    folder.mkdir(parents=True)
    for name, (rows, labels) in batches.items():
        records = np.concatenate([labels[:, None].astype(np.uint8), rows], axis=1)
        records.tofile(folder / f"{name}.bin")
    return folder


def write_pickled(folder, batches, *, names=str, protocol=2):
    folder.mkdir(parents=True)
    for name, (rows, labels) in batches.items():
        fields = {names("data"): rows, names("labels"): labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(fields, protocol=protocol))
    return folder


def write_folders(folder, batches, *, named=True):
    for part, i in product(("train", "test"), range(10)):
        (folder / part / (CLASSES[i] if named else str(i))).mkdir(parents=True)
    for name, (rows, labels) in batches.items():
        part = "test" if name == "test_batch" else "train"
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            path = folder / part / (CLASSES[label] if named else str(label)) / f"{name}_{i}.png"
            PIL.Image.fromarray(row.reshape(3, 32, 32).transpose(1, 2, 0)).save(path)
    return folder


@pytest.fixture
def binary(tmp_path):
    return write_binary(tmp_path / "cifar-10-batches-bin", content())


def load(folder, *, length=1024, seed=0, **options):
    return Image(**options).load(folder, length=length, seed=seed)


def refused(folder, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        load(folder)


# Grey levels.


def test_grey_stays_as_it_is():
    levels = np.tile(np.arange(256, dtype=np.uint8), (3, 1, 1))
    assert (luma(levels)[0] == np.arange(256)).all()
    assert (luma(levels, rounding=True)[0] == np.arange(256)).all()


def test_grey_levels_are_cut_or_rounded():
    colours = np.random.default_rng(0).integers(0, 256, (3, 500, 500), dtype=np.uint8)
    cut, rounded = luma(colours).astype(int), luma(colours, rounding=True).astype(int)
    sums = np.tensordot([0.2989, 0.587, 0.114], colours / 255, axes=1) * 255.5
    away = np.abs(sums - np.round(sums)) > 1e-9  # of a whole number, where rounding decides
    assert (cut == np.floor(sums))[away].all()
    image = PIL.Image.fromarray(colours.transpose(1, 2, 0))
    assert (rounded == np.asarray(image.convert("L"))).all()
    assert set(np.unique(rounded - cut)) == {0, 1}
    assert abs((rounded > cut).mean() - 0.26) < 0.01  # a quarter of all colours


# Tokens.


def test_tokens_are_grey_levels_plus_one_row_by_row(binary):
    rows, labels = content()["data_batch_1"]
    splits = load(binary)
    grey = luma(rows.reshape(-1, 3, 32, 32))
    for i in range(COUNT):
        assert (splits.train.sequence(i).numpy() == grey[i].ravel().astype(int) + 1).all()
    assert splits.train.labels[:COUNT].tolist() == labels.tolist()
    assert (splits.vocabulary, splits.classes) == (257, 10)


def test_the_last_tenth_of_train_is_the_validation(binary):
    splits = load(binary)
    first = [
        int(part.sequence(i)[0]) - 1 for part in splits.parts().values() for i in range(len(part))
    ]
    assert first == list(range(1, 6 * COUNT + 1))
    assert [len(part) for part in splits.parts().values()] == [18, 2, 4]


def test_rounding_is_an_option(binary):
    cut, rounded = load(binary), load(binary, rounding=True)
    differences = rounded.test.tokens.int() - cut.test.tokens.int()
    assert set(differences.tolist()) == {0, 1}


def test_black_pixels_are_tokens_unless_parity_is_asked_for():
    levels = np.zeros((1, 2, 2), dtype=np.uint8)
    levels[0, 0, 1] = 255
    labels = np.array([0])
    batch = grey_examples(levels, labels, length=4).batch([0])
    assert (batch.inputs.tolist(), batch.padding.any().item()) == ([[1, 256, 1, 1]], False)
    parity = grey_examples(levels, labels, length=4, parity=True).batch([0])
    assert parity.inputs.tolist() == [[0, 255, 0, 0]]
    assert parity.padding.tolist() == [[True, False, True, True]]
    with pytest.raises(InvalidValue, match="picture 0 has no other among its 1"):
        grey_examples(levels, labels, length=1, parity=True)


def test_parity_reaches_the_examples(binary):
    plain, parity = load(binary), load(binary, parity=True)
    assert (parity.train.tokens == plain.train.tokens - 1).all()
    assert (parity.train.batch([0]).padding == (plain.train.batch([0]).inputs == 1)).all()


def test_a_cut_is_noted(binary):
    splits = load(binary, length=40)
    assert splits.train.lengths.unique().tolist() == [40]
    assert splits.notes == ("of the 1,024 pixels of each picture the first 40 are read",)
    assert load(binary).notes == ()


# Forms of files.


@pytest.mark.parametrize("names", [str, str.encode], ids=["text", "bytes"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_hold_what_binary_records_hold(names, protocol, binary, tmp_path):
    pickled = write_pickled(tmp_path / "py", content(), names=names, protocol=protocol)
    for ours, other in zip(
        load(pickled).parts().values(), load(binary).parts().values(), strict=True
    ):
        assert ours.digest() == other.digest()


@pytest.mark.parametrize("named", [True, False], ids=["names", "numbers"])
def test_folders_hold_the_same_pictures_shuffled_by_the_seed(named, binary, tmp_path):
    folders = write_folders(tmp_path / "png", content(), named=named)
    splits, other = load(folders), load(binary)
    assert splits.notes == ("train pictures in folders shuffled with seed 0",)
    assert load(folders, seed=1).train.digest() != splits.train.digest()
    assert pictures(splits.train, splits.validation) == pictures(other.train, other.validation)
    assert pictures(splits.test) == pictures(other.test)


def pictures(*parts):
    return sorted(
        (part.sequence(i).tolist(), label)
        for part in parts
        for i, label in enumerate(part.labels.tolist())
    )


def test_binary_records_come_before_pickles_and_pickles_before_folders(tmp_path):
    write_folders(tmp_path / "png", content(2))
    folders = load(tmp_path).test.digest()
    write_pickled(tmp_path / "py", content(1))
    pickled = load(tmp_path).test.digest()
    write_binary(tmp_path / "bin", content(0))
    found = [load(tmp_path).test.digest(), pickled, folders]
    assert found == [load(tmp_path / name).test.digest() for name in ("bin", "py", "png")]


def test_an_empty_picture_is_left_out_with_its_label(tmp_path):
    folders = write_folders(tmp_path / "png", content())
    whole = load(folders)
    empty = next((folders / "test").glob("*/test_batch_2.png"))
    empty.write_bytes(b"")
    splits = load(folders)
    assert splits.notes[0] == f"1 empty picture left out: test/{empty.parent.name}/{empty.name}"
    rest = [one for one in pictures(whole.test) if one[0][0] - 1 != 5 * COUNT + 3]
    assert pictures(splits.test) == rest


# Copies that are nested, double, half or damaged.


def test_a_nested_copy_is_found(binary, tmp_path):
    nested = tmp_path / "outer/outer"
    nested.mkdir(parents=True)
    binary.rename(nested / binary.name)
    assert len(load(tmp_path / "outer").test) == COUNT


def test_two_copies_are_refused_by_name(binary, tmp_path):
    shutil.copytree(binary, tmp_path / "copy")
    refused(tmp_path, "'.*cifar-10-batches-bin', '.*copy' all hold such files")


def test_nothing_at_all_is_refused(tmp_path):
    refused(tmp_path, "needs 'data_batch_1.bin'")
    refused(tmp_path / "missing", "is none. Check the path")


@pytest.mark.parametrize("name", ["test_batch.bin", "data_batch_3.bin"])
def test_a_missing_batch_is_named(name, binary):
    (binary / name).unlink()
    refused(binary, f"lacks '{name}'")


def test_a_missing_class_of_the_test_is_named(tmp_path):
    folders = write_folders(tmp_path / "png", content())
    shutil.rmtree(folders / "test/frog")
    refused(folders, "lacks 'test/frog'")


@pytest.mark.parametrize("size", [0, 1, 3072, 3 * 3073 + 1])
def test_a_binary_batch_holds_whole_records(size, binary):
    path = binary / "data_batch_2.bin"
    path.write_bytes(bytes(size))
    refused(binary, f"whole records of 3,073 bytes but '.*data_batch_2.bin' has {size:,} bytes")


def test_a_label_out_of_range_is_named(binary):
    path = binary / "data_batch_2.bin"
    records = bytearray(path.read_bytes())
    records[3073] = 10
    path.write_bytes(records)
    refused(binary, "labels 0 to 9 but record 1 of '.*data_batch_2.bin' has 10")


def test_one_train_picture_cannot_be_split(tmp_path):
    rows = np.full((1, 3072), 7, dtype=np.uint8)
    folders = write_folders(
        tmp_path / "png", {name: (rows, np.array([3])) for name in BATCHES[4:]}
    )
    refused(folders, "needs two train pictures")


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


def test_a_pickle_cannot_run_anything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_pickled(tmp_path / "py", content())
    (folder / "data_batch_1").write_bytes(pickle.dumps({"data": Harmful()}))
    refused(folder, "it asks for posix.mkdir")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("fields", "phrase"),
    [
        ([1, 2], "has object of shape"),
        ({"data": np.zeros((2, 3072), np.uint8), "labels": [1]}, "int64 of shape \\(1,\\)"),
        ({"data": np.zeros((1, 3072)), "labels": [1]}, "has float64 of shape \\(1, 3072\\)"),
        ({"data": np.zeros((1, 3), np.uint8), "labels": [1]}, "has uint8 of shape \\(1, 3\\)"),
        ({"data": np.zeros((0, 3072), np.uint8), "labels": []}, "of shape \\(0, 3072\\)"),
        ({"data": np.zeros((1, 3072), np.uint8), "labels": [0.5]}, "float64 of shape \\(1,\\)"),
    ],
)
def test_a_pickle_of_something_else_is_refused(fields, phrase, tmp_path):
    folder = write_pickled(tmp_path / "py", content())
    (folder / "test_batch").write_bytes(pickle.dumps(fields))
    refused(folder, phrase)


def test_a_broken_pickle_is_refused(tmp_path):
    folder = write_pickled(tmp_path / "py", content())
    path = folder / "test_batch"
    path.write_bytes(path.read_bytes()[:100])
    refused(folder, "'.*test_batch' cannot be read")


def test_an_unknown_class_is_refused_with_the_nearest(tmp_path):
    folders = write_folders(tmp_path / "png", content())
    (folders / "train/froog").mkdir()
    (folders / "train/froog/a.png").write_bytes(b"x")
    with pytest.raises(UnknownName, match=r"class in '.*train' 'froog': did you mean 'frog'"):
        load(folders)


def test_folders_without_pictures_are_refused(tmp_path):
    for part in ("train", "test"):
        (tmp_path / part / "frog").mkdir(parents=True)
    refused(tmp_path, "'.*train' has none that is not empty")


def test_a_picture_of_another_size_is_named(tmp_path):
    folders = write_folders(tmp_path / "png", content())
    path = next((folders / "train").glob("*/*.png"))
    PIL.Image.new("RGB", (64, 48)).save(path)
    refused(folders, f"32 × 32 pixels but '.*{path.name}' has 64 × 48")


@pytest.mark.parametrize("cut", [20, 200])
def test_a_broken_picture_is_named(cut, tmp_path):
    folders = write_folders(tmp_path / "png", content())
    path = next((folders / "train").glob("*/*.png"))
    path.write_bytes(path.read_bytes()[:cut])
    refused(folders, f"'.*{path.name}' cannot be read")


# The subset of the real data.


def test_the_subset_loads(lra_data):
    splits = load(lra_data)
    assert [len(part) for part in splits.parts().values()] == [3600, 400, 1000]
    assert splits.floors == {"majority": 0.1}
    levels = luma_of(splits)
    assert abs(levels.mean() - 122.9) < 1.0  # means of CIFAR-10 as published
    assert abs(levels.std() - 61.0) < 1.0


def luma_of(splits):
    return np.concatenate([part.tokens.numpy() for part in splits.parts().values()]) - 1.0


def test_the_pickled_subset_is_part_of_the_binary_one(lra_data):
    pickled, binary = (
        load(lra_data / "cifar-10-batches-py"),
        load(lra_data / "cifar-10-batches-bin"),
    )
    assert binary.test.select(range(100)).digest() == pickled.test.digest()
    assert binary.train.select(range(40)).digest() == pickled.train.select(range(40)).digest()
