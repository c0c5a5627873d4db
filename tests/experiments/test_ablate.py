"""`vlasov ablate`: limits by two routes, outcomes that are known, and grids that resume."""

import dataclasses
import itertools
import math

import pytest
import torch

from vlasov.errors import UnknownName
from vlasov.experiments.ablate_cases import Case, cases_of, flow_of, flows_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_flow import Switches, flow_states
from vlasov.experiments.ablate_network import Network
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.ablate_source import source_of
from vlasov.experiments.experiment import Context
from vlasov.transformer import NORMS

SMALL = {"width": 8, "n": 6, "depth": (3,), "seeds": 2, "substeps": 2}
BOTH = Switches(attention=True, mlp=True)


def run(**settings):
    return ABLATE.prepare(AblateConfig(**{**SMALL, **settings}))(Context())


def subject(scheme="none", residual="on", mlp="gelu", depth=3, **settings):
    config = AblateConfig(**{**SMALL, **settings})
    return source_of(config).subject(Case(scheme, residual, mlp, depth), 0)


def gap(states, others):
    return max((x - y).norm().item() for x, y in zip(states, others, strict=True))


def test_the_grid_holds_every_combination_and_one_flow_for_each_set_of_weights():
    config = AblateConfig(schemes=("none", "pre"), residuals=("on", "off"), depth=(2, 4))
    cases = cases_of(config)
    assert len(cases) == len(set(cases)) == 2 * 2 * 2 * 2
    assert len(flows_of(cases)) == 4
    assert {flow_of(case).label for case in cases} == {"PDE"}


def test_small_steps_without_norm_reach_the_continuous_system_at_first_order():
    one = subject(depth=2, init="gaussian")
    flow = flow_states(BOTH, one, substeps=32)
    gaps = [gap(one.network.refined(k).states(one.points), flow) for k in (32, 64, 128)]
    for coarse, fine in itertools.pairwise(gaps):
        assert coarse / fine == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("scheme", NORMS)
def test_every_scheme_has_a_limit_of_small_steps(scheme):
    one = subject(scheme, depth=2, init="gaussian")
    paths = [one.network.refined(k).states(one.points) for k in (16, 32, 64)]
    # the differences of first-order paths halve; of no limit they would stay or grow
    assert 1.6 < gap(paths[0], paths[1]) / gap(paths[1], paths[2]) < 2.5


def test_refining_shares_the_weights_and_leaves_the_network_as_it_was():
    network = subject("pre").network
    x = subject("pre").points
    before = network.states(x)
    fine = network.refined(4)
    assert gap(network.states(x), before) == 0.0
    shared = {id(one) for one in network.model.parameters()}
    assert {id(one) for one in fine.model.parameters()} == shared
    assert gap(network.refined(1).states(x), network.model.states(x)) == 0.0


def test_padding_changes_no_real_token(generator):
    one = subject("pre")
    tail = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    padding = torch.tensor([False] * 6 + [True] * 2)
    padded = Network(one.network.model, padding)
    states = padded.states(torch.cat([one.points, tail]))
    whole = one.network.states(one.points)
    assert gap([x[:6] for x in states], whole) < 1e-12


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_diffusion_alone_damps_each_mode_by_its_eigenvalue(rate):
    one = subject()
    n, k = 6, 2
    mode = torch.cos(torch.pi * k * (torch.arange(n, dtype=torch.float64) + 0.5) / n)
    bent = dataclasses.replace(one, points=mode[:, None].expand(-1, 8).contiguous())
    states = flow_states(Switches.read([f"diffusion:rate={rate}"]), bent, substeps=16)
    factor = math.exp(-4 * rate * math.sin(math.pi * k / (2 * n)) ** 2)
    for time, state in enumerate(states):
        torch.testing.assert_close(state, factor**time * bent.points, atol=1e-7, rtol=0)


def test_stability_alone_brings_every_token_to_unit_norm():
    one = subject()
    states = flow_states(Switches.read(["stability:rate=0.5"]), one, substeps=32)
    r0 = one.points.square().mean(-1)
    for time, state in enumerate(states):
        # dq/dt = -2 rate (q - 1) q for q = r^2
        expected = 1 / (1 + (1 / r0 - 1) * math.exp(-time))
        torch.testing.assert_close(state.square().mean(-1), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("part", ["attention", "mlp"])
def test_a_part_switched_off_does_not_act(part):
    one, other = subject(), subject()
    with torch.no_grad():
        for name, weight in other.network.model.named_parameters():
            if f".{part}." in name:
                weight.mul_(2.0)
    left = ("mlp",) if part == "attention" else ("attention",)
    only = [flow_states(Switches.read(left), x, substeps=2) for x in (one, other)]
    assert gap(*only) == 0.0
    whole = [flow_states(BOTH, x, substeps=2) for x in (one, other)]
    assert gap(*whole) > 0.1


def test_parts_are_read_from_words():
    assert Switches.read(["none"]) is None
    assert Switches.read(["attention", "mlp"]) == BOTH
    with pytest.raises(UnknownName, match="did you mean 'diffusion'"):
        Switches.read(["difusion"])


def test_reports_say_what_is_known_to_happen():
    report = run(
        width=16,
        n=16,
        depth=(14,),
        seeds=1,
        mlp=("relu",),
        schemes=("none", "post"),
        pde=("none",),
    )
    words = dict(zip(*map(report.tables["verdicts"].column, ("network", "verdict")), strict=True))
    assert "norm explodes" in words["no norm"]
    assert "gradient explodes" in words["no norm"]
    assert "explodes" not in words["post"]
    for network in ("no norm, no residual", "post, no residual"):
        assert "collapses by layer" in words[network]
        assert "drifts by layer 1" in words[network]
        assert "explodes" not in words[network]
    assert any("(V52)" in note for note in report.notes)
    layers = report.tables["ablation"]
    assert len(layers.rows) == 4 * 15
    known = [row for row in layers.rows if row[3] == "off"]
    limit = layers.columns.index("cosine_to_limit")
    assert {row[limit] for row in known} == {None}


def test_overflow_is_an_outcome():
    report = run(residuals=("1e30",), schemes=("none",), mlp=("relu",), dtype="float32")
    (verdict, _) = report.tables["verdicts"].column("verdict")
    assert verdict.startswith("overflows at layer 1")
    norms = report.tables["ablation"].column("norm")
    assert norms[0] is not None
    assert norms[3] is None
    assert report.result["status"] == "finished"


def test_pieces_hold_seeds_of_their_own():
    few = {"schemes": ("pre",), "mlp": ("none",), "pde": ("none",)}
    first, second = (run(seed=seed, seeds=1, **few) for seed in (0, 1))
    both = run(seeds=2, **few)
    norms = [one.tables["ablation"].column("norm") for one in (first, second)]
    means = [(one * other) ** 0.5 for one, other in zip(*norms, strict=True)]
    assert both.tables["ablation"].column("norm") == pytest.approx(means)
