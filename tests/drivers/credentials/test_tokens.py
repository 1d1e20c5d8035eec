"""Signed tokens: what is accepted, and what is refused with which words."""

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from sandbox_server.core.errors import Unauthenticated
from sandbox_server.drivers.credentials.token_keys import StaticKey, TokenKey
from sandbox_server.drivers.credentials.tokens import CACHED_SECONDS, LEEWAY_SECONDS, Tokens

pytestmark = pytest.mark.anyio

type Private = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA = rsa.generate_private_key(65537, 2048)
PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
NOW = int(time.time())


def tokens(audience: str | None = None, issuer: str | None = None) -> Tokens:
    return Tokens([StaticKey(PEM.decode())], audience, issuer)


def signed(**claims: object) -> str:
    return jwt.encode(claims, RSA, algorithm="RS256")


def by_hand(header: dict[str, object], payload: dict[str, object], secret: bytes | None) -> str:
    """A token that no honest library makes."""
    signed_part = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, payload))
    signature = b"" if secret is None else hmac.new(secret, signed_part, hashlib.sha256).digest()
    return (signed_part + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def by_key(payload: bytes) -> str:
    """A token whose signature holds, with a payload byte for byte."""
    return jwt.api_jws.encode(payload, RSA, algorithm="RS256")


async def test_a_token_with_exp_alone_has_no_scopes_claim() -> None:
    claims = await tokens().verify(signed(exp=NOW + 3600))
    assert (claims.subject, claims.scopes, claims.expires) == (None, None, NOW + 3600)


async def test_scopes_come_from_either_claim() -> None:
    assert (await tokens().verify(signed(scope="view shell"))).scopes == frozenset({"view", "shell"})
    assert (await tokens().verify(signed(scopes=["view", "files"]))).scopes == frozenset({"view", "files"})
    assert (await tokens().verify(signed(scope=""))).scopes == frozenset()
    assert (await tokens().verify(signed(scope={"view": True}))).scopes == frozenset()


async def test_a_token_may_name_its_tools() -> None:
    assert (await tokens().verify(signed(exp=NOW + 3600))).tools is None
    assert (await tokens().verify(signed(tools="a_* b"))).tools == ("a_*", "b")
    assert (await tokens().verify(signed(tools=["a", "b c", "x\r\ny"]))).tools == ("a",)
    assert (await tokens().verify(signed(tools=["a", 1]))).tools == ()
    assert (await tokens().verify(signed(tools={"a": True}))).tools == ()


@pytest.mark.parametrize("private", [ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()])
async def test_the_other_two_algorithms_are_accepted_from_their_keys(private: Private) -> None:
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    algorithm = "ES256" if isinstance(private, ec.EllipticCurvePrivateKey) else "EdDSA"
    token = jwt.encode({"sub": "mia"}, private, algorithm=algorithm)
    assert (await Tokens([StaticKey(pem.decode())], None, None).verify(token)).subject == "mia"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (by_hand({"alg": "none"}, {"exp": NOW + 3600}, None), "key and algorithm"),
        (by_hand({"alg": "None", "typ": "JWT"}, {}, None), "key and algorithm"),
        (by_hand({"alg": "HS256"}, {"exp": NOW + 3600}, PEM), "key and algorithm"),
        (by_hand({"alg": "RS256"}, {"exp": NOW + 3600}, PEM), "signature"),
        (by_hand({"typ": "JWT"}, {}, None), "neither|key and algorithm"),
        (by_hand({"alg": "RS256", "crit": ["x"], "x": 1}, {}, PEM), "neither"),
        (by_hand({"alg": "RS256", "crit": ["b64"], "b64": False}, {}, PEM), "neither"),
        (jwt.encode({"exp": NOW + 3600}, RSA, algorithm="PS256"), "key and algorithm"),
        (jwt.encode({"exp": NOW + 3600}, RSA, algorithm="RS512"), "key and algorithm"),
        (jwt.encode({"exp": NOW + 3600}, rsa.generate_private_key(65537, 2048), algorithm="RS256"), "signature"),
        (signed(exp=NOW - LEEWAY_SECONDS - 1), "expired"),
        (signed(nbf=NOW + 86400), "not valid yet"),
        (signed(exp="soon"), "signature or content"),
        (by_key(b'{"exp":null}'), "exp must be a number"),
        (by_key(b'{"exp":Infinity}'), "not JSON"),
        (by_key(b'{"exp":NaN}'), "not JSON"),
        (by_key(b'{"exp":1e999}'), "exp must be a number"),
        (by_key(b'{"exp":"9999999999"}'), "exp must be a number"),
        (by_key(b'{"exp":true}'), "exp must be a number"),
        (by_key(b'{"nbf":[]}'), "nbf must be a number"),
        (by_key(b'{"iat":{}}'), "iat must be a number"),
        (by_key(b'{"sub":["key"]}'), "sub must be text"),
        (by_key(b'{"sub":""}'), "sub must be text"),
        (by_key(b'{"sub":null}'), "sub must be text"),
        (by_key(b'{"scope":"view","scope":"admin"}'), "names a claim twice"),
        (by_key(b'["scope"]'), "no object"),
        (by_key(b"[" * 6000 + b"]" * 6000), "not JSON|no object"),
        (f"{'W1tb' * 3000}.e30.", "neither"),
        (f"{base64.urlsafe_b64encode(b'[' * 9000).decode()}.e30.", "neither"),
        (by_hand({"alg": "RS256", "kid": ["a"]}, {}, PEM), "neither"),
        ("", "neither"),
        ("a.b.c", "neither"),
        ("x" * 20000, "16384"),
        ("\u0000\ufffd", "neither"),
    ],
)
async def test_a_token_that_does_not_hold_is_refused(token: str, reason: str) -> None:
    with pytest.raises(Unauthenticated, match=reason):
        await tokens().verify(token)


