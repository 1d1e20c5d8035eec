"""Secrets in what the browser says."""

import base64
import hashlib
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest

from sandbox_server.cdp.redaction import MAX_LENGTH, MAX_SECRETS, SecretRedaction
from sandbox_server.drivers.browser.browser_client import SecretSource

SECRET = 'hunter 2&"<ü>+'


@pytest.fixture
def secrets() -> SecretRedaction:
    found = SecretRedaction()
    found.add(SECRET)
    return found


def message(text: object) -> bytes:
    return json.dumps({"id": 7, "result": {"result": {"value": text}}, "sessionId": "S"}, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "form",
    [SECRET, quote(SECRET), quote(SECRET, safe=""), quote_plus(SECRET), html.escape(SECRET), html.escape(SECRET, quote=False)],
)
def test_a_secret_is_found_however_it_is_written(secrets: SecretRedaction, form: str) -> None:
    told = secrets.redacted(message(f"user=ann&pass={form}&go"))
    assert form not in json.dumps(json.loads(told), ensure_ascii=False)
    assert json.loads(told)["result"]["result"]["value"] == "user=ann&pass=(hidden)&go"


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"user=ann&pass="])
@pytest.mark.parametrize("after", [b"", b"&", b"&a", b"&ab"])
def test_a_secret_is_found_in_base64_wherever_it_begins(secrets: SecretRedaction, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + SECRET.encode() + after).decode()
    told = json.loads(secrets.redacted(message([{"bytes": encoded}])))["result"]["result"]["value"][0]["bytes"]
    found = base64.b64decode(told)
    assert SECRET.encode()[1:-1] not in found
    assert len(found) == len(before + SECRET.encode() + after)


def test_both_ways_of_writing_json_are_looked_through(secrets: SecretRedaction) -> None:
    for ascii_only in (True, False):
        written = json.dumps({"method": "Runtime.consoleAPICalled", "params": {"args": [SECRET]}}, ensure_ascii=ascii_only).encode()
        assert json.loads(secrets.redacted(written))["params"]["args"] == ["(hidden)"]


def test_what_holds_none_is_left_as_it_is(secrets: SecretRedaction) -> None:
    other = message("something else")
    assert secrets.redacted(other) is other


def test_what_the_protocol_goes_by_is_left() -> None:
    secrets = SecretRedaction()
    secrets.add("Page.frameNavigated")
    event = b'{"method":"Page.frameNavigated","params":{"frame":{"Page.frameNavigated":"Page.frameNavigated"}},"sessionId":"S"}'
    told = json.loads(secrets.redacted(event))
    assert told == {"method": "Page.frameNavigated", "params": {"frame": {"Page.frameNavigated": "(hidden)"}}, "sessionId": "S"}


def test_a_picture_is_not_spoilt_by_what_stands_in_it_by_chance() -> None:
    secrets = SecretRedaction()
    secrets.add("abcdef")
    picture = "x" * 5000 + "abcdef" + "x" * 6
    assert json.loads(secrets.redacted(message(picture)))["result"]["result"]["value"] == picture


def test_the_beginning_of_one_is_forgotten_and_short_ones_are_not_looked_for() -> None:
    secrets = SecretRedaction()
    secrets.add("12345")
    secrets.add("123456")
    secrets.discard("123456")
    secrets.add("abcdefg")
    assert secrets.redacted(message("123456")) == message("123456")
    assert b"abcdefg" not in secrets.redacted(message("abcdefg"))


def test_the_latest_are_kept(secrets: SecretRedaction) -> None:
    for number in range(MAX_SECRETS):
        secrets.add(f"secret-{number}")
    assert secrets.redacted(message(SECRET)) == message(SECRET)
    assert b"secret-0" not in secrets.redacted(message("secret-0"))


@pytest.mark.parametrize("source", ["shared", "program", "code"])
def test_what_programs_fill_in_pushes_out_nothing_that_a_person_typed(secrets: SecretRedaction, source: SecretSource) -> None:
    secrets.add("filled-in", "program")
    for number in range(2 * MAX_SECRETS):
        secrets.add(f"{number:06}", source, f"https://{number}.example")
    assert SECRET not in value_of(secrets, SECRET)
    assert value_of(secrets, f"{2 * MAX_SECRETS - 1:06}") == "(hidden)"
    assert (value_of(secrets, "filled-in") == "(hidden)") == (source != "program")


