"""From settings to clouds and maps."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotPositive, UnknownName
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.cloud_maps import chosen_projections
from vlasov.experiments.cloud_tokens import initial_tokens, placed
from vlasov.experiments.starts import STARTS
from vlasov.geometry import Euclid, Sphere
from vlasov.projections import LayeredProjections, Projections, RedrawnProjections

EUCLID = Euclid()


def drawn(geometry: Euclid | Sphere = EUCLID, **settings: object) -> Cloud:
    config = CloudConfig(**({"dtype": "float64"} | settings))
    return placed(initial_tokens(config, None).cloud, geometry, config)


@pytest.mark.parametrize("name", [name for name in STARTS if name not in ("hermite", "quantiles")])
@pytest.mark.parametrize("geometry", [Euclid(), Sphere(radius=2.0)], ids=lambda g: g.name)
def test_every_start_draws_on_every_geometry(name: str, geometry: Euclid | Sphere) -> None:
    cloud = drawn(geometry, init=name, n=20, d=3, seed=1)
    assert cloud.points.shape == (20, 3)
    geometry.check(cloud.points)
    assert torch.equal(cloud.points, drawn(geometry, init=name, n=20, d=3, seed=1).points)


def test_a_gaussian_start_takes_mean_and_covariance() -> None:
    cloud = drawn(n=20_000, d=2, mean=(3.0, -1.0), cov=(1.0, 0.5, 0.5, 1.0))
    mean = cloud.points.mean(0)
    # five standard deviations of a mean of 2e4 draws
    assert torch.allclose(mean, torch.tensor([3.0, -1.0], dtype=mean.dtype), atol=5 / 20_000**0.5)
    assert abs(float(cloud.points.T.cov()[0, 1]) - 0.5) < 0.05
    diagonal = drawn(n=5, d=2, cov=(4.0, 0.0))
    assert bool((diagonal.points[:, 1] == 0).all())


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"mean": (1.0,)}, "'mean' needs 3 numbers for tokens of width 3 but got 1"),
        ({"cov": (1.0, 2.0)}, "'cov' needs 3 or 9 numbers"),
        ({"init": "ball", "mean": (0.0, 0.0, 0.0)}, "belong to a gaussian start, not to 'ball'"),
        ({"init": "quantiles"}, "Quantiles lie on the line but d is 3"),
        ({"init": "mixture:clusters=0"}, "at least 1 cluster"),
    ],
)
def test_impossible_starts_are_refused(settings: dict, phrase: str) -> None:
    with pytest.raises(InvalidValue, match=phrase):
        drawn(**settings)


def test_a_covariance_that_is_not_positive_is_refused_with_its_eigenvalue() -> None:
    with pytest.raises(NotPositive, match="-1"):
        drawn(d=2, cov=(1.0, 2.0, 2.0, 1.0))


def test_nodes_and_quantiles_carry_their_moments() -> None:
    assert drawn(init="hermite:nodes=4", d=2).n == 16
    line = drawn(init="quantiles:mean=1", n=101, d=1)
    assert abs(float(line.points.mean()) - 1.0) < 1e-12  # symmetric to round-off


def test_an_unknown_start_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gaussian'"):
        drawn(init="gausian")


def test_tokens_of_a_file_are_kept_or_projected(tmp_path: Path) -> None:
    x = np.array([[3.0, 4.0], [0.0, 2.0]])
    np.save(tmp_path / "x.npy", x)
    kept = drawn(Sphere(), tokens=str(tmp_path / "x.npy"))
    assert kept.points.tolist() == x.tolist()
    moved = drawn(Sphere(), tokens=str(tmp_path / "x.npy"), project=True)
    assert torch.allclose(moved.points.norm(dim=-1), torch.ones(2, dtype=torch.float64))


def test_number_format_follows_the_settings() -> None:
    assert drawn(dtype="float32").points.dtype == torch.float32


def maps(**settings: object) -> dict[str, torch.Tensor]:
    path = chosen_projections(CloudConfig(**settings), 3)
    assert isinstance(path, Projections)
    return path.maps()


def test_words_name_maps() -> None:
    eye = torch.eye(3, dtype=torch.float64)
    found = maps(query="identity", key="negative-identity", value="-2.5", heads=2)
    assert torch.equal(found["query"], eye.expand(2, 3, 3))
    assert torch.equal(found["key"], -eye.expand(2, 3, 3))
    assert torch.equal(found["value"], -2.5 * eye.expand(2, 3, 3))


def test_random_maps_are_those_of_the_library() -> None:
    found = maps(query="random", key="random", value="random", heads=2, key_width=4, seed=3)
    wanted = Projections.random(3, 2, key_width=4, seed=3).maps()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_a_map_comes_from_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", 2 * np.eye(3))
    assert torch.equal(
        maps(value=str(tmp_path / "v.npy"))["value"].squeeze(),
        2 * torch.eye(3, dtype=torch.float64),
    )


@pytest.mark.parametrize("layers", [None, 4])
def test_all_maps_come_from_one_file(tmp_path: Path, layers: int | None) -> None:
    shape = (2, 3, 3) if layers is None else (layers, 2, 3, 3)
    arrays = {name: np.ones(shape) for name in ("query", "key", "value")}
    np.savez(tmp_path / "maps.npz", **arrays, value_bias=np.ones(shape[:-1]))
    config = CloudConfig(projections=str(tmp_path / "maps.npz"), layer_time=0.5)
    path = chosen_projections(config, 3)
    assert path.heads == 2
    if layers is not None:
        assert isinstance(path, LayeredProjections)
        assert path.breakpoints(0.0, 5.0) == [0.5, 1.0, 1.5]


def test_redrawn_maps_depend_on_the_seed() -> None:
    path = chosen_projections(CloudConfig(redraw=0.5, heads=2, seed=4), 3)
    assert path == RedrawnProjections(3, 2, every=0.5, seed=4)


@pytest.mark.parametrize(
    ("arrays", "phrase"),
    [
        ({"query": np.eye(3)}, "lacks the arrays key, value"),
        (
            {
                "query": np.ones((2, 1, 3, 3)),
                "key": np.ones((2, 1, 3, 3)),
                "value": np.ones((3, 1, 3, 3)),
            },
            r"have \[2, 3\] layers",
        ),
    ],
)
def test_bad_files_of_maps_are_refused(tmp_path: Path, arrays: dict, phrase: str) -> None:
    np.savez(tmp_path / "maps.npz", **arrays)
    with pytest.raises(InvalidValue, match=phrase):
        chosen_projections(CloudConfig(projections=str(tmp_path / "maps.npz")), 3)


def test_a_lone_array_and_a_crowd_are_refused_where_the_other_is_wanted(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.eye(3))
    np.savez(tmp_path / "many.npz", query=np.eye(3))
    with pytest.raises(InvalidValue, match="must hold arrays by name"):
        chosen_projections(CloudConfig(projections=str(tmp_path / "one.npy")), 3)
    with pytest.raises(InvalidValue, match="must hold one array"):
        maps(value=str(tmp_path / "many.npz"))


def test_unknown_maps_get_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Unknown map 'identiy': did you mean 'identity'"):
        maps(value="identiy")
    np.savez(tmp_path / "maps.npz", query=np.eye(3), key=np.eye(3), vale=np.eye(3))
    with pytest.raises(UnknownName, match="did you mean 'value'"):
        chosen_projections(CloudConfig(projections=str(tmp_path / "maps.npz")), 3)


def test_a_text_without_its_checkpoint_is_refused() -> None:
    config = CloudConfig(tokens="text:sample", pretrained="some-checkpoint")
    with pytest.raises(InvalidValue, match="The words of a text need a checkpoint"):
        initial_tokens(config, None)
