"""A registry whose egress process is a broker without connections."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.secrets.definition import SecretDefinition, read_definition
from sandbox_server.drivers.secrets.sources import FetchedValue, ValueUnavailable
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.secret_operations import secret_operations
from sandbox_server.features.secrets.registry import SecretRegistry
from sandbox_server.settings.secrets import placeholder_of
from tests.secret_servers import USERS

BOUND = {"bindings": [{"hosts": ["a.example"]}]}
VALUE = "the-real-value"


def placeholder(name: str) -> str:
    """The placeholder of a secret in this container."""
    return placeholder_of(name, "the key of the container")


class Egress:
    """Answers as the egress process does."""

    off = ""

    def __init__(self) -> None:
        self.broker = CredentialBroker(FlowEvents())

    def start_again(self) -> None:
        """Forget everything, as a new process has."""
        self.broker = CredentialBroker(FlowEvents())

    async def ask(self, op: str, **fields: object) -> dict[str, Any]:
        """Have one thing done."""
        return dict(secret_operations(self.broker)[op](fields))


class RegistryLab:
    """A registry, and what it tells."""

    def __init__(self, folder: Path) -> None:
        self.egress = Egress()
        self.trusted: list[str] = []
        self.variables: Mapping[str, str] = {}
        self.file = JsonFile(str(folder / "secrets.json"))
        self.path = folder / "secrets.json"
        self.fetched: list[str] = []
        self.registry = self.made()

    def made(self) -> SecretRegistry:
        """A registry, as another process has it."""
        declared = [read_definition("DECLARED", {**BOUND, "source": {"env": "X"}, "variable": "X"}, placeholder, declared=True)]
        return SecretRegistry(self.egress, self.file, declared, placeholder, USERS, self.fetch, self.trust, self.change)

    async def fetch(self, definition: SecretDefinition) -> FetchedValue:
        """Get the value of a source."""
        self.fetched.append(definition.name)
        if definition.name == "BROKEN":
            raise ValueUnavailable("it is sealed")
        return FetchedValue(f"value of {definition.name}", None)

    async def trust(self, pem: str) -> None:
        """Be told the authority."""
        self.trusted.append(pem)

    def change(self, variables: Mapping[str, str]) -> None:
        """Be told the placeholders."""
        self.variables = variables


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[RegistryLab]:
    """A registry with one declared secret."""
    made = RegistryLab(tmp_path)
    async with made.registry:
        yield made