def test_a_page_pushes_out_its_own_before_those_of_others(secrets: SecretRedaction) -> None:
    secrets.add("of-another-page", "person", "https://a.example")
    written = [hashlib.sha256(bytes([number])).hexdigest()[:12] for number in range(2 * MAX_SECRETS)]
    for value in written:
        secrets.add(value, "person", "https://evil.example")
    assert value_of(secrets, "of-another-page") == value_of(secrets, written[-1]) == "(hidden)"
    assert value_of(secrets, written[0]) == written[0]


def test_a_beginning_is_forgotten_for_its_own_page_alone(secrets: SecretRedaction) -> None:
    secrets.add("of-another-page", "person", "https://a.example")
    secrets.discard("of-another-page", "person", "https://evil.example")
    secrets.discard("of-another-page", "shared", "https://a.example")
    assert value_of(secrets, "of-another-page") == "(hidden)"


def test_of_a_long_value_the_beginning_is_remembered() -> None:
    secrets = SecretRedaction()
    secrets.add("x-" * MAX_LENGTH)
    assert value_of(secrets, "x-" * (MAX_LENGTH // 2)) == "(hidden)"
    assert max(map(len, secrets._known)) == MAX_LENGTH


def value_of(secrets: SecretRedaction, text: str) -> str:
    told: str = json.loads(secrets.redacted(message(text)))["result"]["result"]["value"]
    return told


@pytest.mark.parametrize("part", ["corr", "correct", "correct-horse-batter", "aple", "staple", "battery-staple", "ct-horse-battery-staple"])
def test_its_beginning_and_its_end_are_found_where_they_stand_alone(part: str) -> None:
    secrets = SecretRedaction()
    secrets.add("correct-horse-battery-staple")
    assert value_of(secrets, part) == "(hidden)"
    assert value_of(secrets, f"[{part}]") == "[(hidden)]"


def test_within_another_word_they_are_found_where_they_are_long() -> None:
    secrets = SecretRedaction()
    secrets.add("correct-horse-battery-staple")
    assert value_of(secrets, "xcorrect-horsey") == "x(hidden)y"
    assert value_of(secrets, "maple corridor") == "maple corridor"
    assert value_of(secrets, "1b2corr3") == "1b2corr3", "or ids of pages would change"


def test_words_of_the_protocol_are_left() -> None:
    secrets = SecretRedaction()
    secrets.add("page-1234-text")
    assert value_of(secrets, "page") == "page"
    assert value_of(secrets, "text") == "text"
    assert value_of(secrets, "page-1") == "(hidden)"


def test_the_beginnings_of_a_discarded_one_are_found_no_more() -> None:
    secrets = SecretRedaction()
    secrets.add("zebra-1")
    secrets.discard("zebra-1")
    assert value_of(secrets, "zebra") == "zebra"


@pytest.mark.parametrize("text", ["a", "ab", "aaaaab", "(hidden)"])
def test_the_time_it_takes_grows_as_the_message_does(text: str) -> None:
    secrets = SecretRedaction()
    for secret in ("a" * 4096, "ab" * 2048, "a" * 50 + "b"):
        secrets.add(secret)
    took = []
    for length in (200_000, 400_000, 800_000):
        told = message(text * (length // len(text)))
        began = time.process_time()
        secrets.redacted(told)
        took.append(time.process_time() - began)
    assert took[2] < 9 * max(took[0], 0.01), took


@pytest.mark.parametrize("text", [f"{SECRET}\ud800", {f"{SECRET}": ["\udfff"]}])
def test_half_a_surrogate_pair_beside_a_secret_neither_shows_it_nor_ends_anything(secrets: SecretRedaction, text: object) -> None:
    assert json.loads(secrets.redacted(message(f"{SECRET}\ud800")))["result"]["result"]["value"] == "(hidden)\ud800"
    assert json.loads(secrets.redacted(message(text)))["id"] == 7


def test_what_nests_too_deep_to_be_read_is_an_error_in_place_of_a_secret(secrets: SecretRedaction) -> None:
    deep = b'{"id":7,"result":{"value":' + b"[" * 100_000 + json.dumps(SECRET).encode() + b"]" * 100_000 + b"}}"
    told = secrets.redacted(deep)
    assert (json.loads(told)["id"], "too deep" in json.loads(told)["error"]["message"]) == (7, True)
    assert secrets.redacted(deep.replace(b'"id":7', b'"method":"x"')) == b""
