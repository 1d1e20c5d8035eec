"""What a request carries that can be for a sandbox."""

import time
from pathlib import Path

import jwt
import pytest
from tandem_fleet.gateway.addresses import Target
from tandem_fleet.gateway.credentials import Credentials, Trust, passed_on
from tandem_fleet.signing_key import ISSUER, SigningKey

ID, OTHER = "abcdefghij234567", "bbcdefghij234567"
HERE, BY_PATH = Target(ID, "/", by_path=False), Target(ID, "/", by_path=True)


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    """Those of a fleet without TLS."""
    return Credentials(SigningKey.kept(tmp_path / "key.pem"), secure=False)


def judged(credentials: Credentials, target: Target = HERE, **headers: str) -> Trust:
    """What is known of who sends these headers."""
    return credentials.judge(target, {name.replace("_", "-"): value for name, value in headers.items()}, preflight=False)


def test_a_token_for_this_sandbox_is_known_wherever_it_is_sent(credentials: Credentials) -> None:
    token = credentials.key.sign(ID, "test", ["view"], 60)
    assert judged(credentials, authorization=f"bearer  {token}") == Trust.TOKEN
    assert judged(credentials, x_aio_api_key=token) == Trust.TOKEN
    assert judged(credentials, Target(ID, f"/?a=b&api_key={token}", by_path=True)) == Trust.TOKEN


def test_another_token_is_for_the_sandbox_to_judge(credentials: Credentials, tmp_path: Path) -> None:
    strangers = SigningKey.kept(tmp_path / "stranger.pem")
    claims = {"iss": ISSUER, "aud": ID, "sub": "x", "exp": int(time.time()) + 60}
    key = credentials.key
    tokens = [
        key.sign(OTHER, "test", ["view"], 60),
        strangers.sign(ID, "test", ["view"], 60),
        jwt.encode(claims | {"exp": 1}, key.private, algorithm="EdDSA"),
        jwt.encode({name: value for name, value in claims.items() if name != "exp"}, key.private, algorithm="EdDSA"),
        jwt.encode(claims | {"iss": "other"}, key.private, algorithm="EdDSA"),
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, key.key_set["keys"][0]["x"], algorithm="HS256"),
        "x",
        "a.b.c",
        "tandem_key",
    ]
    assert {judged(credentials, authorization=f"Bearer {token}") for token in tokens} == {Trust.UNVERIFIED}


def test_the_gateways_cookie_is_for_one_sandbox_and_not_for_paths(credentials: Credentials) -> None:
    cookie = credentials.new_cookie(ID).partition(";")[0]
    assert judged(credentials, cookie=f"a=b; {cookie}") == Trust.BROWSER
    assert judged(credentials, BY_PATH, cookie=cookie) == Trust.NONE
    assert judged(credentials, Target(OTHER, "/", by_path=False), cookie=cookie) == Trust.NONE
    assert judged(credentials, cookie=f"tandem_gateway=x; {cookie}") == Trust.BROWSER  # another host below the domain set the first


def test_behind_tls_only_the_exact_hosts_cookie_counts(credentials: Credentials) -> None:
    encrypted = Credentials(credentials.key, secure=True)
    assert encrypted.new_cookie(ID).startswith("__Host-tandem_gateway=")
    assert encrypted.new_cookie(ID).endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure")
    assert judged(encrypted, cookie=encrypted.new_cookie(ID)) == Trust.BROWSER
    assert judged(encrypted, cookie=credentials.new_cookie(ID)) == Trust.NONE


def test_nothing_is_nothing(credentials: Credentials) -> None:
    nothing: list[dict[str, str]] = [{}, {"cookie": "a=b"}, {"authorization": "Basic eDp5"}, {"cookie": ";;=;"}]
    assert {credentials.judge(HERE, headers, preflight=False) for headers in nothing} == {Trust.NONE}
    assert judged(credentials, Target(ID, "/?ticket=&x=y", by_path=False)) == Trust.NONE
    assert credentials.judge(HERE, {}, preflight=True) == Trust.UNVERIFIED
    assert judged(credentials, cookie="__Host-sandbox_session_8443=x") == Trust.UNVERIFIED
    assert judged(credentials, Target(ID, "/?" + "a=b&" * 5000 + "ticket=x", by_path=False)) == Trust.NONE


def test_only_by_name_a_browser_is_signed_in(credentials: Credentials) -> None:
    ticket = "/?ticket=x"
    assert credentials.signs_in(Target(ID, ticket, by_path=False), Trust.TOKEN)
    assert not credentials.signs_in(Target(ID, ticket, by_path=True), Trust.UNVERIFIED)
    assert not credentials.signs_in(HERE, Trust.BROWSER)


def test_a_sandbox_does_not_see_the_gateways_cookie() -> None:
    assert passed_on("a=b; tandem_gateway=x; __Host-tandem_gateway=y; c=d=e") == "a=b; c=d=e"
    assert passed_on("tandem_gateway=x") == ""
