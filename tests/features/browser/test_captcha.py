import asyncio

import pytest

from tests.drivers.browser.conftest import anyio_backend, attached, display, programs, shared, web
from tests.features.browser.driven import Pages, pages

__all__ = ["anyio_backend", "attached", "display", "pages", "programs", "shared", "web"]

pytestmark = pytest.mark.anyio


async def test_a_captcha_is_detected_until_it_is_solved(pages: Pages) -> None:
    await pages.visit("/captcha")
    found = await pages("GET captcha/detect")
    await pages.js("solve()")
    solved = await pages("GET captcha/detect")

    assert (found.detected, found.captchas[0].kind, found.captchas[0].solved) == (True, "recaptcha", False)
    assert (solved.detected, solved.captchas[0].solved) == (False, True)


async def test_a_page_without_one_has_none(pages: Pages) -> None:
    await pages.visit("/form")

    assert not (await pages("GET captcha/detect")).detected
    assert (await pages("POST captcha/wait")).resolved


async def test_waiting_ends_when_somebody_solves_it_or_leaves_or_time_is_up(pages: Pages) -> None:
    await pages.visit("/captcha")
    gave_up = await pages("POST captcha/wait", timeout=0.3, poll_interval=0.1)
    waiting = asyncio.ensure_future(pages("POST captcha/wait", timeout=30, poll_interval=0.1))
    await pages.js("solve()")

    assert not gave_up.resolved
    assert (await waiting).resolved
