"""Who may come in, composed: credentials, previews of ports, and what a share link opens."""

import os
from collections.abc import Iterator

from sandbox_server.core.operation import Feature
from sandbox_server.drivers.credentials.jwks import JwksFile, JwksUrl
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.shares import Shares
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.token_keys import KeySource, StaticKey
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.json_file import JsonFile
from sandbox_server.drivers.port_holders import PortHolders
from sandbox_server.drivers.ports import Ports
from sandbox_server.drivers.process import Processes
from sandbox_server.features.auth import Auth, Credentials
from sandbox_server.features.ports.feature import PortViews
from sandbox_server.settings import Settings


def admission(settings: Settings, processes: Processes) -> list[Feature]:
    """What the gateway asks, and the ports that it shows."""
    auth, paths = settings.auth, settings.paths
    keyring, ports = Keyring(paths.run, paths.agent_run), agent_ports(settings)
    tickets, shares = Tickets(keyring.tickets), Shares(JsonFile(f"{paths.run}/shares.json"))
    tokens = Tokens(list(_token_keys(settings)), auth.audience, auth.issuer)
    key = auth.api_key.reveal() if auth.api_key else None
    credentials = Credentials(keyring, tokens, tickets, shares, api_key=key, session_ttl=auth.session_ttl)
    holders = PortHolders(processes, "root" if settings.agent.sudo else "agent")
    return [Auth(credentials, tickets, ports, auth), PortViews(ports, holders, shares, auth.preview_domain)]


def agent_ports(settings: Settings) -> Ports:
    """The ports that are not the sandbox's own: nor its users', where the container was started as root and has such users."""
    users = settings.users
    own_users = {users.control_uid, users.desktop_uid} if os.geteuid() == users.control_uid else set()
    return Ports({settings.gateway.port}, own_users)


def _token_keys(settings: Settings) -> Iterator[KeySource]:
    auth = settings.auth
    if auth.jwks_url:
        yield JwksUrl(auth.jwks_url)
    if auth.jwks_file:
        yield JwksFile(auth.jwks_file)
    if auth.jwt_public_key:
        yield StaticKey(auth.jwt_public_key.reveal())
