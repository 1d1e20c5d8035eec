"""A provider of the tests that says whatever a test wants."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from tandem_fleet.oidc.settings import ProviderSettings


def new_key() -> rsa.RSAPrivateKey:
    """A key that nobody has."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class HostileProvider:
    """Answers as its documents say; without one it answers 404. `asked` are the paths that were asked for."""

    issuer: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=new_key)
    number: str = "one"
    documents: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hangs: bool = False

    def settings(self, **changed: str) -> ProviderSettings:
        """The fleet's settings for it."""
        told = {"ISSUER": self.issuer, "CLIENT_ID": "fleet", "URL": "http://localhost:7700", "RULES": "staff=default:member"} | changed
        made = ProviderSettings.of({f"TANDEM_OIDC_{name}": value for name, value in told.items()})
        assert made
        return made

    def rotate(self, number: str) -> None:
        """Sign with a new key from now on, and publish that alone."""
        self.key, self.number = new_key(), number
        self.publish()

    def publish(self) -> None:
        """Publish the key."""
        shown = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        self.documents["/keys"] = {"keys": [dict(shown) | {"kid": self.number, "use": "sig"}]}

    def token(self, sent: str, **changed: Any) -> str:
        """A signed ID token."""
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "fleet", "sub": "7", "iat": now, "exp": now + 300, "nonce": sent, "groups": ["staff"]}
        return jwt.encode(claims | changed, self.key, algorithm="RS256", headers={"kid": self.number})


@asynccontextmanager
async def hostile_provider() -> AsyncIterator[HostileProvider]:
    """One that is well behaved until a test changes it."""
    provider = HostileProvider()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            provider.asked.append(path)
            if provider.hangs:
                await reader.read()
            found = provider.documents.get(path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            status = b"404 Not Found" if found is None else b"200 OK"
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    provider.issuer = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    ends: dict[str, str] = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
    document = {"issuer": provider.issuer} | {name: f"{provider.issuer}{path}" for name, path in ends.items()}
    provider.documents["/.well-known/openid-configuration"] = document
    provider.publish()
    try:
        yield provider
    finally:
        server.close()
