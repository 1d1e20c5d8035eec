"""A page whose name is pointed at the sandbox once it is loaded (DNS rebinding), in a real browser, where nobody has to sign in."""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from tests.image.chromium import chromium
from tests.image.container import Sandbox

EVIL, KNOWN = "rebound.evil.example", "box.lab.example"
MARK = "/home/gem/rebound"
OTHERS = "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests"
"""As browsers do that have no rules of their own for addresses of a network at home: nothing of ours may rest on those."""
ATTACK = """
async ([mark]) => {
  const outcomes = {};
  const told = async (name, asked) => { try { outcomes[name] = (await asked).status; } catch (error) { outcomes[name] = String(error); } };
  const json = { "Content-Type": "application/json" };
  await told("command", fetch("/v1/bash/exec", { method: "POST", headers: json, body: JSON.stringify({ command: `touch ${mark}` }) }));
  await told("read", fetch("/v1/file/read", { method: "POST", headers: json, body: JSON.stringify({ file: "/etc/hostname" }) }));
  await told("simple", fetch("/v1/bash/exec", { method: "POST", body: JSON.stringify({ command: `touch ${mark}` }) }));
  await told("forwarded", fetch("/v1/bash/exec", { method: "POST", headers: { ...json, "X-Forwarded-Host": "localhost" },
    body: JSON.stringify({ command: `touch ${mark}` }) }));
  await told("tools", fetch("/mcp", { method: "POST", headers: { ...json, Accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }) }));
  await told("devtools", fetch("/cdp/json/version"));
  await told("page", fetch("/view", { headers: { Accept: "text/html" } }));
  await told("health", fetch("/healthz"));
  await told("preview", fetch("/proxy/3000/"));
  for (const path of ["/v1/shell/ws", "/websockify", "/stream/socket", "/devtools/browser"]) {
    outcomes[path] = await new Promise((done) => {
      const socket = new WebSocket(`ws://${location.host}${path}`);
      socket.onopen = () => done("open");
      socket.onerror = () => done("refused");
    });
  }
  return outcomes;
}
"""


@pytest.fixture(scope="module")
def anyones(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A sandbox without a sign-in, which is told one name of its own."""
    return sandbox_with(env={"AUTH": "off", "SANDBOX_API_KEY": "", "ALLOWED_HOSTS": KNOWN})


@pytest.fixture(scope="module")
def browser(anyones: Sandbox) -> Iterator[Browser]:
    """A browser of somebody's outside, for whom both names lead to the sandbox by now."""
    address = socket.gethostbyname(anyones.name)
    rules = f"--host-resolver-rules=MAP {EVIL} {address}, MAP {KNOWN} {address}, MAP 3000-{EVIL} {address}"
    with chromium(rules, OTHERS) as launched:
        yield launched


def attack(browser: Browser, authority: str) -> dict[str, Any]:
    """What a page of the name gets: it comes from its own server, and all that it asks for goes to the sandbox."""

    def served(route: Route) -> None:
        route.fulfill(content_type="text/html", body="<!doctype html><title>harmless</title>")

    with browser.new_context() as context:
        page = context.new_page()
        page.route(f"http://{authority}/attack", served)
        page.goto(f"http://{authority}/attack")
        outcomes: dict[str, Any] = page.evaluate(ATTACK, [MARK])
        return outcomes


def ran(sandbox: Sandbox, command: str) -> int:
    """How a command ends that a program without any key runs."""
    code: int = sandbox.http.post(f"{sandbox.base_url}/v1/bash/exec", json={"command": command}).json()["data"]["exit_code"]
    return code


@pytest.mark.slow
def test_a_page_on_a_rebound_name_runs_nothing_and_learns_nothing(browser: Browser, anyones: Sandbox) -> None:
    for authority in (f"{EVIL}:8080", f"3000-{EVIL}:8080"):
        outcomes = attack(browser, authority)
        assert set(outcomes.values()) == {403, "refused"}, outcomes
    assert ran(anyones, f"test -e {MARK}") == 1


def test_under_a_name_of_the_settings_the_same_page_is_ours(browser: Browser, anyones: Sandbox) -> None:
    outcomes = attack(browser, f"{KNOWN}:8080")
    assert (outcomes["command"], outcomes["read"], outcomes["devtools"], outcomes["health"], outcomes["/v1/shell/ws"]) == (
        200,
        200,
        200,
        200,
        "open",
    )
    assert ran(anyones, f"rm {MARK}") == 0, "what the test before would have done"


def test_the_names_that_the_engine_gave_it_are_its_own(anyones: Sandbox) -> None:
    """Its name on the network is known to the engine's resolver alone; its host name is its number."""
    for host in (f"{anyones.name}:8080", anyones.exec("hostname").stdout.strip(), "localhost", socket.gethostbyname(anyones.name)):
        assert anyones.http.get(f"{anyones.base_url}/v1/sandbox", headers={"Host": host}).status_code == 200, host
    refused = anyones.http.get(f"{anyones.base_url}/v1/sandbox", headers={"Host": "tandem-that-is-not-here"})
    assert (refused.status_code, "ALLOWED_HOSTS" in json.loads(refused.text)["message"]) == (403, True)
