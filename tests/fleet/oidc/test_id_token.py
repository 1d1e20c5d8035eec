"""ID tokens that hold, and those that do not."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.oidc.id_token import LONGEST_TOKEN, UnknownKey, verified

from tests.fleet.oidc.hostile_provider import HostileProvider, new_key

PROVIDER = HostileProvider(issuer="https://id.example")
PROVIDER.publish()
KEYS: dict[str, Any] = PROVIDER.documents["/keys"]


def _verified(token: str, keys: dict[str, Any] = KEYS) -> dict[str, Any]:
    return verified(token, keys, issuer="https://id.example", client="fleet", nonce="n")


def test_a_token_of_the_provider_holds() -> None:
    assert _verified(PROVIDER.token("n"))["sub"] == "7"


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "another"},
        {"aud": ["fleet", "another"]},
        {"azp": "another"},
        {"iss": "https://id.example.evil"},
        {"nonce": "m"},
        {"nonce": None},
        {"nonce": 7},
        {"exp": int(time.time()) - 120},
        {"iat": int(time.time()) + 600},
        {"nbf": int(time.time()) + 600},
        {"exp": "soon"},
        {"sub": None},
    ],
)
def test_a_token_for_something_else_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(UnauthorizedError):
        _verified(PROVIDER.token("n", **changed))


def test_clocks_may_differ_by_a_minute() -> None:
    now = int(time.time())
    assert _verified(PROVIDER.token("n", exp=now - 30, iat=now + 30))


def test_a_token_that_is_not_signed_by_a_private_key_is_refused() -> None:
    claims = jwt.decode(PROVIDER.token("n"), options={"verify_signature": False})
    shared = jwt.encode(claims, KEYS["keys"][0]["n"], algorithm="HS256", headers={"kid": "one"})
    for token in (jwt.encode(claims, "", algorithm="none"), shared):
        with pytest.raises(UnauthorizedError):
            _verified(token)


def test_claims_that_were_changed_do_not_hold() -> None:
    head, _, signature = PROVIDER.token("n").split(".")
    body = base64.urlsafe_b64encode(json.dumps({"iss": "https://id.example", "sub": "8"}).encode()).rstrip(b"=").decode()
    with pytest.raises(UnauthorizedError):
        _verified(f"{head}.{body}.{signature}")


@pytest.mark.parametrize("token", ["", "a.b.c", "..", "x" * (LONGEST_TOKEN + 1), "[" * 20_000])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(UnauthorizedError):
        _verified(token)


@pytest.mark.parametrize(
    "keys", [{}, {"keys": 7}, {"keys": [7]}, {"keys": [{"kty": "oct", "kid": "one", "k": "AA"}]}, {"keys": KEYS["keys"] * 2}]
)
def test_a_set_without_the_one_key_has_no_key_for_it(keys: dict[str, Any]) -> None:
    with pytest.raises(UnknownKey):
        _verified(PROVIDER.token("n"), keys)


def test_keys_for_something_else_or_too_small_verify_nothing() -> None:
    small = HostileProvider(issuer="https://id.example", key=rsa.generate_private_key(65537, 1024))
    small.publish()
    for token, keys in (
        (PROVIDER.token("n"), small.documents["/keys"]),
        (PROVIDER.token("n"), {"keys": [KEYS["keys"][0] | {"use": "enc"}]}),
        (PROVIDER.token("n"), {"keys": [KEYS["keys"][0] | {"alg": "ES256"}]}),
    ):
        with pytest.raises(UnknownKey):
            _verified(token, keys)


def test_a_key_of_somebody_else_does_not_verify() -> None:
    other = HostileProvider(issuer="https://id.example", key=new_key())
    with pytest.raises(UnauthorizedError):
        _verified(other.token("n"))
