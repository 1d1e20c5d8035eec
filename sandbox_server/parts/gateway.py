"""What the gateway asks: who is calling, and whether everything is ready."""

import socket
from collections.abc import Iterator

from sandbox_server.core.dispatch import Guard, require_scope, require_tool
from sandbox_server.core.operation import Feature
from sandbox_server.drivers.credentials.jwks import JwksFile, JwksUrl
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.token_keys import KeySource, StaticKey
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.ports.container_names import ContainerNames
from sandbox_server.drivers.stats import system
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.features.auth import Auth, Credentials, SessionGuard, SignInSessions
from sandbox_server.features.auth.allowed_hosts import AllowedHosts
from sandbox_server.features.auth.turns import EditorTurns
from sandbox_server.features.health import Health
from sandbox_server.parts import recorder
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings


def part(shared: Shared) -> Part:
    """Who may come in, what they may do, and what is written down of it."""
    health = Health(ComponentSockets(component_sockets(shared.settings)), shared.audit, shared.liveness)
    recording = recorder.first(shared)
    sessions = SignInSessions(shared.revoked, shared.control.driving.expel)
    features: tuple[Feature, ...] = (authentication(shared), sessions, health, *recording.features)
    guards: tuple[Guard, ...] = (shared.audit, *recording.guards, SessionGuard(shared.revoked), require_scope, require_tool)
    return Part(features, recording.opened, guards)


def authentication(shared: Shared) -> Auth:
    """What the gateway asks."""
    settings = shared.settings
    auth = settings.auth
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    tickets = Tickets(keyring.tickets)
    tokens = Tokens(list(_token_keys(settings)), auth.audience, auth.issuer)
    key = auth.api_key.reveal() if auth.api_key else None
    credentials = Credentials(
        keyring,
        tokens,
        tickets,
        shared.shares,
        shared.revoked,
        api_key=key,
        session_ttl=auth.session_ttl,
        preview_domain=auth.preview_domain,
        is_asked=lambda handoff: shared.is_asked(handoff),
    )
    editors = EditorTurns(lambda: shared.control.driving.holding, {settings.code.jupyterlab_port, settings.code.code_server_port})
    hosts = AllowedHosts(auth.hosts, socket.gethostname(), auth.preview_domain, ContainerNames().hold)
    return Auth(credentials, tickets, shared.ports, auth, turns=editors, hosts=hosts)


def _token_keys(settings: Settings) -> Iterator[KeySource]:
    auth = settings.auth
    if auth.jwks_url:
        yield JwksUrl(auth.jwks_url)
    if auth.jwks_file:
        yield JwksFile(auth.jwks_file)
    if auth.jwt_public_key:
        yield StaticKey(auth.jwt_public_key.reveal())


def component_sockets(settings: Settings) -> dict[str, str]:
    """The sockets on which the components answer once they are ready, but for those that were left out or are asked for an answer."""
    paths = settings.paths
    parts = {
        "browser": {"browser": paths.socket("cdp")},
        "desktop": {"desktop": settings.display.socket} | ({"desktop-bus": paths.bus} if system.has_name() else {}),
        "mcp": {"mcp": paths.socket("mcp")},
        "stream": {"stream": paths.socket("stream")},
        "vnc": {"vnc": paths.vnc},
    }
    sockets = {"gateway": paths.socket("gateway")}
    for component in parts.keys() - settings.components.left_out:
        sockets |= parts[component]
    return sockets
