"""The clients people use to drive a browser, from their registries, unchanged."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

NODE = os.environ.get("TANDEM_NODE", "/opt/node/22/bin/node")
PACKAGES = os.environ.get("TANDEM_NODE_CLIENTS", "/opt/clients")
BROWSER_USE = os.environ.get("TANDEM_BROWSER_USE", "/opt/browser-use/bin/python")
PROGRAMS = Path(__file__).parent / "cdp" / "clients"
FORM = """<title>Form</title><input id="name"><button onclick="document.title = document.querySelector('#name').value">Go</button>"""
WAIT_SECONDS = 120.0

type Headers = Mapping[str, str]


def run(argv: list[str], **environment: str) -> str:
    """Run a client and return what it wrote; fail with its complaint, also where it does not end."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_SECONDS, env={**os.environ, **environment}, check=False)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"it did not end: {(late.stderr or b'').decode(errors='replace')}") from None
    assert done.returncode == 0, done.stderr
    return done.stdout


def drive_with_playwright(endpoint: str, headers: Headers, name: str) -> None:
    """Type, click, show, open and close, as Playwright does it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(endpoint, headers=dict(headers))
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


def drive_with_puppeteer(endpoint: str, headers: Headers) -> None:
    """The same with puppeteer-core."""
    told = json.loads(run([NODE, str(PROGRAMS / "puppeteer.mjs"), endpoint, PACKAGES, json.dumps(dict(headers))]))
    assert told == {"title": "héllo 世界", "png": "PNG", "contexts": 2}


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
        """Ask, and wait for the answer."""
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
        """End the server."""
        self._server.kill()
        self._server.communicate()


def drive_with_chrome_devtools_mcp(endpoint: str, headers: Headers) -> None:
    """Open, look and evaluate with chrome-devtools-mcp."""
    program = f"{PACKAGES}/node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
    options = ["--wsEndpoint", endpoint, "--wsHeaders", json.dumps(dict(headers)), "--no-usage-statistics"]
    mcp = Mcp([NODE, program, *options, "--no-performance-crux", "--no-page-id-routing"])
    try:
        assert len(mcp.request("tools/list")["tools"]) > 20
        mcp.tool("new_page", url="data:text/html,<title>Hello</title><button>Press me</button>")
        assert "Press me" in mcp.tool("take_snapshot")
        assert "Hello" in mcp.tool("evaluate_script", function="() => document.title")
        assert "data:text/html" in mcp.tool("list_pages")
    finally:
        mcp.close()


def drive_with_browser_use(endpoint: str, headers: Headers, site: str) -> None:
    """Open a page with browser-use, and find the button in what it tells a model."""
    script = str(PROGRAMS / "read_page.py")
    told = run([BROWSER_USE, script, endpoint, json.dumps(dict(headers)), site], ANONYMIZED_TELEMETRY="false")
    assert json.loads(told.splitlines()[-1]) == {"url": site, "found": True}