@pytest.mark.parametrize("claims", [{"aud": "other", "iss": "us"}, {"aud": "box", "iss": "them"}, {"iss": "us"}, {"aud": "box"}, {}])
async def test_another_audience_or_issuer_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(Unauthenticated, match="another audience"):
        await tokens("box", "us").verify(signed(**claims))


async def test_the_right_audience_and_issuer_are_accepted() -> None:
    assert await tokens("box", "us").verify(signed(aud=["x", "box"], iss="us"))
    assert await tokens().verify(signed(aud="whatever")), "no audience is asked for"


async def test_without_a_key_no_token_is_accepted() -> None:
    with pytest.raises(Unauthenticated, match="wrong key"):
        await Tokens([], None, None).verify(signed())


async def test_a_verified_token_is_remembered_no_longer_than_it_is_valid() -> None:
    seconds = [float(NOW)]
    source = Counting()
    known = Tokens([source], None, None, lambda: seconds[0])
    token = signed(exp=NOW + 3600)
    await known.verify(token)
    await known.verify(token)
    assert source.asked == 1
    seconds[0] += 3600 + LEEWAY_SECONDS
    await known.verify(token)
    assert source.asked == 2, "expired by the clock it is looked at again"


async def test_a_remembered_token_is_looked_at_again_in_time_to_notice_a_withdrawn_key() -> None:
    seconds = [float(NOW)]
    source = Counting()
    known = Tokens([source], None, None, lambda: seconds[0])
    await known.verify(signed())
    seconds[0] += CACHED_SECONDS
    source.withdrawn = True
    with pytest.raises(Unauthenticated):
        await known.verify(signed())


class Counting(StaticKey):
    """Counts how often the key was asked for."""

    def __init__(self) -> None:
        super().__init__(PEM.decode())
        self.asked = 0
        self.withdrawn = False

    async def find(self, kid: str | None) -> TokenKey | None:
        self.asked += 1
        return None if self.withdrawn else await super().find(kid)


def test_nothing_imports_the_token_library_before_a_token_comes() -> None:
    code = "import sandbox_server.features.auth, sys; print([m for m in ('jwt', 'cryptography') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
