"""The package of the fleet: what it needs is what its tests run with."""

import re
import tomllib
from pathlib import Path

import tandem_fleet

import sandbox_server

ROOT = Path(__file__).parents[2]


def test_what_the_package_needs_is_what_its_tests_run_with() -> None:
    project = tomllib.loads((ROOT / "fleet/pyproject.toml").read_text())["project"]
    pinned = dict(re.findall(r"^([a-z0-9-]+)(?:\[[a-z]+\])?==(\S+)", (ROOT / "requirements/test.txt").read_text(), re.MULTILINE))
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    wanted = dict(re.findall(r"^([a-z0-9-]+)(?:\[[a-z]+\])?==(\S+)$", "\n".join(named), re.MULTILINE))
    assert len(wanted) == len(set(named))
    assert {name: pinned.get(name) for name in wanted} == wanted


def test_the_fleet_has_the_sandboxes_version() -> None:
    assert tandem_fleet.__version__ == sandbox_server.__version__


def test_the_package_holds_the_profile_of_the_level_box() -> None:
    built = tomllib.loads((ROOT / "fleet/pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {(ROOT / "fleet" / source).resolve() for source in built} == {ROOT / "deploy/seccomp/tandem.json"}
    assert list(built.values()) == ["tandem_fleet/backends/seccomp.json"]
