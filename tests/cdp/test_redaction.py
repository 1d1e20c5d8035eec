"""Secrets in what the browser says."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from sandbox_server.cdp.redaction import MAX_SECRETS, Secrets

SECRET = 'hunter 2&"<ü>+'


@pytest.fixture
def secrets() -> Secrets:
    found = Secrets()
    found.add(SECRET)
    return found


def message(text: object) -> bytes:
    return json.dumps({"id": 7, "result": {"result": {"value": text}}, "sessionId": "S"}, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "form",
    [SECRET, quote(SECRET), quote(SECRET, safe=""), quote_plus(SECRET), html.escape(SECRET), html.escape(SECRET, quote=False)],
)
def test_a_secret_is_found_however_it_is_written(secrets: Secrets, form: str) -> None:
    told = secrets.redacted(message(f"user=ann&pass={form}&go"))
    assert form not in json.dumps(json.loads(told), ensure_ascii=False)
    assert json.loads(told)["result"]["result"]["value"] == "user=ann&pass=(hidden)&go"


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"user=ann&pass="])
@pytest.mark.parametrize("after", [b"", b"&", b"&a", b"&ab"])
def test_a_secret_is_found_in_base64_wherever_it_begins(secrets: Secrets, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + SECRET.encode() + after).decode()
    told = json.loads(secrets.redacted(message([{"bytes": encoded}])))["result"]["result"]["value"][0]["bytes"]
    found = base64.b64decode(told)
    assert SECRET.encode()[1:-1] not in found
    assert len(found) == len(before + SECRET.encode() + after)


def test_both_ways_of_writing_json_are_looked_through(secrets: Secrets) -> None:
    for ascii_only in (True, False):
        written = json.dumps({"method": "Runtime.consoleAPICalled", "params": {"args": [SECRET]}}, ensure_ascii=ascii_only).encode()
        assert json.loads(secrets.redacted(written))["params"]["args"] == ["(hidden)"]


def test_what_holds_none_is_left_as_it_is(secrets: Secrets) -> None:
    other = message("something else")
    assert secrets.redacted(other) is other


def test_what_the_protocol_goes_by_is_left() -> None:
    secrets = Secrets()
    secrets.add("Page.frameNavigated")
    event = b'{"method":"Page.frameNavigated","params":{"frame":{"Page.frameNavigated":"Page.frameNavigated"}},"sessionId":"S"}'
    told = json.loads(secrets.redacted(event))
    assert told == {"method": "Page.frameNavigated", "params": {"frame": {"Page.frameNavigated": "(hidden)"}}, "sessionId": "S"}


def test_a_picture_is_not_spoilt_by_what_stands_in_it_by_chance() -> None:
    secrets = Secrets()
    secrets.add("abcdef")
    picture = "x" * 5000 + "abcdef" + "x" * 6
    assert json.loads(secrets.redacted(message(picture)))["result"]["result"]["value"] == picture


def test_the_beginning_of_one_is_forgotten_and_short_ones_are_not_looked_for() -> None:
    secrets = Secrets()
    secrets.add("12345")
    secrets.add("123456")
    secrets.discard("123456")
    secrets.add("1234567")
    assert secrets.redacted(message("123456")) == message("123456")
    assert b"1234567" not in secrets.redacted(message("1234567"))


def test_the_latest_are_kept(secrets: Secrets) -> None:
    for number in range(MAX_SECRETS):
        secrets.add(f"secret-{number}")
    assert secrets.redacted(message(SECRET)) == message(SECRET)
    assert b"secret-0" not in secrets.redacted(message("secret-0"))
