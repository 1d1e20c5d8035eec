"""The keys that sign, and what is published of them."""

import stat
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from sandbox_server.core.errors import Conflict, ResourceExhausted, Unavailable
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.signing_keys import MAX_RETIRED, ContainerKeys, OwnersKeys, jwk_of, stored_key
from tests.identities import Identity, pem, public_pem, stranger


def test_a_container_makes_one_key_and_keeps_it(tmp_path: Path) -> None:
    first = Identity(tmp_path).keys.current()

    assert Identity(tmp_path).keys.current().jwk == first.jwk
    assert first.private.key_size == 2048


def test_the_private_key_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    Identity(tmp_path).keys.current()
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


def test_only_public_numbers_are_published(tmp_path: Path) -> None:
    [jwk] = Identity(tmp_path).keys.published()

    assert set(jwk) == {"e", "kty", "n", "use", "alg", "kid"}
    assert (jwk["kty"], jwk["use"], jwk["alg"], jwk["e"]) == ("RSA", "sig", "RS256", "AQAB")


def test_a_key_s_id_is_its_thumbprint() -> None:
    """The example of RFC 7638, section 3.1."""
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4"
        "Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI"
        "4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    key = jwt.PyJWK({"kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256"}).key
    assert jwk_of(key)["kid"] == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


def test_a_retired_key_is_published_until_its_last_token_has_ended(tmp_path: Path) -> None:
    identity = Identity(tmp_path)
    old = identity.keys.current().kid
    new = identity.keys.rotate().kid

    assert [jwk["kid"] for jwk in identity.keys.published()] == [new, old]
    assert [jwk["kid"] for jwk in Identity(tmp_path).keys.published()] == [new, old]
    identity.seconds += 1201
    assert [jwk["kid"] for jwk in identity.keys.published()] == [new]


def test_the_private_part_of_a_retired_key_is_gone(tmp_path: Path) -> None:
    identity = Identity(tmp_path)
    old = pem(identity.keys.current().private).splitlines()[2]
    identity.keys.rotate()
    assert old not in (tmp_path / "keys.json").read_text()


def test_keys_are_not_rotated_without_bound(tmp_path: Path) -> None:
    identity = Identity(tmp_path)
    for _ in range(MAX_RETIRED):
        identity.keys.rotate()
    with pytest.raises(ResourceExhausted):
        identity.keys.rotate()
    identity.seconds += 1201
    identity.keys.rotate()


def test_two_containers_have_different_keys(tmp_path: Path) -> None:
    one, other = (ContainerKeys(JsonFile(str(tmp_path / name)), 1.0) for name in ("one", "other"))
    assert one.current().kid != other.current().kid


def test_the_owner_s_first_key_signs_and_the_others_are_published(tmp_path: Path) -> None:
    path, old = tmp_path / "key.pem", rsa.generate_private_key(65537, 2048)
    path.write_text(f"# our fleet\n{pem(stranger())}\n{public_pem(old)}{public_pem(stranger())}")
    keys = OwnersKeys(str(path))

    assert keys.current().jwk == jwk_of(stranger().public_key())
    assert [jwk["kid"] for jwk in keys.published()] == [keys.current().kid, jwk_of(old.public_key())["kid"]]
    with pytest.raises(Conflict):
        keys.rotate()


def elliptic() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "nothing",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        pem(rsa.generate_private_key(65537, 1024)),
        public_pem(stranger()),
        elliptic(),
        pem(stranger()) * 9,
        pem(stranger()) + "-----BEGIN PUBLIC KEY-----\nx\n",
        "é",
    ],
)
def test_a_file_that_cannot_be_used_is_said_and_shows_nothing_of_itself(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key.pem"
    path.write_text(content)
    with pytest.raises(Unavailable) as refused:
        OwnersKeys(str(path)).current()
    assert "IDENTITY_KEY_FILE" in refused.value.message
    assert "AAAA" not in refused.value.message


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file"):
        OwnersKeys(str(tmp_path / "none")).published()


def test_a_stored_key_is_the_one_that_signs_once_the_old_one_is_forgotten(tmp_path: Path) -> None:
    keys = Identity(tmp_path).keys
    old, key = keys.current(), rsa.generate_private_key(65537, 2048)
    (tmp_path / "keys.json").write_text(stored_key(pem(key)))
    assert keys.current().kid == old.kid
    keys.forget()
    assert [each["kid"] for each in keys.published()] == [jwk_of(key.public_key())["kid"]]


def test_each_stored_key_is_another_one() -> None:
    assert stored_key() != stored_key()


def test_only_a_private_key_can_be_stored() -> None:
    with pytest.raises(ValueError, match="private key"):
        stored_key("x")
