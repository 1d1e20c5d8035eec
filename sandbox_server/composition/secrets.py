"""Secrets that the agent never holds: their sources, the egress process that puts them in, and who trusts its authority."""

from collections.abc import Mapping
from contextlib import suppress

from sandbox_server.composition.container_environ import container_environ
from sandbox_server.composition.egress import off_reason, users_of
from sandbox_server.composition.first import First
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.secrets.aws_secret_store import AwsSecretStore
from sandbox_server.drivers.secrets.definition import PlaceholderOf, SecretDefinition, SourceKind, read_definition
from sandbox_server.drivers.secrets.onepassword import OnePassword
from sandbox_server.drivers.secrets.sources import SecretSources, Store
from sandbox_server.drivers.secrets.trust_files import TrustFiles
from sandbox_server.drivers.secrets.vault import Vault
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.follower import EgressFollower
from sandbox_server.features.egress.private_time import unless_private
from sandbox_server.features.recorder.secret_entries import SecretEntries
from sandbox_server.features.secrets.fill import SecretFilling
from sandbox_server.features.secrets.metrics import SecretMetrics
from sandbox_server.features.secrets.operations import SecretOperations
from sandbox_server.features.secrets.registry import SecretRegistry
from sandbox_server.settings import Settings
from sandbox_server.settings.secrets import SecretsSettings, placeholder_of

_OWNER = "secrets"
_TRUST_OWNER = "egress authority"


def build_secrets(first: First) -> tuple[ProductPart, SecretRegistry]:
    """Make it, with the list of secrets. Without an egress process, they are filled into pages, and put into no request."""
    machine, settings = first.machine, first.machine.settings
    client = EgressClient(settings.paths.egress_socket("control"), off=off_reason(machine))
    given = container_environ(settings)
    sources, files = SecretSources(given, configured_stores(settings.secrets), settings.secrets.cache), TrustFiles(settings.paths.trust)

    async def trust(pem: str) -> None:
        files.trust(pem)
        wanted = {name: value for name, value in files.environment().items() if name not in given}
        machine.environment.replace(wanted, _TRUST_OWNER)
        if machine.has_browser:
            with suppress(Unavailable):  # its process reads the file when it comes
                await machine.owner.trust_authority()

    def changed(variables: Mapping[str, str]) -> None:
        machine.environment.replace(variables, _OWNER)

    placeholders, file = placeholders_of(settings), JsonFile(f"{settings.paths.run}/secrets.json")
    users = users_of(machine)
    registry = SecretRegistry(client, file, declared_secrets(settings), placeholders, users, sources.fetch, trust, changed)
    machine.snapshot.when("bound", sources.forget)
    machine.snapshot.when("bound", registry.forget)
    entries, metrics = SecretEntries(first.recorder.journal), SecretMetrics()
    heard = tuple(unless_private(hear) for hear in (registry.hear, entries.hear, metrics.hear))
    follower = EgressFollower(client, (registry.give,), heard, lambda _: None, "secrets")
    if not client.off:
        first.gateway.health.more.append(metrics.exposition)
    filling = (SecretFilling(registry, machine.owner.drop, entries.filled),) * machine.has_browser
    return ProductPart((SecretOperations(registry), *filling), (registry, follower)), registry


def configured_stores(secrets: SecretsSettings) -> dict[SourceKind, Store]:
    """Return the stores that the settings name."""
    found: dict[SourceKind, Store] = {}
    if secrets.vault_address and secrets.vault_token:
        vault = Vault(secrets.vault_address, secrets.vault_token.reveal(), secrets.vault_namespace or "")
        found[SourceKind.VAULT] = vault.fetch
    if secrets.onepassword_address and secrets.onepassword_token:
        found[SourceKind.ONEPASSWORD] = OnePassword(secrets.onepassword_address, secrets.onepassword_token.reveal()).fetch
    if secrets.aws_region and secrets.aws_key and secrets.aws_secret:
        session = secrets.aws_session.reveal() if secrets.aws_session else ""
        key, secret = secrets.aws_key.reveal(), secrets.aws_secret.reveal()
        found[SourceKind.AWS] = AwsSecretStore(secrets.aws_region, key, secret, session, secrets.aws_endpoint or "").fetch
    return found


def declared_secrets(settings: Settings) -> list[SecretDefinition]:
    """Return the secrets that the container's SECRETS declares, which boot has checked."""
    made = placeholders_of(settings)
    return [read_definition(name, each, made, declared=True) for name, each in settings.secrets.declared.items()]


def placeholders_of(settings: Settings) -> PlaceholderOf:
    """Return what makes placeholders by the container's key, which a copy of the container has anew."""
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    return lambda name: placeholder_of(name, keyring.placeholder_key())
