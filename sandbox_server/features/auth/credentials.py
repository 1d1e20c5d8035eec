"""Identifies the caller by the credentials of a request, which are tried in a fixed order."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sandbox_server.core import ALL_SCOPES, InvalidArgument, Unauthenticated
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.credentials.agent_keys import AgentKeys
from sandbox_server.drivers.credentials.grants import Grant, Seal
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.names import GUEST, guest_of, is_agents, name_of
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares, is_share
from sandbox_server.drivers.credentials.tickets import Tickets, is_ticket
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.features.auth import cookies
from sandbox_server.features.auth.original import Original

AGENT_SCOPES = ALL_SCOPES - {"admin", "control"}
"""Scopes of the token inside the box: a program there can use the agent's tools, but neither configure them nor act on the screen."""
KEY_SCOPES = ALL_SCOPES - {"admin"}
"""Scopes of the keys of agents. `control` lets an agent act on the screen; what decides for people is kept from every program."""

SIGN_IN = "sign in: send X-AIO-API-Key, Authorization: Bearer, or a ticket"

MAX_PARAMETERS = 1000
"""Limit of parameters of a query, which are decoded before it is known who sends them."""

type Via = Literal["bearer", "key", "query", "ticket", "session", "nothing"]


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller, and the credential that identified it."""

    grant: Grant
    via: Via

    @property
    def person(self) -> bool:
        """Whether the caller is a person: by the credential, or by a signed-in browser."""
        return self.via == "session" if self.grant.person is None else self.grant.person

    @property
    def owner(self) -> bool:
        """Whether the caller is a program that has the owner's key. A ticket that opens no page is not that key."""
        return self.grant.person is None and self.via not in ("ticket", "session")


NOBODY = Identity(Grant("nobody", frozenset(), person=False), "nothing")
ANYONE = Identity(Grant("anyone", ALL_SCOPES), "nothing")
"""The identity of every caller while authentication is off."""


