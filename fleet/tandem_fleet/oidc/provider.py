"""Calls of an OpenID provider. What it answers is bounded in time and size, no redirect is followed, and no cookie is kept."""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode

import httpx2

from tandem_fleet.errors import FleetError, InvalidError, UnauthorizedError
from tandem_fleet.oidc.id_token import UnknownKey, verified
from tandem_fleet.oidc.settings import ProviderSettings, require_secure
from tandem_fleet.sandbox_http import no_cookies

CALL_SECONDS = 10.0
MOST_BYTES = 256 << 10
KNOWN_SECONDS = 600.0
"""How long the discovery document and the keys are used before they are read again."""
RENEW_SECONDS = 10.0
"""The shortest time between two looks for a key that is not known."""
MOST_SIGN_INS = 32
"""Sign-ins that wait for the provider at the same time."""
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_OPTIONAL = ("userinfo_endpoint", "end_session_endpoint")


class ProviderError(FleetError):
    """The provider is away, or answers what cannot be used."""

    code, status = "provider_unavailable", 503
    retry_after = 10


class Provider:
    """A provider, and this fleet as its client."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        context = ssl.create_default_context()
        self._http = httpx2.AsyncClient(timeout=CALL_SECONDS, trust_env=False, follow_redirects=False, cookies=no_cookies(), verify=context)
        self._reading = asyncio.Lock()
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}
        self._signing_in = 0

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def authorization_url(self, state: str, nonce: str, challenge: str) -> str:
        """Where a browser signs in, with a PKCE challenge of the kind S256 (RFC 7636). Raises `ProviderError`."""
        asked = {"response_type": "code", "client_id": self.settings.client, "redirect_uri": self.settings.callback}
        asked |= {
            "scope": self.settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with((await self._discovered())["authorization_endpoint"], asked)

    async def end_session_url(self) -> str:
        """Where a browser signs out of the provider, too (RP-Initiated Logout 1.0); empty where there is none. Raises `ProviderError`."""
        place = (await self._discovered()).get("end_session_endpoint", "")
        asked = {"client_id": self.settings.client, "post_logout_redirect_uri": f"{self.settings.url}/"}
        return _with(place, asked) if place else ""

    async def check_issuer(self, issuer: str | None) -> None:
        """Raise `UnauthorizedError` for an answer of another issuer, or one that names none where it should (RFC 9207)."""
        required = (await self._discovered()).get("authorization_response_iss_parameter_supported") is True
        if issuer != self.settings.issuer and (issuer is not None or required):
            raise UnauthorizedError("this answer is not the provider's")

    async def claims(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """What the provider vouches for of who brings a code, which is used up. Raises `UnauthorizedError`, `ProviderError`."""
        if self._signing_in >= MOST_SIGN_INS:
            raise ProviderError("too many people sign in at this moment")
        self._signing_in += 1
        try:
            async with asyncio.timeout(2 * CALL_SECONDS):
                return await self._claims(code, verifier, nonce)
        except TimeoutError as error:
            raise ProviderError("the identity provider answers too slowly") from error
        finally:
            self._signing_in -= 1

    async def _claims(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        discovered = await self._discovered()
        answer = await self._exchange(discovered, code, verifier)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise ProviderError("the identity provider sent no ID token")
        claims = await self._verified(token, nonce)
        access = answer.get("access_token")
        if (place := discovered.get("userinfo_endpoint")) and isinstance(access, str) and access.isascii() and access.isprintable():
            status, told = await self._call("GET", place, headers={"Authorization": f"Bearer {access}"})
            if status != 200 or told.get("sub") != claims["sub"]:
                raise ProviderError("the identity provider says nothing of this account")
            return told | claims
        return claims

    async def _exchange(self, discovered: Mapping[str, Any], code: str, verifier: str) -> dict[str, Any]:
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.settings.callback, "code_verifier": verifier}
        authentication: httpx2.BasicAuth | None = None
        methods = discovered.get("token_endpoint_auth_methods_supported")
        if self.settings.secret and (not isinstance(methods, list) or "client_secret_basic" in methods):
            authentication = httpx2.BasicAuth(quote_plus(self.settings.client), quote_plus(self.settings.secret))
        else:
            sent |= {"client_id": self.settings.client} | ({"client_secret": self.settings.secret} if self.settings.secret else {})
        status, answer = await self._call("POST", discovered["token_endpoint"], data=sent, auth=authentication)
        if status in (400, 401):
            raise UnauthorizedError("the identity provider did not take this sign-in: it was used already, or is too old")
        if status != 200:
            raise ProviderError(f"the identity provider answered {status}")
        return answer

    async def _verified(self, token: str, nonce: str) -> dict[str, Any]:
        named = {"issuer": self.settings.issuer, "client": self.settings.client, "nonce": nonce}
        for seconds in (KNOWN_SECONDS, RENEW_SECONDS):  # keys that were rotated meanwhile are read once more
            try:
                return verified(token, await self._keys(seconds), **named)
            except UnknownKey:
                continue
        raise UnauthorizedError("the provider's ID token is signed by a key that it does not publish")

    async def _keys(self, seconds: float) -> dict[str, Any]:
        return await self._read((await self._discovered())["jwks_uri"], seconds)

    async def _discovered(self) -> dict[str, Any]:
        """The discovery document (OpenID Connect Discovery 1.0)."""
        issuer = self.settings.issuer
        document = await self._read(f"{issuer.rstrip('/')}/.well-known/openid-configuration", KNOWN_SECONDS)
        if document.get("issuer") != issuer:
            raise ProviderError("the identity provider's discovery document is of another issuer")
        for name in (*_ENDPOINTS, *(one for one in _OPTIONAL if one in document)):
            try:
                require_secure(name, document[name].partition("?")[0] if isinstance(document.get(name), str) else "")
            except InvalidError as error:
                raise ProviderError(f"the identity provider's discovery document cannot be used: {error}") from error
        return document

    async def _read(self, url: str, seconds: float) -> dict[str, Any]:
        """A document that is at most some seconds old."""
        async with self._reading:
            read, document = self._known.get(url, (0.0, None))
            if document is None or time.monotonic() - read >= seconds:
                status, document = await self._call("GET", url)
                if status != 200:
                    raise ProviderError(f"the identity provider answered {status}")
                self._known[url] = (time.monotonic(), document)
            return document

    async def _call(self, verb: str, url: str, **sent: Any) -> tuple[int, dict[str, Any]]:
        """A call's status and JSON object. Raises `ProviderError`."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"} | sent.pop("headers", {})
        content = bytearray()
        try:
            async with asyncio.timeout(CALL_SECONDS), self._http.stream(verb, url, headers=headers, **sent) as response:
                async for chunk in response.aiter_raw():
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise ProviderError(f"the identity provider's answer is over {MOST_BYTES} bytes")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:  # a TimeoutError is an OSError
            raise ProviderError("the identity provider does not answer") from error
        try:
            told = json.loads(content)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict):
            return response.status_code, told
        if response.status_code == 200:
            raise ProviderError("the identity provider did not answer with a JSON object")
        return response.status_code, {}


def _with(url: str, asked: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"
