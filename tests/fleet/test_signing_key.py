"""Tokens that open one sandbox."""

import json
import stat
import threading
from pathlib import Path

import jwt
import pytest
from tandem_fleet.errors import InvalidError
from tandem_fleet.signing_key import ISSUER, SigningKey


def verified(key: SigningKey, token: str, audience: str) -> dict[str, object]:
    """The claims of a token, read as a sandbox reads them: with the key set alone."""
    [published] = jwt.PyJWKSet.from_json(key.key_set_json).keys
    assert published.key_id == jwt.get_unverified_header(token)["kid"]
    return jwt.decode(token, published.key, algorithms=["EdDSA"], audience=audience, issuer=ISSUER)


def test_a_token_names_its_sandbox_its_caller_and_what_it_allows(tmp_path: Path) -> None:
    key = SigningKey.kept(tmp_path / "key.pem")
    claims = verified(key, key.sign("one", "someone@example.org", ["view", "shell"], 60), "one")
    assert (claims["sub"], claims["scope"]) == ("someone@example.org", "shell view")
    assert claims["exp"] == claims["iat"] + 60  # type: ignore[operator] # numbers
    assert "actor" not in claims
    assert verified(key, key.sign("one", "ann", ["view"], 60, person=True), "one")["actor"] == "person"


def test_a_token_of_one_sandbox_opens_no_other(tmp_path: Path) -> None:
    key = SigningKey.kept(tmp_path / "key.pem")
    with pytest.raises(jwt.InvalidAudienceError):
        verified(key, key.sign("one", "someone", ["view"], 60), "two")


@pytest.mark.parametrize(("scopes", "seconds"), [([], 60), (["everything"], 60), (["view"], 0), (["view"], 86_401)])
def test_a_token_without_bounds_is_not_made(tmp_path: Path, scopes: list[str], seconds: int) -> None:
    with pytest.raises(InvalidError):
        SigningKey.kept(tmp_path / "key.pem").sign("one", "someone", scopes, seconds)


def test_the_key_is_made_once_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path, sets = tmp_path / "state" / "key.pem", []
    several = [threading.Thread(target=lambda: sets.append(SigningKey.kept(path).key_set_json)) for _ in range(8)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert len(sets) == 8
    assert len(set(sets)) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["key.pem"]


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "key.pem").write_text(text)
    with pytest.raises(InvalidError, match=r"key\.pem"):
        SigningKey.kept(tmp_path / "key.pem")


def test_the_key_set_holds_no_private_part(tmp_path: Path) -> None:
    [published] = json.loads(SigningKey.kept(tmp_path / "key.pem").key_set_json)["keys"]
    assert set(published) == {"kty", "crv", "use", "alg", "kid", "x"}
