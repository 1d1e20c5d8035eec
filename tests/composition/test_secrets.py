"""Secrets are there whatever the isolation level is."""

import json
from pathlib import Path

import pytest

from sandbox_server.composition.secrets import build_secrets, configured_stores, declared_secrets
from sandbox_server.settings import load
from tests.composition.made import first


@pytest.mark.parametrize("environ", [{}, {"EGRESS": "false"}])
def test_its_operations_are_there(environ: dict[str, str]) -> None:
    part, _ = build_secrets(first(**environ))
    assert "secrets" in [feature.tag for feature in part.features]


def test_what_the_container_declares_is_known_from_the_start(tmp_path: Path) -> None:
    entry = {"source": {"env": "X"}, "bindings": [{"hosts": ["a.example"]}]}
    [found] = declared_secrets(load({"SECRETS": json.dumps({"A": entry})}))
    assert (found.name, found.declared) == ("A", True)


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
