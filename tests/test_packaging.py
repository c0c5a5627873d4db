"""What is installed is what the tree holds."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_of_the_tree_is_listed_for_installation(project):
    found = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for init in (ROOT / "vlasov").rglob("__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == found | {"vlasov_cli"}


def test_every_dependency_is_pinned(project):
    wanted = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += [item for item in extra if not item.startswith("vlasov[")]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    names = {item.partition(">")[0].partition("[")[0] for item in wanted}
    assert names <= pinned
