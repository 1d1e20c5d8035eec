"""Rules decide what becomes of a request. What the browser makes of that is in test_devtools.py."""

import base64
from typing import Any

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.devtools.interception import (
    MAX_BODIES,
    MAX_ORIGINS,
    MAX_ROUTES,
    Interception,
    RequestRoute,
    RouteAnswer,
    origin_of,
)


def paused(url: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    return {"requestId": "1", "request": {"url": url, "method": method, "headers": headers}}


def fields(command: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in command["responseHeaders"]}


def test_a_request_without_a_rule_goes_on_as_it_is() -> None:
    assert Interception().decide(paused("https://a.example/")) == ("Fetch.continueRequest", {"requestId": "1"})


def test_what_routes_answer_with_has_a_limit() -> None:
    rules = Interception()
    large = RouteAnswer(200, {}, bytes(MAX_BODIES), "text/plain")
    rules.add(RequestRoute(Glob("**/a"), large))
    rules.add(RequestRoute(Glob("**/a"), large))
    with pytest.raises(ResourceExhausted):
        rules.add(RequestRoute(Glob("**/b"), RouteAnswer(200, {}, b"x", "text/plain")))


def test_a_route_without_an_answer_lets_the_request_go_on() -> None:
    rules = Interception()
    rules.add(RequestRoute(Glob("**"), RouteAnswer(200, {}, b"", "text/plain")))
    rules.add(RequestRoute(Glob("**/through")))
    assert rules.decide(paused("https://a.example/through"))[0] == "Fetch.continueRequest"


def test_an_answer_has_its_own_headers_and_those_of_its_body() -> None:
    rules = Interception()
    rules.add(RequestRoute(Glob("**"), RouteAnswer(404, {"X-A": "1", "content-type": "text/html"}, b"no", "text/plain")))
    command, made = rules.decide(paused("https://a.example/"))
    assert (command, made["responseCode"], base64.b64decode(made["body"])) == ("Fetch.fulfillRequest", 404, b"no")
    assert fields(made) == {"Content-Length": "2", "X-A": "1", "content-type": "text/html"}


def test_another_origin_is_let_in_and_its_preflight_answered() -> None:
    rules = Interception()
    rules.add(RequestRoute(Glob("**"), RouteAnswer(200, {}, b"", "text/plain")))
    _, made = rules.decide(paused("https://a.example/", Origin="https://b.example"))
    assert fields(made)["Access-Control-Allow-Origin"] == "https://b.example"
    asking = {"Origin": "https://b.example", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-a"}
    _, allowed = rules.decide(paused("https://a.example/", "OPTIONS", **asking))
    assert allowed["responseCode"] == 204
    assert fields(allowed)["Access-Control-Allow-Headers"] == "x-a"


def test_headers_for_an_origin_replace_those_of_the_request() -> None:
    rules = Interception()
    rules.scope("https://a.example", {"user-agent": "mine"})
    _, changed = rules.decide(paused("https://a.example:443/x", **{"User-Agent": "its", "Accept": "*/*"}))
    assert changed["headers"] == [{"name": "Accept", "value": "*/*"}, {"name": "user-agent", "value": "mine"}]
    rules.scope("https://a.example", {})
    assert rules.commands()[-1] == ("Fetch.disable", {})


def test_the_browser_asks_only_about_what_rules_are_about() -> None:
    rules = Interception(headers={"X-A": "1"})
    rules.add(RequestRoute(Glob("**/a?{b,c}")))
    rules.scope("https://a.example", {"X": "1"})
    commands = dict(rules.commands())
    assert commands["Network.setExtraHTTPHeaders"] == {"headers": {"X-A": "1"}}
    assert [each["urlPattern"] for each in commands["Fetch.enable"]["patterns"]] == ["*/a\\?*", "https://a.example/*"]


def test_rules_have_limits() -> None:
    rules = Interception()
    for number in range(MAX_ROUTES):
        rules.add(RequestRoute(Glob(f"**/{number}")))
    rules.add(RequestRoute(Glob("**/1"), abort=True))
    with pytest.raises(ResourceExhausted):
        rules.add(RequestRoute(Glob("**/more")))
    for number in range(MAX_ORIGINS):
        rules.scope(f"https://{number}.example", {"X": "1"})
    with pytest.raises(ResourceExhausted):
        rules.scope("https://more.example", {"X": "1"})


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://A.example:443/x?y#z", "https://a.example"),
        ("http://a.example:8080", "http://a.example:8080"),
        ("http://[::1]:80/", "http://[::1]"),
        ("about:blank", ""),
        ("http://a.example:port/", ""),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin
