"""Secrets are there whatever the isolation level is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.composition.egress import users_of
from sandbox_server.composition.secrets import build_secrets, configured_stores, declared_secrets
from sandbox_server.drivers.box.isolation import IsolationLevel
from sandbox_server.settings import load
from sandbox_server.settings.secrets import placeholder_of
from tests.composition.made import first


@pytest.mark.parametrize("environ", [{}, {"EGRESS": "false"}])
def test_its_operations_are_there(environ: dict[str, str]) -> None:
    part, _ = build_secrets(first(**environ))
    assert "secrets" in [feature.tag for feature in part.features]


def test_what_the_container_declares_is_known_from_the_start(tmp_path: Path) -> None:
    entry = {"source": {"env": "X"}, "bindings": [{"hosts": ["a.example"]}]}
    settings = load({"SECRETS": json.dumps({"A": entry})})
    settings = replace(settings, paths=replace(settings.paths, run=str(tmp_path)))
    (tmp_path / "placeholder-key").write_text("the key of the container\n")
    [found] = declared_secrets(settings)
    assert (found.name, found.declared) == ("A", True)
    assert found.placeholder == placeholder_of("A", "the key of the container")


@pytest.mark.parametrize(("level", "programs"), [("box", {0, 1234}), ("users", {1234}), ("none", {1234})])
def test_values_are_for_the_agent_s_user_and_the_box_s_root(level: IsolationLevel, programs: set[int]) -> None:
    machine = first(USER_UID="1234").machine
    found = users_of(replace(machine, isolation=replace(machine.isolation, level=level)))
    assert (set(found.programs), found.browser) == (programs, 991)


def test_stores_are_those_that_the_settings_name() -> None:
    named = {
        "SECRETS_VAULT_ADDR": "https://vault.example",
        "SECRETS_VAULT_TOKEN": "t",
        "SECRETS_ONEPASSWORD_URL": "https://connect.example",
        "SECRETS_ONEPASSWORD_TOKEN": "t",
        "SECRETS_AWS_REGION": "eu-central-1",
        "SECRETS_AWS_ACCESS_KEY_ID": "k",
        "SECRETS_AWS_SECRET_ACCESS_KEY": "s",
    }
    assert {kind.value for kind in configured_stores(load(named).secrets)} == {"vault", "onepassword", "aws"}
    for name in named:
        assert len(configured_stores(load({**named, name: ""}).secrets)) == 2
    assert configured_stores(load({}).secrets) == {}
