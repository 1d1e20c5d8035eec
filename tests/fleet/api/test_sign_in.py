"""People sign in by a provider that others wrote, and attackers try to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.fleet import Fleet
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.oidc.settings import ProviderSettings
from tandem_fleet.store.audit import AuditStore
from tandem_fleet.store.tenants import TenantStore

from tests.fleet.oidc.hostile_provider import HostileProvider, hostile_provider
from tests.fleet.oidc.real_provider import CLIENT, FOLDER, PAGE, SECRET, real_provider, signed_in

pytestmark = pytest.mark.anyio
OWN = {"Origin": PAGE, "Sec-Fetch-Site": "same-origin"}
real = pytest.mark.skipif(not FOLDER.exists(), reason="oidc-provider is in the tests' image alone")


@asynccontextmanager
async def _page(fleet: Fleet, settings: ProviderSettings | None, page: str = PAGE) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser at the fleet's page."""
    provider = Provider(settings) if settings else None
    transport = httpx2.ASGITransport(app=build(fleet, SharedKey("key"), page, provider))
    async with httpx2.AsyncClient(transport=transport, base_url=page) as browser:
        try:
            yield browser
        finally:
            if provider:
                await provider.close()


def _settings(issuer: str, rules: str = "staff=acme:member,guests=acme:viewer,gone=nobody:member") -> ProviderSettings:
    told = {"ISSUER": issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "URL": PAGE, "RULES": rules}
    made = ProviderSettings.of({f"TANDEM_OIDC_{name}": value for name, value in told.items()})
    assert made
    return made


@real
async def test_a_person_signs_in_is_named_in_the_record_and_signs_out_of_both(fleet: Fleet) -> None:
    await TenantStore(fleet.database).create("acme")
    async with real_provider() as issuer, _page(fleet, _settings(issuer)) as browser:
        sent = await browser.get("/oidc/login?next=https://evil.example")
        back = await signed_in(sent.headers["location"], "ann-staff")
        landed = await browser.get(back)
        assert (landed.status_code, landed.headers["location"]) == (303, "/")
        cookie = next(one for one in landed.headers.get_list("set-cookie") if one.startswith("tandem_session"))
        assert {"HttpOnly", "SameSite=lax", "Max-Age=43200"} <= set(cookie.split("; "))
        who = (await browser.get("/v1/session")).json()
        assert who == {"person": "ann-staff@example.org", "tenant": "acme", "scopes": ["people", "sandboxes:read", "sandboxes:use"]}
        assert (await browser.post("/v1/keys", json={"name": "x"}, headers=OWN)).status_code == 403
        assert (await browser.delete("/v1/session")).status_code == 403  # without an origin: CSRF
        ended = await browser.delete("/v1/session", headers=OWN)
        assert ended.json() == {"sessions": 1, "leave": "/oidc/logout"}
        assert (await browser.get("/v1/session")).status_code == 401
        left = await browser.get("/oidc/logout", headers={"Sec-Fetch-Site": "same-origin"})
        assert left.headers["location"].startswith(f"{issuer}/session/end?")
        async with httpx2.AsyncClient() as other:
            assert (await other.get(left.headers["location"])).status_code == 200
    entries = await AuditStore(fleet.database).page("acme")
    assert {(one.caller, one.call, one.status) for one in entries} >= {
        ("ann-staff@example.org (ann-staff)", "GET /oidc/callback", 303),
        ("ann-staff@example.org (ann-staff)", "DELETE /v1/session", 200),
    }


@real
async def test_an_answer_of_the_provider_is_used_once_and_in_its_own_browser(fleet: Fleet) -> None:
    await TenantStore(fleet.database).create("acme")
    async with real_provider() as issuer, _page(fleet, _settings(issuer)) as browser, _page(fleet, _settings(issuer)) as other:
        sent = await browser.get("/oidc/login")
        kept = browser.cookies["tandem_sign_in"]
        back = await signed_in(sent.headers["location"], "ann-guests")
        await other.get("/oidc/login")
        assert (await other.get(back)).status_code == 401  # another browser
        assert (await browser.get(f"{back}&state=x")).status_code == 401
        browser.cookies.set("tandem_sign_in", kept)
        mixed = await browser.get(back.replace("iss=", "iss=https%3A%2F%2Fevil.example%2F"))
        assert mixed.status_code == 401
        browser.cookies.set("tandem_sign_in", kept)
        assert (await browser.get(back)).status_code == 303
        assert (await browser.get(back)).status_code == 401  # the cookie is gone
        browser.cookies.set("tandem_sign_in", kept)
        again = await browser.get(back)
        assert again.status_code == 401  # the provider takes a code once
        assert "it was used already" in again.text


