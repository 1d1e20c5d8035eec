"""A person signs in to the fleet's wall in a real Chromium, by an OpenID provider that others wrote."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.oidc.settings import ProviderSettings

from tests.fleet.oidc.real_provider import CLIENT, SECRET, real_provider
from tests.fleet.stub_fleet import stub_fleet
from tests.fleet.stub_sandbox import StubSandbox
from tests.pages.test_fleet_wall import MILLISECONDS, browser, tiles

__all__ = ["browser"]
pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _provider(url: str) -> AsyncIterator[Provider]:
    async with real_provider(url) as issuer:
        told = {"ISSUER": issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "URL": url, "RULES": "staff=default:member"}
        settings = ProviderSettings.of({f"TANDEM_OIDC_{name}": value for name, value in told.items()})
        assert settings
        provider = Provider(settings)
        yield provider
        await provider.close()


async def _sign_in(page: Page, name: str) -> None:
    """From the wall through the provider's pages."""
    await page.get_by_role("link", name="Sign in").click()
    await page.locator("input[name=login]").fill(name)
    await page.locator("input[name=password]").fill("any")
    await page.get_by_role("button", name="Sign-in").click()
    await page.get_by_role("button", name="Continue").click()


async def test_a_person_who_signed_in_with_the_wrong_account_takes_another_one(browser: Browser, tmp_path: Path) -> None:
    async with stub_fleet(tmp_path, {"work": StubSandbox()}, {}, _provider) as fleet, await browser.new_context() as context:
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        await page.goto(fleet.url)
        await _sign_in(page, "mallory")
        await expect(page.get_by_text("This account has no role here")).to_be_visible()
        await page.get_by_role("link", name="Use another account").click()
        await page.get_by_role("button", name="Yes, sign me out").click()
        await expect(page).to_have_url(f"{fleet.url}/")
        await _sign_in(page, "ann-staff")
        await expect(tiles(page)).to_have_count(1)
        assert page.url == f"{fleet.url}/"
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("button", name="Yes, sign me out").click()
        await expect(page.get_by_role("link", name="Sign in")).to_be_visible()
