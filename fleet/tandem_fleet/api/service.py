"""Serves the API: on a Unix socket for this machine's command line, and perhaps on a port; and perhaps the gateway."""

import contextlib
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import Authorization, Everybody, SharedKey
from tandem_fleet.api.listeners import answering, bind, listen
from tandem_fleet.backends.backend import Backend
from tandem_fleet.backends.docker import DockerBackend
from tandem_fleet.e2b.service import E2B
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.gateway.gateway import serving as serving_gateway
from tandem_fleet.gateway.settings import GatewaySettings
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.settings import Settings
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database
from tandem_fleet.store.tenants import TenantStore

TOKEN_SECONDS = 60
"""For what the fleet itself asks of a sandbox."""


@dataclass(frozen=True)
class Served:
    """Where a fleet answers."""

    port: int
    """The API's port; 0 where it has none."""
    addresses: Addresses | None
    """How the gateway's sandboxes are called; None where there is no gateway."""

    @property
    def page(self) -> str:
        """Where a browser on this machine reaches the wall; empty where there is no port.

        The name is one that no sandbox has, as browsers send a host's cookies to all its ports.
        """
        return f"http://localhost:{self.port}" if self.port else ""


@contextlib.contextmanager
def claimed(settings: Settings) -> Iterator[None]:
    """Hold the fleet's lock: one process works on a fleet of this folder. Raises `ConflictError` where another does."""
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(settings.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"another process works on the fleet {settings.fleet!r}") from error
        yield
    finally:
        os.close(descriptor)


@contextlib.asynccontextmanager
async def serving(
    settings: Settings, *, host: str = "", port: int = 0, key: str = "", gateway: GatewaySettings | None = None
) -> AsyncIterator[Served]:
    """Serve the fleet until the block ends: on its socket and, with a host, on a port to who sends `key` or a tenant's; says where."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(claimed(settings))
        public, addresses = None, None
        if gateway:
            public = stack.enter_context(listen(gateway.host, gateway.port))
            addresses = gateway.addresses(public.getsockname()[1])
        fleet = await stack.enter_async_context(_fleet(settings, addresses))
        e2b = await stack.enter_async_context(E2B(fleet))
        listeners: list[tuple[Authorization, socket.socket]] = [(Everybody(), bind(settings.socket))]
        if host:
            listeners.append((ApiKeys(TenantStore(fleet.database), SharedKey(key)), listen(host, port)))
        served = Served(listeners[-1][1].getsockname()[1] if host else 0, addresses)
        provider = Provider(settings.provider) if settings.provider else None
        page = settings.provider.url if settings.provider else served.page
        if provider:
            stack.push_async_callback(provider.close)
        apps = [(e2b.over(build(fleet, known, page, provider)), listener) for known, listener in listeners]
        await stack.enter_async_context(answering(apps))
        stack.callback(settings.socket.unlink, missing_ok=True)
        if gateway and addresses and public:
            folder = settings.state / f"{settings.fleet}-gateway"
            await stack.enter_async_context(serving_gateway(fleet, gateway, addresses, public, folder))
        yield served


def _fleet(settings: Settings, addresses: Addresses | None) -> Fleet:
    key = SigningKey.kept(settings.state / "signing-key.pem")
    database, backend = Database(settings.store), _backend(settings, key)
    return Fleet(database, backend, key, settings.image, addresses, settings.snapshots, settings.webhook_networks)


def _backend(settings: Settings, key: SigningKey) -> Backend:
    """The engine of the settings. Raises `InvalidError` where its package is missing."""
    if settings.backend == "docker":
        return DockerBackend(settings.fleet, network=settings.network)
    try:
        from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend  # slow, and an extra of the package
    except ModuleNotFoundError as error:
        raise InvalidError(f"{error.name} is missing: pip install 'tandem-fleet[kubernetes]'") from error
    return KubernetesBackend(settings.fleet, settings.kubernetes, lambda sandbox: key.sign(sandbox, "fleet", {"shell"}, TOKEN_SECONDS))
