"""Archives are valid HAR 1.2, whatever the browser told."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from sandbox_server.drivers.devtools.har import archive
from sandbox_server.drivers.devtools.traffic import Exchange
from tests.drivers.devtools.har_schema import SCHEMA

TIMING = {
    "dnsStart": 1,
    "dnsEnd": 3,
    "connectStart": 3,
    "connectEnd": 10,
    "sslStart": 5,
    "sslEnd": 10,
    "sendStart": 11,
    "sendEnd": 12,
    "receiveHeadersEnd": 50,
}
WHOLE = Exchange(
    id="1",
    session="s",
    page="p",
    method="POST",
    url="https://a.example/x?q=1&empty=&q=2",
    kind="fetch",
    started=1_700_000_000.5,
    began=10.0,
    request_headers=(("Cookie", "a=1; b=2"), ("Content-Type", "application/json")),
    post_data='{"ü": 1}',
    status=200,
    status_text="OK",
    protocol="h2",
    mime_type="text/html",
    response_headers=(("Set-Cookie", "c=3; Path=/; Secure; HttpOnly"), ("Content-Length", "12")),
    remote="[2001:db8::1]",
    timing=TIMING,
    received=120,
    answered=10.05,
    ended=10.1,
)


def entry_of(*exchanges: Exchange) -> dict[str, Any]:
    made = archive(exchanges, version="1.0", browser="Chrome/156.0.1")
    jsonschema.validate(made, SCHEMA)
    entry: dict[str, Any] = made["log"]["entries"][0]
    return entry


def test_an_entry_tells_everything_that_is_known() -> None:
    entry = entry_of(WHOLE)
    request, response = entry["request"], entry["response"]
    assert (entry["startedDateTime"], entry["serverIPAddress"], entry["pageref"]) == ("2023-11-14T22:13:20.500Z", "2001:db8::1", "p")
    assert [(cookie["name"], cookie["value"]) for cookie in request["cookies"]] == [("a", "1"), ("b", "2")]
    assert request["queryString"] == [{"name": "q", "value": "1"}, {"name": "empty", "value": ""}, {"name": "q", "value": "2"}]
    assert (request["httpVersion"], request["bodySize"], request["postData"]["mimeType"]) == ("HTTP/2.0", 9, "application/json")
    assert response["cookies"] == [{"name": "c", "value": "3", "httpOnly": True, "secure": True, "path": "/"}]
    assert response["content"] == {"size": 12, "mimeType": "text/html"}


def test_the_phases_add_up_to_the_time() -> None:
    entry = entry_of(WHOLE)
    phases = {name: spent for name, spent in entry["timings"].items() if name != "ssl"}
    assert phases["connect"] == 7
    assert entry["timings"]["ssl"] == 5
    assert sum(max(0, spent) for spent in phases.values()) == pytest.approx(entry["time"])


def test_a_request_that_failed_or_still_runs_is_an_entry_too() -> None:
    bare = Exchange("2", "s", "p", "GET", "https://b.example/", "script", 1_700_000_000.0, 10.0)
    assert entry_of(bare)["response"]["status"] == 0
    bare.ended, bare.failure, bare.cut = 11.0, "net::ERR_FAILED", True
    entry = entry_of(bare)
    assert (entry["_error"], entry["time"], entry["timings"]["wait"]) == ("net::ERR_FAILED", 1000.0, 1000.0)
    assert entry["comment"]


def test_pages_are_those_that_asked() -> None:
    made = archive([WHOLE], version="1.0", browser="Chrome/156.0.1")["log"]
    assert made["browser"] == {"name": "Chrome", "version": "156.0.1"}
    assert [(page["id"], page["title"]) for page in made["pages"]] == [("p", WHOLE.url)]


def test_the_schema_refuses_what_is_no_archive() -> None:
    made = archive([WHOLE], version="1.0", browser="Chrome/156.0.1")
    del made["log"]["entries"][0]["response"]["content"]["size"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, SCHEMA)


def test_an_answer_that_is_text_is_in_it() -> None:
    content = entry_of(replace(WHOLE, body="<p>\u00fc"))["response"]["content"]
    assert content == {"mimeType": "text/html", "size": 5, "text": "<p>\u00fc"}
    assert "text" not in entry_of(WHOLE)["response"]["content"]


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "a"])
def test_a_length_that_is_none_is_unknown(length: str) -> None:
    assert entry_of(replace(WHOLE, response_headers=(("Content-Length", length),)))["response"]["content"]["size"] == -1


def test_what_was_posted_may_hold_half_a_surrogate_pair() -> None:
    assert entry_of(replace(WHOLE, post_data="\ud800"))["request"]["bodySize"] == 1
