"""Connected components, on small clouds by definition and on large ones by speed and memory."""

import time

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables import Chaining, ClusterMass2, Clusters, cluster_labels, components
from vlasov.observables.clusters import longest_cluster
from vlasov.observables.components import component_labels


def by_definition(x: np.ndarray, radius: float) -> np.ndarray:
    labels = -np.ones(len(x), dtype=int)
    for seed in range(len(x)):
        if labels[seed] >= 0:
            continue
        labels[seed], todo = labels.max() + 1, [seed]
        while todo:
            reached = np.linalg.norm(x - x[todo.pop()], axis=1) <= radius
            fresh = np.flatnonzero(reached & (labels < 0))
            labels[fresh] = labels[seed]
            todo.extend(fresh)
    return labels


@pytest.mark.parametrize("width", [1, 2, 3, 12])
@pytest.mark.parametrize("radius", [0.01, 0.1, 0.4, 3.0])
@pytest.mark.parametrize("n", [100, 700])
def test_components_are_those_of_the_definition(width, radius, n):
    x = np.random.default_rng(width).normal(size=(n, width)).round(2)
    np.testing.assert_array_equal(component_labels(x, radius), by_definition(x, radius))


@pytest.mark.parametrize("n", [5, 500])
def test_tokens_exactly_a_radius_apart_are_linked(n):
    chain = np.arange(float(n))[:, None]
    assert component_labels(chain, 1.0).max() == 0
    assert component_labels(chain, np.nextafter(1.0, 0)).max() == n - 1


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_finds_what_blocks_of_pairs_find(seed):
    """Clumps of any size and some dust: leaves hold parts of several components."""
    random = np.random.default_rng(seed)
    width, count = int(random.integers(1, 6)), int(random.integers(2, 40))
    centres = random.normal(size=(count, width))
    sizes = 10.0 ** random.uniform(-6, 0, size=count)
    which = random.integers(count, size=3000)
    x = centres[which] + sizes[which, None] * random.normal(size=(3000, width)) * 0.2
    x[:400] = x[400:800]
    for radius in 10.0 ** random.uniform(-5, 0, size=4):
        by_blocks = components._in_order_of_appearance(components._by_blocks(x, radius))
        np.testing.assert_array_equal(component_labels(x, radius), by_blocks)


def test_components_do_not_depend_on_the_number_of_threads(monkeypatch):
    x = np.random.default_rng(0).normal(size=(5000, 2))
    alone = component_labels(x, 0.03)
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    np.testing.assert_array_equal(component_labels(x, 0.03), alone)
    assert alone.max() > 100


def test_blocks_of_rows_find_the_same_components(monkeypatch):
    x = np.random.default_rng(0).normal(size=(150, 12))
    whole = component_labels(x, 3.0)
    monkeypatch.setattr("vlasov.observables.components._BLOCK", 500)
    np.testing.assert_array_equal(component_labels(x, 3.0), whole)
    assert whole.max() > 0


LARGE = {
    "coinciding": lambda g: torch.zeros(100_000, 2).double(),
    "clump": lambda g: 1e-3 * torch.randn(100_000, 2, generator=g, dtype=torch.float64),
    "clump at rounding": lambda g: 1e-16 * torch.randn(100_000, 3, generator=g).double(),
    "grid": lambda g: torch.cartesian_prod(*[torch.arange(300).double()] * 2),
}


@pytest.mark.parametrize(("kind", "count"), [*zip(LARGE, [1, 1, 1, 90_000], strict=True)])
def test_large_clouds_take_seconds_whatever_their_density(kind, count):
    x = LARGE[kind](torch.Generator().manual_seed(0))
    started = time.perf_counter()
    assert Clusters(radius=0.5)(Cloud(x)).item() == count
    # all 10^10 pairs would take minutes and their links 100 GB
    assert time.perf_counter() - started < 30


def test_labels_follow_first_tokens_and_leave_out_weight_zero():
    cloud = Cloud([[0.0], [9.0], [5.0], [0.1]], weights=[0.5, 0.0, 0.25, 0.25])
    assert cluster_labels(cloud, 0.5).tolist() == [0, -1, 1, 0]


def test_labels_of_a_batch_are_those_of_its_members():
    cloud = Cloud(torch.tensor([[[0.0], [5.0]], [[0.0], [0.1]]]))
    assert cluster_labels(cloud, 0.5).tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("merged", "level"), [([0, 1, 2, 3], 0.25), ([0, 0, 2, 3], 0.375), ([0, 0, 2, 2], 0.5)]
)
def test_v20_squared_masses_are_the_plateaus_of_the_energy(merged, level):
    angles = torch.tensor([0.0, 1.3, 2.9, 4.4], dtype=torch.float64)[merged].repeat(5)
    cloud = Cloud(torch.stack([angles.cos(), angles.sin()], -1))
    assert_close(ClusterMass2(radius=0.1)(cloud).item(), level)


def test_chaining_is_the_length_of_the_longest_cluster_in_radii():
    chain = torch.cat([0.05 * torch.arange(41.0), torch.tensor([9.0])])[:, None]
    assert_close(Chaining(radius=0.1)(Cloud(chain)).item(), 20.0)
    assert Clusters(radius=0.1)(Cloud(chain)).item() == 2


def test_the_longest_cluster_is_the_largest_diameter_of_all(generator):
    x = torch.randn(200, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(40, (200,), generator=generator)
    diameters = [
        torch.cdist(x[labels == label], x[labels == label]).amax() for label in labels.unique()
    ]
    assert_close(longest_cluster(x, labels), torch.stack(diameters).amax())


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize(
    "use", [Clusters, ClusterMass2, Chaining, lambda r: cluster_labels(Cloud([[0.0]]), r)]
)
def test_a_radius_must_be_positive(use, radius):
    with pytest.raises(InvalidValue, match="cluster radius must be positive"):
        use(radius)
