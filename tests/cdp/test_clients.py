"""The clients people use, from their registries, unchanged, all on one browser."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.browser_clients import drive_with_browser_use, drive_with_chrome_devtools_mcp, drive_with_playwright, drive_with_puppeteer
from tests.patience import PATIENCE_SECONDS

BrowserServer = Any

HEADERS = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}


@pytest.fixture(scope="module")
def tcp(shared: BrowserServer, relay: Callable[[str], str]) -> str:
    """The browser's address over TCP, as it is behind the gateway."""
    return relay(shared.socket)


def test_playwright_over_http_and_over_a_socket(tcp: str) -> None:
    drive_with_playwright(f"http://{tcp}", HEADERS, "héllo 世界")
    drive_with_playwright(f"http://{tcp}/cdp", HEADERS, "by prefix")
    drive_with_playwright(f"ws://{tcp}/devtools/browser/any", HEADERS, "by socket")


def test_puppeteer(tcp: str) -> None:
    drive_with_puppeteer(f"ws://{tcp}/devtools/browser/any", HEADERS)


def test_chrome_devtools_mcp(tcp: str) -> None:
    drive_with_chrome_devtools_mcp(f"ws://{tcp}/devtools/browser/any", HEADERS)


def test_browser_use(tcp: str, site: str) -> None:
    drive_with_browser_use(f"ws://{tcp}/devtools/browser/any", HEADERS, site)


def test_all_of_them_at_once(tcp: str) -> None:
    failures: list[BaseException] = []

    def attempt(drive: Callable[[], object]) -> None:
        try:
            drive()
        except BaseException as failure:  # noqa: BLE001 - the test fails with it, in its own thread
            failures.append(failure)

    drives: list[Callable[[], object]] = [
        partial(drive_with_playwright, f"http://{tcp}", HEADERS, f"client {number}") for number in range(3)
    ]
    drives += [partial(drive_with_puppeteer, f"ws://{tcp}/devtools/browser/any", HEADERS)] * 2
    threads = [threading.Thread(target=attempt, args=(drive,)) for drive in drives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)
