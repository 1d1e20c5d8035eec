"""Public keys and the one algorithm of each."""

import base64

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from sandbox_server.drivers.credentials.token_keys import BadKey, parse_jwk, parse_public_key

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def pem(private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.mark.parametrize(("private", "algorithm"), [(RSA, "RS256"), (EC, "ES256"), (ED, "EdDSA")])
def test_a_keys_type_decides_its_algorithm(private: rsa.RSAPrivateKey, algorithm: str) -> None:
    assert parse_public_key(pem(private)).algorithm == algorithm


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\\n"),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.encodebytes(text.encode()).decode(),
    ],
    ids=["pem", "escaped", "base64", "base64 with line breaks"],
)
def test_a_key_is_read_in_each_of_its_spellings(encode: "object") -> None:
    assert callable(encode)
    assert parse_public_key(encode(pem(RSA))).algorithm == "RS256"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense!", "neither"),
        (base64.b64encode(b"nonsense").decode(), "not a PEM"),
        (pem(rsa.generate_private_key(65537, 1024)), "2048"),
        (pem(ec.generate_private_key(ec.SECP384R1())), "only RSA, EC P-256"),
    ],
)
def test_a_key_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(BadKey, match=reason):
        parse_public_key(text)


def test_a_private_key_is_refused_as_such() -> None:
    private = ED.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with pytest.raises(BadKey, match="private key"):
        parse_public_key(base64.b64encode(private).decode())


@pytest.mark.parametrize(
    "jwk",
    [
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "RSA", "use": "enc", "n": "AQAB", "e": "AQAB"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"},
        {},
    ],
)
def test_a_jwk_that_signs_nothing_is_refused(jwk: dict[str, object]) -> None:
    with pytest.raises(BadKey):
        parse_jwk(jwk)
