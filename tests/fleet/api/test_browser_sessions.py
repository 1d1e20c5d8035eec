"""Signed-in browsers, and requests of other sites that a browser sends with their cookie."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.api.browser_sessions import COOKIE
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client
from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio
KEY = "the-key"
OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture
async def browser(fleet: Fleet) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that opened a link."""
    async with client(fleet, SharedKey(KEY)) as opened:
        ticket = (await opened.post("/v1/tickets", json={"person": "ann"}, headers={"authorization": f"Bearer {KEY}"})).json()["ticket"]
        assert (await opened.get(f"/?ticket={ticket}")).status_code == 303
        yield opened


async def test_a_signed_in_browser_sees_and_takes_and_makes_nothing(browser: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    assert (await browser.get("/v1/session", headers=OWN)).json() == {
        "person": "ann",
        "tenant": "default",
        "scopes": ["people", "sandboxes:read", "sandboxes:use"],
    }
    assert (await browser.get("/v1/sandboxes/work", headers=OWN)).json()["state"] == "ready"
    for verb, path in (("POST", "/v1/sandboxes"), ("DELETE", "/v1/sandboxes/work"), ("GET", "/v1/doctor"), ("DELETE", "/v1/sessions")):
        assert (await browser.request(verb, path, json={}, headers=OWN)).status_code == 403


@pytest.mark.parametrize(
    ("verb", "headers"),
    [
        ("GET", {"sec-fetch-site": "cross-site"}),
        ("GET", {"sec-fetch-site": "same-site"}),
        ("GET", {"origin": "http://fleet:1"}),
        ("GET", {"origin": "null"}),
        ("GET", {"origin": "http://evil", "sec-fetch-site": "same-origin"}),
        ("POST", {}),
        ("POST", {"sec-fetch-site": "none"}),
        ("POST", {"origin": "http://evil"}),
    ],
)
async def test_another_sites_page_is_refused_with_the_cookie(browser: httpx2.AsyncClient, verb: str, headers: dict[str, str]) -> None:
    for path in ("/v1/session", "/v1/wall/events", "/v1/queue/s.h/claim", "/v1/sandboxes/work/picture"):
        answer = await browser.request(verb, path, headers=headers)
        assert answer.status_code in (403, 405), (path, answer.status_code)


@pytest.mark.parametrize(
    ("verb", "headers"), [("GET", {}), ("GET", {"sec-fetch-site": "none"}), ("DELETE", OWN), ("DELETE", {"origin": "http://fleet"})]
)
async def test_our_own_page_is_not(browser: httpx2.AsyncClient, verb: str, headers: dict[str, str]) -> None:
    assert (await browser.request(verb, "/v1/session", headers=headers)).status_code == 200


async def test_a_session_that_ended_opens_nothing(browser: httpx2.AsyncClient, fleet: Fleet) -> None:
    kept = browser.cookies[COOKIE]
    answer = await browser.delete("/v1/session", headers=OWN)
    assert answer.json() == {"sessions": 1}
    async with client(fleet, SharedKey(KEY), cookie=f"{COOKIE}={kept}") as again:
        assert (await again.get("/v1/session")).status_code == 401
    assert (await browser.get("/v1/session")).status_code == 401


async def test_the_cookie_is_the_browsers_and_no_scripts(fleet: Fleet) -> None:
    async with client(fleet) as opened:
        ticket = (await opened.post("/v1/tickets", json={"person": "ann"})).json()["ticket"]
        told: Any = (await opened.get(f"/?ticket={ticket}")).headers["set-cookie"]
        assert all(part in told for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"))
        assert "Domain" not in told
        again = await opened.get(f"/?ticket={ticket}", headers={"cookie": ""})
        assert (again.status_code, again.headers["location"], "set-cookie" in again.headers) == (303, "/#not-signed-in", False)


async def test_a_key_counts_and_the_cookie_beside_it_does_not(browser: httpx2.AsyncClient) -> None:
    answer = await browser.get("/v1/doctor", headers={"authorization": f"Bearer {KEY}", "sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert (await browser.get("/v1/session", headers={"authorization": "Bearer wrong"})).status_code == 401


async def test_behind_tls_the_cookie_has_a_name_that_no_other_host_sets(fleet: Fleet) -> None:
    async with client(fleet) as opened:
        opened.base_url = "https://fleet"
        ticket = (await opened.post("/v1/tickets", json={"person": "ann"})).json()["ticket"]
        told = (await opened.get(f"/?ticket={ticket}")).headers["set-cookie"]
        assert told.startswith(f"__Host-{COOKIE}=")
        assert "Secure" in told
