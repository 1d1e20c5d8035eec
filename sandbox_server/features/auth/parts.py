"""The parts of authentication, put together from the settings."""

from collections.abc import Iterator

from sandbox_server.drivers.credentials.jwks import JwksFile, JwksUrl
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.token_keys import KeySource, StaticKey
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.ports import Ports
from sandbox_server.features.auth.auth import Auth
from sandbox_server.features.auth.credentials import Credentials
from sandbox_server.settings import Settings


def auth_of(settings: Settings, ports: Ports) -> Auth:
    """What the gateway asks; `ports` are those that can be previewed."""
    auth = settings.auth
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    tickets = Tickets(keyring.tickets)
    tokens = Tokens(list(_token_keys(settings)), auth.audience, auth.issuer)
    key = auth.api_key.reveal() if auth.api_key else None
    credentials = Credentials(keyring, tokens, tickets, api_key=key, session_ttl=auth.session_ttl)
    return Auth(credentials, tickets, ports, auth)


def _token_keys(settings: Settings) -> Iterator[KeySource]:
    auth = settings.auth
    if auth.jwks_url:
        yield JwksUrl(auth.jwks_url)
    if auth.jwks_file:
        yield JwksFile(auth.jwks_file)
    if auth.jwt_public_key:
        yield StaticKey(auth.jwt_public_key.reveal())