@real
@pytest.mark.parametrize("name", ["mallory", "mallory-Staff", "mallory-gone"])
async def test_who_has_no_role_or_no_tenant_gets_a_page_that_says_so_and_is_recorded(fleet: Fleet, name: str) -> None:
    await TenantStore(fleet.database).create("acme")
    async with real_provider() as issuer, _page(fleet, _settings(issuer)) as browser:
        sent = await browser.get("/oidc/login")
        refused = await browser.get(await signed_in(sent.headers["location"], name))
        assert refused.status_code == 403
        assert "operator" in refused.text
        assert '<a href="/oidc/logout">Use another account</a>' in refused.text
        assert "tandem_session" not in browser.cookies
    assert [one.caller for one in await AuditStore(fleet.database).page("")] == [f"{name}@example.org ({name})"]


@pytest.mark.parametrize("query", ["", "?state=&code=x", "?code=x", f"?state={'x' * 5000}&code=x", "?error=access_denied&state=x"])
async def test_an_answer_that_nobody_waits_for_is_refused(fleet: Fleet, query: str) -> None:
    async with hostile_provider() as told, _page(fleet, told.settings()) as browser:
        assert (await browser.get(f"/oidc/callback{query}")).status_code == 401
        await browser.get("/oidc/login")
        assert (await browser.get(f"/oidc/callback{query}")).status_code == 401
        assert "/token" not in told.asked


async def _state(browser: httpx2.AsyncClient) -> tuple[str, str]:
    asked = parse_qs(urlsplit((await browser.get("/oidc/login")).headers["location"]).query)
    return asked["state"][0], asked["nonce"][0]


async def test_what_the_provider_says_is_shown_as_text_or_not(fleet: Fleet) -> None:
    async with hostile_provider() as told, _page(fleet, told.settings()) as browser:
        state, _ = await _state(browser)
        shown = await browser.get("/oidc/callback", params={"state": state, "error": "<script>alert(1)</script>"})
        assert shown.status_code == 401
        assert "alert" not in shown.text
        assert "default-src 'none'" in shown.headers["content-security-policy"]


async def test_a_token_of_another_sign_in_signs_nobody_in(fleet: Fleet) -> None:
    async with hostile_provider() as told, _page(fleet, told.settings()) as browser:
        _, first = await _state(browser)
        state, nonce = await _state(browser)
        told.documents["/token"] = {"id_token": told.token(first)}
        assert (await browser.get("/oidc/callback", params={"state": state, "code": "x"})).status_code == 401
        state, nonce = await _state(browser)
        told.documents["/token"] = {"id_token": told.token(nonce)}
        assert (await browser.get("/oidc/callback", params={"state": state, "code": "x"})).status_code == 303


async def test_another_account_is_offered_where_the_provider_has_a_place_to_sign_out(fleet: Fleet) -> None:
    async with hostile_provider() as told:
        for place in ({}, {"end_session_endpoint": f"{told.issuer}/leave"}):
            told.documents["/.well-known/openid-configuration"] |= place
            async with _page(fleet, told.settings(RULES="staff=gone:member")) as browser:
                state, nonce = await _state(browser)
                told.documents["/token"] = {"id_token": told.token(nonce)}
                refused = await browser.get("/oidc/callback", params={"state": state, "code": "x"})
            assert refused.status_code == 403
            assert ("Use another account" in refused.text) == bool(place)


async def test_a_provider_that_is_away_is_a_page_that_says_so(fleet: Fleet) -> None:
    async with hostile_provider() as told:
        settings = told.settings()
    async with _page(fleet, settings) as browser:
        away = await browser.get("/oidc/login")
        assert (away.status_code, away.headers["retry-after"]) == (503, "10")
        assert "The identity provider does not answer" in away.text


async def test_the_page_is_told_where_people_sign_in(fleet: Fleet) -> None:
    async with _page(fleet, None) as browser:
        assert (await browser.get("/oidc/offered")).json() == {"offered": False}
        assert (await browser.get("/oidc/login")).status_code == 404
    told = HostileProvider("https://id.example").settings()
    async with _page(fleet, told) as browser:
        assert (await browser.get("/oidc/offered")).json() == {"offered": True}
        assert (await browser.get("/oidc/login", headers={"Host": "127.0.0.1:7700"})).status_code == 421
        assert (await browser.get("/oidc/logout", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403


async def test_cookies_are_secure_where_browsers_use_tls_though_a_proxy_ends_it(fleet: Fleet) -> None:
    async with hostile_provider() as told, _page(fleet, told.settings(URL="https://fleet.example"), "https://fleet.example") as browser:
        browser.base_url = httpx2.URL("http://fleet.example")
        sent = await browser.get("/oidc/login")
        assert sent.headers["set-cookie"].startswith("__Host-tandem_sign_in=")
        assert {"Secure", "HttpOnly", "SameSite=lax", "Max-Age=600"} <= set(sent.headers["set-cookie"].split("; "))
