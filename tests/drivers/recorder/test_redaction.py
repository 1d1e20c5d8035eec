"""What of a text may be written down."""

import time

import pytest

from sandbox_server.drivers.recorder.redaction import Redaction

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"export GITHUB_TOKEN={SECRET}",
        f"mysql --password {SECRET} shop",
        f"mysql --password={SECRET} shop",
        f"curl -H 'Authorization: Bearer {SECRET}' https://api.example/",
        f"curl -u me:{SECRET} https://api.example/",
        f"git clone https://me:{SECRET}@git.example/x.git",
        f'api_key = "{SECRET} and more"',
        f'{{"password": "{SECRET}"}}',
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_is_named_as_a_secret_is_left_out(text: str) -> None:
    assert SECRET not in Redaction().text(text)


@pytest.mark.parametrize("token", ["ghp_" + "a1" * 18, "sk-" + "a1" * 20, "AKIA" + "A1" * 8, "eyJhbGciOiJI.eyJzdWIi.c2ln"])
def test_what_looks_like_a_secret_is_left_out(token: str) -> None:
    assert token not in Redaction().text(f"deploy {token} now")


def test_a_secret_that_is_known_is_left_out_wherever_it_is() -> None:
    redaction = Redaction(["opensesame", "short"])
    assert redaction.text("say opensesame, short") == "say ***, short"
    assert "opensesame" not in redaction.url("https://a.example/opensesame")


@pytest.mark.parametrize("text", ["mkdir -p /srv/data && ls -la", "python -m pytest -q tests/test_x.py", "git commit -m 'Fix the parser'"])
def test_an_ordinary_command_stays_as_it_is(text: str) -> None:
    assert Redaction().text(text) == text


def test_a_long_text_is_cut() -> None:
    assert len(Redaction().text("x" * 5000)) == 1000


def test_a_cut_is_said_and_shows_no_part_of_a_secret() -> None:
    key = f"-----BEGIN PRIVATE KEY-----{'A' * 3800}-----END PRIVATE KEY-----"
    text = f"{key} and then {'.' * 200} opensesame-opensesame {'x' * 5000}"
    for length in range(3900, 4400):
        kept = Redaction(["opensesame-opensesame"]).text(text[:length] + "opensesame-opensesame"[: length % 21], 1000)
        assert "opensesame-opensesame" not in kept
    assert Redaction().text(f"{key}{' ' * 9000}").endswith("…")


def test_a_long_address_is_cut_and_that_is_said() -> None:
    shown = Redaction().url(f"https://a.example/{'docs/' * 100_000}")
    assert (len(shown), shown[-1]) == (300, "…")


@pytest.mark.parametrize("unit", ["a", "token=", "token token", "-a", "a.", '"'])
def test_a_text_that_froze_another_engine_is_answered_at_once(unit: str) -> None:
    started = time.thread_time()
    Redaction().text(unit * 2400)
    assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://me:pw@shop.example:8443/cart?q=shoes&session=abc#token=1", "https://shop.example:8443/cart?q=…&session=…"),
        ("https://a.example/reset/a1b2c3d4e5f6a7b8c9d0e1f2", "https://a.example/reset/***"),
        ("https://a.example/docs/how-to-install-the-thing-properly", "https://a.example/docs/how-to-install-the-thing-properly"),
        ("data:text/html,secret", "data:…"),
        ("about:blank", "about:blank"),
        ("http://[", "(no address)"),
    ],
)
def test_an_address_keeps_where_it_leads_and_nothing_that_lets_anybody_in(url: str, kept: str) -> None:
    assert Redaction().url(url) == kept
