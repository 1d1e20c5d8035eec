"""Placeholders for git: of a secret that is bound to the host, and is put in on the way out."""

from collections.abc import Callable, Iterable

from sandbox_server.drivers.egress.bound_secrets import PlaceKind
from sandbox_server.drivers.egress.secret_users import HTTPS
from sandbox_server.drivers.secrets.definition import SecretDefinition, SecretKind
from sandbox_server.features.workload_identity.git_credentials import GitCredential


class GitPlaceholders:
    """Finds the placeholder that stands for git's password at a host."""

    def __init__(self, definitions: Callable[[], Iterable[SecretDefinition]], username: str) -> None:
        self._definitions = definitions
        self._username = username

    async def find(self, host: str) -> GitCredential | None:
        """Return the first secret's placeholder that may go to the host as a password (Basic, RFC 7617)."""
        name, _, port = host.partition(":")
        for definition in self._definitions():
            if definition.kind is SecretKind.TEXT and _goes_to(definition, name, int(port or HTTPS)):
                return GitCredential(self._username, definition.placeholder)
        return None


def _goes_to(definition: SecretDefinition, host: str, port: int) -> bool:
    return any(
        binding.covers(host, port) and any(place.kind is PlaceKind.BASIC for place in binding.places) for binding in definition.bindings
    )
