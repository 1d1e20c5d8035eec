"""The sandbox's own identity: what signs its tokens, and every way to them."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from sandbox_server.composition.egress import off_reason
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.errors import Unauthenticated
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.audiences import AudienceRules
from sandbox_server.drivers.workload_identity.signing_keys import ContainerKeys, KeyStore, OwnersKeys
from sandbox_server.drivers.workload_identity.token_endpoint import TokenEndpoint
from sandbox_server.drivers.workload_identity.token_files import Content, TokenFiles
from sandbox_server.drivers.workload_identity.token_issuer import Issuer, TokenIssuer
from sandbox_server.drivers.workload_identity.token_socket import TokenSocket
from sandbox_server.features.auth import Credentials
from sandbox_server.features.secrets.registry import SecretRegistry
from sandbox_server.features.workload_identity.binding import SandboxBindings
from sandbox_server.features.workload_identity.box_socket import CALLER, BoxAnswers
from sandbox_server.features.workload_identity.discovery import IdentityDiscovery
from sandbox_server.features.workload_identity.exchange import TokenExchange, VerifiedCaller
from sandbox_server.features.workload_identity.git_credentials import FindCredential, GitCredential, GitCredentials
from sandbox_server.features.workload_identity.git_secrets import GitPlaceholders
from sandbox_server.features.workload_identity.outside_tokens import OutsideTokens
from sandbox_server.features.workload_identity.tokens import IdentityTokens, TokenDesk, token_rate
from sandbox_server.settings import Settings
from sandbox_server.settings.identity import (
    AWS_FILE,
    AZURE_FILE,
    GCP_CONFIGURATION,
    GCP_FILE,
    MAX_TOKEN_SECONDS,
    gcp_configuration,
)

AZURE_AUDIENCE = "api://AzureADTokenExchange"
FRESH = 3
"""How often a token file is renewed within a token's life."""
VERIFIERS_CACHE_SECONDS = 600.0
"""Seconds for which a retired key is published beyond its last token's end."""


def build_identity(
    machine: MachineParts, credentials: Credentials, placeholder: FindCredential | None = None
) -> tuple[ProductPart, SandboxBindings]:
    """Make the operations, the socket and the token files. `placeholder` finds a secret that is bound to a git host."""
    settings = machine.settings
    identity = settings.identity
    keys, snapshot = keys_of(settings), machine.snapshot
    issuer = TokenIssuer(issuer_of(settings), keys, machine.bindings, may_issue=snapshot.require_running)
    audiences, rate = AudienceRules(identity.audiences, issuer.issuer.url), token_rate()
    tokens = TokenDesk(issuer, audiences, rate)
    outside = OutsideTokens(_endpoint(settings), identity.token_endpoint_audience or identity.token_endpoint or "", issuer, rate)
    git = GitCredentials(identity.git_hosts, _git_tokens(settings, tokens, outside), placeholder)
    files = TokenFiles(settings.paths.identity, files_of(settings, issuer), identity.token_seconds / FRESH)
    snapshot.when("prepared", files.withdraw)
    snapshot.when("bound", keys.forget)
    snapshot.when("running", files.renew)
    socket = TokenSocket(f"{settings.paths.identity}/identity.sock", _users(settings), BoxAnswers(tokens, git))
    bindings = SandboxBindings(machine.bindings, files.renew)
    exchange = TokenExchange(issuer, audiences, rate, partial(_verified, credentials))
    features = (IdentityTokens(tokens, machine.bindings), IdentityDiscovery(issuer), bindings, exchange, outside)
    return ProductPart(features, (files, socket)), bindings


def placeholders_of(machine: MachineParts, registry: SecretRegistry) -> FindCredential | None:
    """Return what finds a git host's bound secret; None where no egress process puts secrets in."""
    if off_reason(machine):
        return None
    names = GitPlaceholders(lambda: [definition for definition, *_ in registry.listed()], machine.settings.identity.git_username)
    return names.find


def issuer_of(settings: Settings) -> Issuer:
    """Return the issuer: never by a request's own `Host`, which its sender chooses."""
    identity = settings.identity
    url = identity.issuer or (settings.handoff.link or "").rstrip("/") or f"http://localhost:{settings.gateway.port}"
    return Issuer(url, identity.trust_domain or (urlsplit(url).hostname or "localhost"), identity.token_seconds)


def keys_of(settings: Settings) -> KeyStore:
    """Return the keys: the owner's, which boot has copied to where control may read them, or the container's own."""
    if settings.identity.key_file:
        return OwnersKeys(settings.paths.identity_key)
    return ContainerKeys(JsonFile(f"{settings.paths.run}/identity-keys.json"), MAX_TOKEN_SECONDS + VERIFIERS_CACHE_SECONDS)


def files_of(settings: Settings, issuer: TokenIssuer) -> dict[str, Content]:
    """Return the files of the clouds that the settings name."""
    identity, found = settings.identity, dict[str, Content]()
    if identity.aws_role and identity.aws_audience:
        found[AWS_FILE] = _token(issuer, identity.aws_audience)
    if identity.gcp_provider:
        found[GCP_FILE] = _token(issuer, f"https:{identity.gcp_provider}")
        found[GCP_CONFIGURATION] = partial(gcp_configuration, identity, settings.paths.identity)
    if identity.azure_client:
        found[AZURE_FILE] = _token(issuer, AZURE_AUDIENCE)
    return found


def _token(issuer: TokenIssuer, audience: str) -> Callable[[], str]:
    return lambda: issuer.issue((audience,)).token


def _users(settings: Settings) -> set[int]:
    """Return who may use the socket: the agent and root, which in a box is the agent's own."""
    return {0, settings.agent.uid, os.geteuid()}


def _endpoint(settings: Settings) -> TokenEndpoint | None:
    identity = settings.identity
    if identity.token_endpoint is None:
        return None
    secret = identity.token_endpoint_secret
    client = (identity.token_endpoint_client, secret.reveal()) if identity.token_endpoint_client and secret else None
    return TokenEndpoint(identity.token_endpoint, client)


def _git_tokens(settings: Settings, tokens: TokenDesk, outside: OutsideTokens) -> FindCredential:
    """Return what finds git's password: an access token of the owner's token endpoint, or the sandbox's own token."""
    identity = settings.identity

    async def find(host: str) -> GitCredential:
        audience = f"https://{host}"
        if identity.token_endpoint:
            access = await outside.find(CALLER, audience=audience)
            return GitCredential(identity.git_username, access.token, access.expires_at)
        tokens.rate.take(CALLER)
        issued = await asyncio.to_thread(tokens.issuer.issue, (audience,))
        return GitCredential(identity.git_username, issued.token, issued.expires_at)

    return find


async def _verified(credentials: Credentials, token: str) -> VerifiedCaller:
    """Verify a token of this API's. Raises Unauthenticated; a token that is bound to tools, profiles or lanes cannot be exchanged."""
    found = await credentials.verify(token)
    grant = found.grant
    if grant.port is not None or any(limit is not None for limit in (grant.tools, grant.profiles, grant.lanes)):
        raise Unauthenticated("a token that is bound to tools, to profiles, to lanes or to a port cannot be exchanged")
    return VerifiedCaller(Caller(grant.caller, grant.scopes, person=found.person), grant.expires)