class Credentials:
    """Recognises the API key, the agent's token, agent keys, signed tokens, tickets and session cookies."""

    def __init__(
        self,
        keyring: Keyring,
        tokens: Tokens,
        tickets: Tickets,
        shares: PortShares,
        revoked: Revoked,
        agent_keys: AgentKeys,
        *,
        api_key: str | None,
        session_ttl: float,
        preview_domain: str | None = None,
        agent_profiles: tuple[str, ...] | None = None,
        is_asked: Callable[[str], bool] = lambda _: False,
        task_called: Callable[[str, str, float | None], None] = lambda *_: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Make it. `is_asked` tells whether a handoff is open. `agent_profiles` limits the token inside the box and the keys of agents.

        `task_called` is told of each call with a token that names its task: the caller, the task, the end of the token.
        """
        self._keyring = keyring
        self._tokens = tokens
        self._tickets = tickets
        self._shares = shares
        self._revoked = revoked
        self._agent_keys = agent_keys
        self._api_key = api_key
        self._session_ttl = session_ttl
        self._preview_domain = preview_domain
        self._agent_profiles = agent_profiles
        self._is_asked = is_asked
        self._task_called = task_called
        self._now = now

    def renew(self, tokens: Tokens) -> None:
        """Recognise what the keyring's files hold now, and `tokens`. Everything that was recognised before is refused."""
        self._tokens, self._api_key = tokens, None
        for derived in ("_keys", "_seal"):
            self.__dict__.pop(derived, None)
        for kept in (self._agent_keys, self._shares, self._revoked):
            kept.forget()

    def check(self, original: Original) -> None:
        """Raise InvalidArgument for a request with more parameters, or more credentials of one kind, than one request has."""
        if original.separators >= MAX_PARAMETERS:
            raise InvalidArgument(f"a query has at most {MAX_PARAMETERS} parameters")
        if sum(map(is_ticket, original.values("ticket"))) > 1 or sum(map(is_share, original.values("share"))) > 1:
            raise InvalidArgument("a request has one ticket, and one share link's token")
        if original.port is None and len(original.values("api_key")) > 1:
            raise InvalidArgument("a request has one api_key")

    async def identify(self, original: Original) -> Identity:
        """Identify the caller; raises Unauthenticated.

        An invalid credential is skipped, so that a page behind the gateway can send a bearer token of its own.
        """
        refusal = Unauthenticated(SIGN_IN)
        try:
            found = await self._by_bearer(original)
        except Unauthenticated as error:
            found, refusal = None, error
        found = found or self._by_key(original) or await self._by_ticket(original) or self._by_share(original)
        found = found or self._by_session(original)
        if found is None:
            raise refusal
        return found

    async def verify(self, token: str) -> Identity:
        """Identify the bearer of a key or a signed token that stands in a request's body; raises Unauthenticated."""
        if holder := self._holder(token):
            return Identity(holder, "bearer")
        return await self._by_token(token)

    def session_of(self, identity: Identity) -> tuple[Grant, str]:
        """Begin a browser session: return its grant, and the cookie's value."""
        ends = self._now() + self._session_ttl
        expires = ends if identity.grant.expires is None else min(ends, identity.grant.expires)
        grant = replace(identity.grant, expires=expires, person=identity.grant.person is not False)
        return grant, self._seal.seal(grant)

    def is_secret(self, name: str, value: str) -> bool:
        """Whether a query parameter is a credential of ours, which must not be forwarded."""
        return (
            (name == "ticket" and is_ticket(value))
            or (name == "share" and is_share(value))
            or (name == "api_key" and self._holder(value) is not None)
        )

    def own_bearer(self, original: Original) -> bool:
        """Whether the `Authorization` header holds one of our keys."""
        return self._holder(_bearer(original)) is not None

    async def _by_bearer(self, original: Original) -> Identity | None:
        bearer = _bearer(original)
        if not bearer:
            return None
        return await self.verify(bearer)

    async def _by_token(self, token: str) -> Identity:
        claims = await self._tokens.verify(token)
        scopes = ALL_SCOPES if claims.scopes is None else claims.scopes & ALL_SCOPES
        if claims.task:
            self._task_called(name_of(claims.subject), claims.task, claims.expires)
        grant = Grant(
            name_of(claims.subject),
            scopes,
            expires=claims.expires,
            tools=claims.tools,
            profiles=claims.profiles,
            lanes=claims.lanes,
            person=claims.person,
        )
        return Identity(grant, "bearer")

    def _by_key(self, original: Original) -> Identity | None:
        if holder := self._holder(original.headers.get("x-aio-api-key", "")):
            return Identity(holder, "key")
        holders = (self._holder(value) for value in original.values("api_key"))
        return next((Identity(holder, "query") for holder in holders if holder), None)

    async def _by_ticket(self, original: Original) -> Identity | None:
        for ticket in filter(is_ticket, original.values("ticket")):
            grant = await in_access_thread(self._tickets.redeem, ticket, original.path)
            if grant is not None and (grant.expires is None or grant.expires > self._now()) and self._holds(grant):
                return Identity(_introduced(grant, original), "ticket")
        return None

    def _by_share(self, original: Original) -> Identity | None:
        """Identify by a share link, which opens only the path or host of its port."""
        for share in map(self._shares.find, filter(is_share, original.values("share"))):
            if share is not None and share.port == original.port:
                caller, prefix = f"share-{share.id}", original.preview_prefix
                scopes = frozenset({"code"})
                return Identity(Grant(caller, scopes, prefix, share.expires, port=share.port, share=share.id, person=False), "ticket")
        return None

    def _holds(self, grant: Grant) -> bool:
        """Whether the origin of a grant is in force: a share link, an agent key, a handoff, the session's name."""
        of_share = grant.share is None or self._shares.holds(grant.share)
        of_key = not is_agents(grant.caller) or self._agent_keys.holds(grant.caller)
        return of_share and of_key and (grant.handoff is None or self._is_asked(grant.handoff)) and not self._revoked.holds(grant.caller)

    def sessions(self, original: Original) -> list[Grant]:
        """Return the grants of the browser's cookies that are valid at this path."""
        values = cookies.sealed_in(original.headers.get("cookie", ""), is_encrypted=original.is_encrypted)
        opened = (self._seal.open(value, self._now()) for value in values)
        return [grant for grant in opened if grant and grant.covers(original.path) and self._holds(grant)]

    def visitor(self, original: Original) -> Identity:
        """Return the identity of a caller while authentication is off: the browser's own, else `ANYONE`."""
        named = (grant for grant in self.sessions(original) if grant.caller.startswith(f"{ANYONE.grant.caller}#"))
        return next((Identity(grant, "nothing") for grant in named), ANYONE)

    def _by_session(self, original: Original) -> Identity | None:
        """Identify by a session cookie, a person's before a program's.

        A holder of programs' sessions must not replace a person's. If a page of the agent can set a cookie for this
        host, a program's cookie is ignored.
        """
        found = self.sessions(original)
        people = [grant for grant in found if grant.person]
        foreign = not original.is_encrypted and cookies.may_be_anothers(original.host, self._preview_domain)
        return next((Identity(grant, "session") for grant in people or ([] if foreign else found)), None)

    def _holder(self, key: str) -> Grant | None:
        """Return the holder of a key, which is compared with every key in constant time."""
        given = _digest(key)
        matches = [grant for known, grant in self._keys if hmac.compare_digest(known, given)]
        return matches[0] if matches else self._holder_of_agent_key(key)

    def _holder_of_agent_key(self, text: str) -> Grant | None:
        """Return the holder of an agent key, which is found by its hash."""
        key = self._agent_keys.find(text)
        if key is None:
            return None
        return Grant(key.name, KEY_SCOPES & set(key.scopes), expires=key.expires, profiles=self._agent_profiles, person=False)

    @cached_property
    def _keys(self) -> list[tuple[bytes, Grant]]:
        holders = [
            (self._api_key or self._keyring.read("api-key"), Grant("key", ALL_SCOPES)),
            (self._keyring.read("agent-token"), Grant("agent", AGENT_SCOPES, profiles=self._agent_profiles, person=False)),
        ]
        return [(_digest(key), grant) for key, grant in holders if key]

    @cached_property
    def _seal(self) -> Seal:
        """Return the seal for cookies. Without a key from boot it is random, for this process only."""
        return Seal((self._keyring.read("session-key") or secrets.token_urlsafe()).encode())


def _introduced(grant: Grant, original: Original) -> Grant:
    """Return the grant of a guest with the name that they say when they come; any other as it is."""
    base, _, own = grant.caller.partition("#")
    for name in original.values(GUEST) if base == GUEST else ():
        with suppress(ValueError):  # the page that asks for a name says what is wrong with it
            return replace(grant, caller=f"{guest_of(name)}#{own}")
    return grant


def _bearer(original: Original) -> str:
    scheme, _, value = original.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
