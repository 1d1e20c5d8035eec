"""The clients people use, from their registries, unchanged, all on one browser."""

import json
import os
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

Owner = Any

HEADERS = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}
PACKAGES = os.environ.get("TANDEM_NODE_CLIENTS", "/opt/clients")
NODE = os.environ.get("TANDEM_NODE", "/opt/node/22/bin/node")
BROWSER_USE = os.environ.get("TANDEM_BROWSER_USE", "/opt/browser-use/bin/python")
HERE = Path(__file__).parent
FORM = """<title>Form</title><input id="name"><button onclick="document.title = document.querySelector('#name').value">Go</button>"""


def needs(package: str) -> pytest.MarkDecorator:
    missing = not os.path.exists(NODE) or not os.path.isdir(f"{PACKAGES}/node_modules/{package}")
    return pytest.mark.skipif(missing, reason=f"{package} is not installed here")


def run(argv: list[str], **environment: str) -> str:
    """Run a client and return what it wrote; fail with its complaint."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def drive_with_playwright(endpoint: str, name: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(endpoint, headers=HEADERS)
        page = browser.contexts[0].new_page()
        page.set_content(FORM)
        page.fill("#name", name)
        page.click("button")
        assert page.title() == name
        assert page.evaluate("text => text.length", "x" * 5_000_000) == 5_000_000
        assert page.screenshot().startswith(b"\x89PNG")
        with page.expect_popup() as opened:
            page.evaluate("window.open('about:blank') && null")
        opened.value.close()
        private = browser.new_context()
        private.new_page().goto("about:blank")
        private.close()
        session = browser.contexts[0].new_cdp_session(page)
        assert session.send("Runtime.evaluate", {"expression": "6 * 7"})["result"]["value"] == 42
        page.close()
        browser.close()


def drive_with_puppeteer(endpoint: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run([NODE, str(HERE / "clients" / "puppeteer.mjs"), endpoint, PACKAGES, json.dumps(HEADERS)]))
    return told


@pytest.fixture(scope="module")
def tcp(shared: Owner, relay: Callable[[str], str]) -> str:
    """The browser's address over TCP, as it is behind the gateway."""
    return relay(shared.socket)


def test_playwright_over_http_and_over_a_socket(tcp: str) -> None:
    pytest.importorskip("playwright")
    drive_with_playwright(f"http://{tcp}", "héllo 世界")
    drive_with_playwright(f"http://{tcp}/cdp", "by prefix")
    drive_with_playwright(f"ws://{tcp}/devtools/browser/any", "by socket")


@needs("puppeteer-core")
def test_puppeteer(tcp: str) -> None:
    assert drive_with_puppeteer(f"ws://{tcp}/devtools/browser/any") == {"title": "héllo 世界", "png": "PNG", "contexts": 2}


class Mcp:
    """A client of an MCP server on standard streams."""

    def __init__(self, argv: list[str]) -> None:
        self._server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._last = 0
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._server.stdout
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while (message := json.loads(self._server.stdout.readline())).get("id") != self._last:
            continue
        result: dict[str, Any] = message["result"]
        return result

    def tool(self, name: str, **arguments: Any) -> str:
        """Call a tool that must succeed and return its text."""
        result = self.request("tools/call", name=name, arguments=arguments)
        text = "\n".join(part.get("text", "") for part in result["content"])
        assert not result.get("isError"), text
        return text

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


@needs("chrome-devtools-mcp")
def test_chrome_devtools_mcp(tcp: str) -> None:
    program = f"{PACKAGES}/node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
    options = ["--wsEndpoint", f"ws://{tcp}/devtools/browser/any", "--wsHeaders", json.dumps(HEADERS), "--no-usage-statistics"]
    mcp = Mcp([NODE, program, *options, "--no-performance-crux", "--no-page-id-routing"])
    try:
        assert len(mcp.request("tools/list")["tools"]) > 20
        mcp.tool("new_page", url="data:text/html,<title>Hello</title><button>Press me</button>")
        assert "Press me" in mcp.tool("take_snapshot")
        assert "Hello" in mcp.tool("evaluate_script", function="() => document.title")
        assert "data:text/html" in mcp.tool("list_pages")
    finally:
        mcp.close()


@pytest.mark.skipif(not os.path.exists(BROWSER_USE), reason="browser-use is not installed here")
def test_browser_use(tcp: str, site: str) -> None:
    script = str(HERE / "clients" / "read_page.py")
    told = run([BROWSER_USE, script, f"ws://{tcp}/devtools/browser/any", json.dumps(HEADERS), site], ANONYMIZED_TELEMETRY="false")
    assert json.loads(told.splitlines()[-1]) == {"url": site, "found": True}


@needs("puppeteer-core")
def test_all_of_them_at_once(tcp: str) -> None:
    pytest.importorskip("playwright")
    failures: list[BaseException] = []

    def attempt(drive: Callable[[], object]) -> None:
        try:
            drive()
        except BaseException as failure:
            failures.append(failure)
            raise

    drives: list[Callable[[], object]] = [partial(drive_with_playwright, f"http://{tcp}", f"client {number}") for number in range(3)]
    drives += [partial(drive_with_puppeteer, f"ws://{tcp}/devtools/browser/any")] * 2
    threads = [threading.Thread(target=attempt, args=(drive,)) for drive in drives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)
