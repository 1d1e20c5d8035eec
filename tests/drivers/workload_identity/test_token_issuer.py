"""What the sandbox's tokens say, and which ones it takes for its own."""

import base64
import json
from pathlib import Path
from typing import Any

import jwt
import pytest

from sandbox_server.core.errors import Unauthenticated
from tests.identities import ACME, SECONDS, URL, Identity, claims_in, public_pem, stranger, verified


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return Identity(tmp_path)


def test_a_token_names_the_sandbox_its_audience_and_its_minutes(identity: Identity) -> None:
    issued = identity.issuer.issue(("vault",))
    found = verified(issued.token, identity.keys.published(), "vault")

    assert {name: found[name] for name in ("iss", "sub", "aud", "sandbox_id")} == {
        "iss": URL,
        "sub": "spiffe://example.org/sandbox/box-1",
        "aud": "vault",
        "sandbox_id": "box-1",
    }
    assert (found["iat"], found["nbf"], found["exp"]) == (identity.seconds, identity.seconds, identity.seconds + SECONDS)
    assert issued.expires_at == found["exp"]
    assert not {"tenant", "task", "labels", "scope", "act"} & set(found)


def test_its_header_names_the_key_and_nothing_else(identity: Identity) -> None:
    assert jwt.get_unverified_header(identity.token()) == {"alg": "RS256", "typ": "JWT", "kid": identity.keys.current().kid}


def test_a_bound_sandbox_s_tokens_say_for_whom_it_works(identity: Identity) -> None:
    before = identity.token("vault")
    identity.bindings.bind(ACME)
    found = claims_in(identity.token("vault", "other"))

    assert found["sub"] == "spiffe://example.org/tenant/acme/task/t-1/sandbox/box-1"
    assert (found["tenant"], found["task"], found["labels"]) == ("acme", "t-1", {"team": "search"})
    assert found["aud"] == ["vault", "other"]
    assert "tenant" not in claims_in(before)


def test_no_two_tokens_have_the_same_id(identity: Identity) -> None:
    assert claims_in(identity.token())["jti"] != claims_in(identity.token())["jti"]


def test_it_knows_its_own_tokens_until_they_end(identity: Identity) -> None:
    token = identity.token()
    assert identity.issuer.verify(token)["sandbox_id"] == "box-1"
    identity.keys.rotate()
    assert identity.issuer.verify(token)["sandbox_id"] == "box-1"
    identity.seconds += SECONDS
    with pytest.raises(Unauthenticated):
        identity.issuer.verify(token)


def test_a_token_from_the_future_is_refused(identity: Identity) -> None:
    token = identity.token()
    identity.seconds -= 60
    with pytest.raises(Unauthenticated):
        identity.issuer.verify(token)


def test_a_token_for_another_audience_is_not_taken_back(identity: Identity) -> None:
    with pytest.raises(Unauthenticated):
        identity.issuer.verify(identity.token("vault"))


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def unsigned(identity: Identity, **header: Any) -> str:
    return f"{encoded({'alg': 'none', 'kid': identity.keys.current().kid} | header)}.{encoded(claims_in(identity.token()))}."


def with_header(identity: Identity, **header: Any) -> str:
    _, body, signature = identity.token().split(".")
    return f"{encoded({'alg': 'RS256', 'kid': identity.keys.current().kid} | header)}.{body}.{signature}"


def test_a_forged_token_is_refused(identity: Identity) -> None:
    """Another key, no signature, the public key as an HMAC secret, a key in the header, a `kid` that is a path."""
    public = public_pem(stranger())
    forged = [
        identity.forged(),
        identity.forged(key="x" * 32, algorithm="HS256"),
        identity.forged(kid="../../dev/null"),
        identity.forged(kid="' OR 1=1 --"),
        unsigned(identity),
        unsigned(identity, alg="None"),
        unsigned(identity, alg="HS256"),
        with_header(identity, alg="RS512"),
        with_header(identity, crit=["exp"]),
        with_header(identity, jwk={"kty": "RSA"}, jku="http://evil.example/jwks.json"),
        with_header(identity, kid=None),
        with_header(identity, kid=["x"]),
        with_header(identity, kid={"$ne": 1}),
        identity.token()[:-4] + "AAAA",
        f"{identity.token()}.x",
        "",
        "a.b.c",
        "." * 10_000,
        "é.é.é",
        "x" * 20_000,
        public,
    ]
    for token in forged:
        with pytest.raises(Unauthenticated):
            identity.issuer.verify(token)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": None},
        {"aud": "vault"},
        {"exp": None},
        {"exp": "never"},
        {"exp": 1e400},
        {"nbf": None},
        {"iat": None},
        {"jti": None},
        {"sub": None},
    ],
)
def test_a_token_with_our_key_and_claims_that_are_wrong_is_refused(identity: Identity, claims: dict[str, Any]) -> None:
    payload = {name: value for name, value in (claims_in(identity.token()) | claims).items() if value is not None}
    key = identity.keys.current()
    token = jwt.encode(payload, key.private, algorithm="RS256", headers={"kid": key.kid})
    with pytest.raises(Unauthenticated):
        identity.issuer.verify(token)
