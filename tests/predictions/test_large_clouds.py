"""Predictions V17, V18 and V56 with a hundred thousand tokens on the circle.

`python benchmarks/metastable.py` and `vlasov converge --preset mean-field-rate` go to a million.
"""

import math

import numpy as np
import pytest
import torch
from flows import sphere_pde
from scipy.optimize import brentq
from scipy.special import ive

import vlasov as vl
from vlasov.experiments.converge import prepare
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_presets import PRESETS
from vlasov.experiments.experiment import Context

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TREES = "tree:tolerance=1e-6"


def growth(beta):
    """The rates of the modes 1, 2, ... about the uniform law (V13)."""
    k = np.arange(1, 100)
    return k**2 * ive(k, beta) / (beta * ive(0, beta))


def modes(cloud):
    z = torch.view_as_complex(cloud.points)
    return torch.stack([(z**k).mean(-1).abs() for k in range(1, 7)])


def escape(n, seed):
    """When the modes 1 to 6 reach 0.4 together, and when they would, each growing on its own."""
    cloud, level = vl.Cloud.sphere(n=n, d=2, seed=seed), math.log(0.4)
    squares, rates = modes(cloud).square().numpy(), growth(5.0)[:6]
    alone = brentq(lambda t: (squares * np.exp(2 * rates * t)).sum() - 0.16, -10, 100)
    run = vl.simulate(
        sphere_pde("softmax", 5.0, engine=TREES), cloud, until=alone + 1, step=0.5, keep="last",
        save_every=1, observe={"amplitude": lambda cloud: modes(cloud).norm()},
    )  # fmt: skip
    amplitude = run.observables["amplitude"].log().numpy()
    assert (np.diff(amplitude) > 0).all()
    assert amplitude[-1] > level
    return float(np.interp(level, amplitude, run.times.numpy())), alone


def test_v18_the_escape_time_grows_like_log_n():
    assert 1 / (2 * growth(5.0).max()) == pytest.approx(0.732, abs=1e-3)
    ns, seeds = (1000, 10_000, 100_000), (24, 12, 3)
    found = [
        np.array([escape(n, seed) for seed in range(count)])
        for n, count in zip(ns, seeds, strict=True)
    ]
    # one cloud is off by 0.5, so the slope by 0.06
    means = [times[:, 0].mean() for times in found]
    assert np.polyfit(np.log(ns), means, 1)[0] == pytest.approx(0.73, abs=0.2)
    # what modes do to each other delays every cloud by nearly the same time, whatever n
    late = [float((times[:, 0] - times[:, 1]).mean()) for times in found]
    assert late == pytest.approx([0.15] * 3, abs=0.1)


def test_v17_the_clusters_that_last_are_nearly_as_many_as_the_fastest_mode():
    n, counts, fastest, betas = 100_000, [], [], (9.0, 49.0)
    for beta in betas:
        rates = growth(beta)
        clusters = f"clusters:radius={2 * math.sin(0.25 / math.sqrt(beta))}"
        until = 12 + math.log(n / 1000) / (2 * rates.max())  # V17 has t = 12 for n = 1000
        run = vl.simulate(
            sphere_pde("softmax", beta, engine=TREES), vl.Cloud.sphere(n=n, d=2, seed=1),
            until=until, step=until / 20, keep="last", save_at=(until,), observe=[clusters],
        )  # fmt: skip
        counts.append(float(run.observables[clusters][-1]))
        fastest.append(int(rates.argmax()) + 1)
    assert fastest == [4, 10]
    # V17 bounds the mean of several clouds; one cloud may be a cluster off
    assert all(
        0.7 * k - 1 <= count <= 1.05 * k + 1 for count, k in zip(counts, fastest, strict=True)
    )
    slope = np.polyfit(np.log(betas), np.log(counts), 1)[0]
    assert slope == pytest.approx(0.5, abs=0.2)


def test_v56_propagation_of_chaos_to_a_hundred_thousand_tokens():
    fewer = {
        "ns": (1000, 10_000, 100_000), "seeds": (24, 12, 5), "distance_seeds": 24,
        "reference_size": 2**15,
    }  # fmt: skip
    table = prepare(ConvergeConfig(**(PRESETS["mean-field-rate"] | fewer)))(Context())
    assert table.result["reference_error_share"] < 0.05
    assert table.result["slope_distance"] == pytest.approx(-0.5, abs=0.08)
    assert table.result["slope_coupling"] == pytest.approx(-0.5, abs=0.08)
    # 24, 12 and 5 values of one sign-free number: the slope is off by 0.05
    assert table.result["slope_observable"] == pytest.approx(-0.5, abs=0.15)
