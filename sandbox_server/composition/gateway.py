"""What the gateway asks: authentication and readiness."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.audit import Audit
from sandbox_server.drivers.credentials.agent_keys import AgentKeys
from sandbox_server.drivers.credentials.jwks import JwksFile, JwksUrl
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.token_keys import KeySource, StaticKey
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.ports.container_names import ContainerNames
from sandbox_server.drivers.stats import system
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.auth import Auth, Credentials, SessionGuard, SignInSessions
from sandbox_server.features.auth.agent_keys import AgentKeyList
from sandbox_server.features.auth.allowed_hosts import AllowedHosts
from sandbox_server.features.auth.credentials import KEY_SCOPES
from sandbox_server.features.auth.invitations import Invitations
from sandbox_server.features.auth.turns import EditorTurns
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.health import Health
from sandbox_server.settings import Settings


class TaskCalls:
    """Tells of calls with tokens that name their task. Nobody hears of them until the listener is set."""

    def __init__(self) -> None:
        self.listener: Callable[[str, str, float | None], None] = lambda *_: None

    def __call__(self, caller: str, task: str, expires: float | None) -> None:
        """Pass one on."""
        self.listener(caller, task, expires)


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """Authentication, and the states of the components."""

    audit: Audit
    session_guard: SessionGuard
    health: Health
    task_calls: TaskCalls
    credentials: Credentials
    part: ProductPart


def build_gateway(machine: MachineParts, keeper: LeaseKeeper, is_asked: Callable[[str], bool]) -> GatewayParts:
    """Make them. `is_asked` tells whether a handoff is open; otherwise its links are void."""
    audit = Audit()
    paths = machine.settings.paths
    of_box = {"box-gateway": paths.socket("box-gateway")} if machine.has_own_network else {}
    health = Health(ComponentSockets(component_sockets(machine.settings) | of_box), audit, machine.liveness)
    sessions = SignInSessions(machine.revoked, keeper.expel)
    keyring = Keyring(paths.run, paths.agent_run)
    keys = AgentKeys(JsonFile(f"{paths.run}/agent-keys.json"), of_boot=keyring.agent_key, scopes=KEY_SCOPES)
    invitations = Invitations(Tickets(keyring.tickets))
    task_calls = TaskCalls()
    credentials = credentials_of(machine, is_asked, keys, task_calls)
    features = (authentication(machine, keeper, credentials), sessions, AgentKeyList(keys), invitations, health)
    return GatewayParts(audit, SessionGuard(machine.revoked), health, task_calls, credentials, ProductPart(features))


def credentials_of(machine: MachineParts, is_asked: Callable[[str], bool], keys: AgentKeys, task_calls: TaskCalls) -> Credentials:
    """Return what recognises a key, a token, a ticket or a session."""
    settings, auth = machine.settings, machine.settings.auth
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    return Credentials(
        keyring,
        tokens_of(settings),
        Tickets(keyring.tickets),
        machine.shares,
        machine.revoked,
        keys,
        api_key=auth.api_key.reveal() if auth.api_key else None,
        session_ttl=auth.session_ttl,
        preview_domain=auth.preview_domain,
        agent_profiles=auth.agent_profiles,
        is_asked=is_asked,
        task_called=task_calls,
    )


def authentication(machine: MachineParts, keeper: LeaseKeeper, credentials: Credentials) -> Auth:
    """Return the authentication by these credentials."""
    settings, auth = machine.settings, machine.settings.auth
    tickets = Tickets(Keyring(settings.paths.run, settings.paths.agent_run).tickets)
    editors = EditorTurns(lambda: keeper.holding, {settings.code.jupyterlab_port, settings.code.code_server_port})
    hosts = AllowedHosts(auth.hosts, socket.gethostname(), auth.preview_domain, ContainerNames().hold)
    return Auth(credentials, tickets, machine.ports, auth, turns=editors, hosts=hosts, program_called=keeper.see_agent)


def tokens_of(settings: Settings) -> Tokens:
    """Return what verifies signed tokens."""
    return Tokens(list(_token_keys(settings)), settings.auth.audience, settings.auth.issuer)


def _token_keys(settings: Settings) -> Iterator[KeySource]:
    auth = settings.auth
    if auth.jwks_url:
        yield JwksUrl(auth.jwks_url)
    if auth.jwks_file:
        yield JwksFile(auth.jwks_file)
    if auth.jwt_public_key:
        yield StaticKey(auth.jwt_public_key.reveal())


def component_sockets(settings: Settings) -> dict[str, str]:
    """Return the sockets of the components, without those that were left out or that Liveness pings."""
    paths = settings.paths
    components = {
        "browser": {"browser": paths.socket("cdp")},
        "desktop": {"desktop": settings.display.socket} | ({"desktop-bus": paths.bus} if system.has_name() else {}),
        "mcp": {"mcp": paths.socket("mcp")},
        "stream": {"stream": paths.socket("stream")},
        "vnc": {"vnc": paths.vnc},
    }
    sockets = {"gateway": paths.socket("gateway")}
    for component in components.keys() - settings.components.left_out:
        sockets |= components[component]
    return sockets
