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


@pytest.mark.parametrize(
    "written",
    [
        f"DB_PASSWORD={SECRET}",
        f"{{'token': '{SECRET}'}}",
        "d41d8cd98f00b204e9800998ecf8427e",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "$6$rounds$abcdefghijklmnop",
        "\n".join(["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"] * 3),
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}",
    ],
)
def test_an_output_holds_nothing_that_is_named_or_looks_like_a_secret(written: str) -> None:
    kept = Redaction().output(f"first line\n{written}\nlast line")
    assert written not in kept
    assert SECRET not in kept
    assert kept.startswith("first line")


@pytest.mark.parametrize(
    "written",
    [
        "total 12\ndrwxr-xr-x 2 gem gem 4096 Nov 23 00:00 site",
        "/usr/local/lib/python3.13/site-packages/pip/_internal",
        "ImportError: cannot import name 'a_rather_long_function_name' from 'module'",
    ],
)
def test_an_ordinary_output_stays_as_it_is(written: str) -> None:
    assert Redaction().output(written) == written


def test_an_output_loses_the_secrets_of_its_command() -> None:
    typed = "PASSWORD='open sesame' ./deploy --token abc && curl -u me:xyz1 http://a.example"
    assert Redaction().output("open sesame, abc, xyz1, deployed", typed) == "***, ***, ***, deployed"


def test_the_end_of_a_long_output_is_kept_and_no_part_of_a_key_that_began_before() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(["short+line"] * 1200) + "\n-----END PRIVATE KEY-----"
    kept = Redaction().output("x" * 9000 + key + "y" * (60 << 10), limit=60 << 10)
    assert "short" not in kept
    assert (kept[0], kept[-1]) == ("…", "y")
    assert Redaction().output("word " * 20_000, limit=100).endswith("word word ")


@pytest.mark.parametrize("unit", ["a", "token=", "a1/", "A1b2 ", '"', "A" * 63 + "\n"])
def test_an_output_of_any_shape_is_answered_at_once(unit: str) -> None:
    started = time.thread_time()
    Redaction().output(unit * (200_000 // len(unit)), "login --token x1y2 " * 900)
    assert time.thread_time() - started < 1


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


def test_what_is_learned_later_is_taken_out_beside_the_rest() -> None:
    redaction = Redaction(["one-secret-word"])
    redaction.learn(["another-secret-word"])
    assert redaction.text("echo one-secret-word another-secret-word") == "echo *** ***"
