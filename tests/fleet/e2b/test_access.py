"""Tokens of sandboxes, and signatures of links."""

import time
from pathlib import Path

import pytest
from tandem_fleet.e2b.access import SandboxTokens, Signature, same, signature
from tandem_fleet.signing_key import SigningKey


def test_a_token_is_of_one_sandbox_one_kind_and_one_fleet(tmp_path: Path) -> None:
    one, other = (SandboxTokens(SigningKey.kept(tmp_path / name)) for name in ("a.pem", "b.pem"))
    made = {tokens(sandbox) for tokens in (one.access, one.traffic, other.access) for sandbox in ("abc", "abd")}
    assert len(made) == 6
    assert SandboxTokens(SigningKey.kept(tmp_path / "a.pem")).access("abc") == one.access("abc")


def test_a_signature_is_the_one_that_clients_make() -> None:
    # echo -n "/a b:read:root:secret:17" | openssl dgst -sha256 -binary | base64, without the padding
    assert signature("/a b", "read", "root", "secret", "17") == "v1_KymSxIJ2w6+UHuFaexyp7w4T9VF7CErItIr2VpjSAr0"


@pytest.mark.parametrize("change", [{"path": "/b"}, {"operation": "write"}, {"user": "root"}, {"expiration": "9"}, {"signature": "v1_x"}])
def test_a_signature_is_for_what_it_says(change: dict[str, str]) -> None:
    words = {"path": "/a", "operation": "read", "user": "", "expiration": "", "signature": signature("/a", "read", "", "secret")}
    assert Signature(**words).is_of("secret")  # type: ignore[arg-type]
    assert not Signature(**words).is_of("other")  # type: ignore[arg-type]
    assert not Signature(**words | change).is_of("secret")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expiration", "current"), [("", True), (str(int(time.time()) + 3600), True), ("17", False), ("never", False), ("9" * 40, False)]
)
def test_a_signature_ends(expiration: str, current: bool) -> None:
    assert Signature("/a", "read", "", "v1_", expiration).is_current is current


def test_secrets_of_any_letters_are_compared() -> None:
    assert same("ä\ud800", "ä\ud800")
    assert not same("ä", "a")
