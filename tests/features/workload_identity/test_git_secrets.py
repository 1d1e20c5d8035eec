"""Which placeholder git gets for a host."""

from typing import Any

import pytest

from sandbox_server.drivers.secrets.definition import SecretDefinition, read_definition
from sandbox_server.features.workload_identity.git_credentials import GitCredential
from sandbox_server.features.workload_identity.git_secrets import GitPlaceholders

pytestmark = pytest.mark.anyio


def secret(name: str, *hosts: str, **more: Any) -> SecretDefinition:
    binding = {"hosts": list(hosts), **({"places": more.pop("places")} if "places" in more else {})}
    return read_definition(name, {"bindings": [binding], **more}, lambda name: f"placeholder-{name}")


SECRETS = [
    secret("header_only", "git.example", places=["header:X-Key"]),
    secret("code", "git.example", kind="totp"),
    secret("git", "git.example", "other.example:8443"),
    secret("below", "*.forge.example"),
]


async def found(host: str) -> GitCredential | None:
    return await GitPlaceholders(lambda: SECRETS, "x-access-token").find(host)


@pytest.mark.parametrize(
    ("host", "name"), [("git.example", "git"), ("git.example:443", "git"), ("other.example:8443", "git"), ("a.forge.example", "below")]
)
async def test_a_bound_host_gets_the_placeholder_of_its_password(host: str, name: str) -> None:
    placeholder = next(each.placeholder for each in SECRETS if each.name == name)
    assert await found(host) == GitCredential("x-access-token", placeholder)


@pytest.mark.parametrize("host", ["evil.example", "git.example:8443", "other.example", "forge.example", "git.example.evil.example"])
async def test_every_other_host_gets_none(host: str) -> None:
    assert await found(host) is None
