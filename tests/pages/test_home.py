"""Home as the state of the work: who drives, what is asked, what happened last, how to connect an agent, and what a guest sees of it."""

import gzip
import json
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.pages.conftest import DESKTOP, PHONE, sign_in
from tests.patience import until

NODE = "/opt/conformance/node"
MAX_WEIGHT = 60 << 10
CLIENTS = ["Claude Code", "Codex", "Cursor", "MCP JSON", "Python", "TypeScript", "curl"]
SCROLL_WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture
def home(person: Page, sandbox: Sandbox) -> Iterator[Page]:
    """Home of a sandbox that an agent has called; an error of its scripts fails the test."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    wrong: list[str] = []
    person.on("pageerror", lambda error: wrong.append(str(error)))
    person.goto(f"{sandbox.base_url}/")
    yield person
    assert wrong == []


@contextmanager
def guest(browser: Browser, sandbox: Sandbox, *scopes: str, **context: Any) -> Iterator[tuple[Page, list[int]]]:
    """Home of somebody with these scopes alone, and the statuses of refusals that the page met."""
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": list(scopes)}).json()["ticket"]
    with browser.new_context(**(DESKTOP | context)) as made:
        page, refused = made.new_page(), list[int]()
        page.on("response", lambda answer: refused.append(answer.status) if answer.status >= 400 and answer.status != 503 else None)
        page.goto(f"{sandbox.base_url}/?ticket={ticket}")
        yield page, refused


def pane(page: Page, name: str) -> Locator:
    return page.locator(f"[data-pane={name}]")


def initialized(url: str, headers: dict[str, str]) -> str:
    """The name of the MCP server that a client finds at a URL with these headers."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = httpx.post(url, headers=headers | accept, json=message, trust_env=False, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.text


def by_claude(text: str) -> tuple[str, dict[str, str]]:
    """What `claude mcp add` is told."""
    *command, url, option, header = shlex.split(text)
    assert (command, option) == (["claude", "mcp", "add", "--transport", "http", "tandem"], "--header")
    name, _, value = header.partition(": ")
    return url, {name: value}


def by_codex(text: str) -> tuple[str, dict[str, str]]:
    server = tomllib.loads(text)["mcp_servers"]["tandem"]
    return server["url"], server["http_headers"]


def by_json(text: str) -> tuple[str, dict[str, str]]:
    server = json.loads(text)["mcpServers"]["tandem"]
    return server["url"], server["headers"]


def output_of(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env={"PATH": "/usr/bin:/bin", "NO_PROXY": "*"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def examples(page: Page) -> dict[str, str]:
    """The code of each tab."""
    expect(page.get_by_role("tab")).to_have_count(len(CLIENTS))
    found = {}
    for tab in page.get_by_role("tab").all():
        tab.click()
        found[tab.inner_text()] = page.locator("#snippets code").inner_text()
    return found


def test_before_an_agent_came_home_says_how_to_connect_one_and_every_example_works(
    browser: Browser, start_sandbox: Callable[..., Sandbox], tmp_path: Path
) -> None:
    fresh = start_sandbox()
    with browser.new_context(**DESKTOP) as context:
        page = sign_in(context, fresh)
        page.goto(f"{fresh.base_url}/")
        expect(page.get_by_role("heading", name="Waiting for an agent: connect one")).to_be_visible()
        expect(page.locator("#drives")).to_have_text("Waiting for an agent")
        assert all("YOUR_KEY" in text and "{key}" not in text and "$SANDBOX" not in text for text in examples(page).values())

        page.get_by_role("button", name="Create key").click()
        expect(page.locator("#keys [role=status]")).to_contain_text("not shown again")
        code = examples(page)
        assert list(code) == CLIENTS
        for client, read in (("Claude Code", by_claude), ("Codex", by_codex), ("Cursor", by_json), ("MCP JSON", by_json)):
            assert "protocolVersion" in initialized(*read(code[client])), client
        script = tmp_path / "agent.mts"
        script.write_text(code["TypeScript"])
        assert "Linux" in output_of(sys.executable, "-c", code["Python"])
        assert "Linux" in output_of(NODE, "--experimental-strip-types", str(script))
        assert "Linux" in output_of("/bin/bash", "-c", f"{code['curl']} --silent --noproxy '*'")
        expect(page.locator("#drives")).to_have_text("The agent drives")

        url, headers = by_json(code["Cursor"])
        page.reload()
        assert headers["Authorization"].removeprefix("Bearer ") not in page.content()
        page.locator("#connect summary").click()
        page.locator("#keys").get_by_role("button", name="Revoke").last.click()
        expect(page.locator("#keys [role=status]")).to_have_text("Key revoked. Programs that use it are refused.")
        assert httpx.post(url, headers=headers, json={}, trust_env=False, timeout=60).status_code == 401


def test_the_first_row_is_the_live_picture_with_the_driver_in_the_drivers_colour(home: Page, sandbox: Sandbox) -> None:
    expect(home.get_by_alt_text("The desktop as it is now")).to_be_visible()
    expect(home.locator("#drives")).to_have_text("The agent drives")
    colour = "(element) => getComputedStyle(element, '::before').backgroundColor"
    agent = home.locator("#drives").evaluate(colour)
    home.get_by_role("button", name="Take control").click()
    for place in ("#drives", "#driver"):
        expect(home.locator(place)).to_have_text("You drive")
    assert home.locator("#drives").evaluate(colour) != agent
    assert home.locator("#drives").evaluate(colour) == home.locator("#driver").evaluate(colour), (
        "one colour in the bar and over the picture"
    )
    home.get_by_role("button", name="Hand back to agent").click()
    expect(home.locator("#drives")).to_have_text("The agent drives")
    pane(home, "browser").get_by_role("link", name="Open: Live").click()
    home.wait_for_url(f"{sandbox.base_url}/view")


def test_show_here_embeds_the_live_page_and_an_enlarged_one_keeps_its_header_in_sight(home: Page) -> None:
    live = pane(home, "browser")
    live.get_by_role("button", name="Show here").click()
    expect(live.frame_locator("iframe").locator("main[data-picture=connected]")).to_be_visible()
    expect(live.get_by_text("Statistics")).to_have_count(0)
    live.get_by_role("button", name="Enlarge").click()
    expect(live.locator("header")).to_be_in_viewport()
    expect(live.locator("iframe")).to_be_in_viewport(ratio=0.95)
    live.get_by_role("button", name="Close").click()
    expect(home.get_by_alt_text("The desktop as it is now")).to_be_visible()


def test_the_last_acts_are_sentences_that_come_as_they_happen_and_are_five_at_most(home: Page, sandbox: Sandbox) -> None:
    for number in range(6):
        sandbox.request("POST", "/v1/shell/exec", json={"command": f"echo act-{number}"})
    acts = home.locator("#acts li")
    expect(acts.first).to_contain_text("Agent ran echo act-5, exit 0")
    expect(acts).to_have_count(5)
    sandbox.request("POST", "/v1/shell/exec", json={"command": "ls /nope"})
    expect(acts.first).to_contain_text("Agent ran ls /nope, exit 2")
    acts.first.get_by_role("link").click()
    home.wait_for_url("**/recorder#t=*")


def test_the_terminals_last_lines_are_shown_as_text_and_name_the_session(home: Page, sandbox: Sandbox) -> None:
    hostile = r"seq 1 40; printf '\033[31m<img src=x>\033]0;title\007\342\200\256 end\n'; head -c 500 /dev/zero | tr '\0' x; echo"
    sandbox.request("POST", "/v1/shell/exec", json={"command": hostile, "exec_dir": "/tmp"})
    lines = home.locator("#lines")
    expect(lines).to_contain_text("<img src=x>")
    text = lines.inner_text()
    assert lines.locator("img").count() == 0
    assert len(text.split("\n")) <= 10
    assert max(map(len, text.split("\n"))) <= 160
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    expect(home.locator("#session")).to_have_text("Agent · /tmp")


def test_an_open_request_is_answered_at_home(home: Page, sandbox: Sandbox) -> None:
    asked = sandbox.request("POST", "/v1/handoffs", json={"kind": "confirm", "reason": "Place the order for 12.90?"}).json()["data"]
    try:
        card = home.locator("main tandem-requests").get_by_text("Place the order for 12.90?")
        expect(card).to_be_visible()
        expect(card).to_be_in_viewport()
        home.locator("main").get_by_role("button", name="Yes, go ahead").click()
        until(lambda: sandbox.request("GET", f"/v1/handoffs/{asked['id']}").json()["data"]["outcome"])
        assert sandbox.request("GET", f"/v1/handoffs/{asked['id']}").json()["data"]["outcome"] == "done"
        expect(card).to_be_hidden()
    finally:
        sandbox.request("DELETE", f"/v1/handoffs/{asked['id']}")


def test_while_somebody_is_private_there_is_a_cover_and_no_picture(home: Page, sandbox: Sandbox) -> None:
    other = Person(sandbox)
    other.control("take")
    try:
        expect(home.get_by_alt_text("The desktop as it is now")).to_be_visible()
        other.control("private")
        expect(home.locator("#cover")).to_contain_text("has hidden the screen for a moment.")
        expect(home.get_by_alt_text("The desktop as it is now")).to_be_hidden()
    finally:
        other.control("release")
    expect(home.locator("#cover")).to_be_hidden()
    expect(home.get_by_alt_text("The desktop as it is now")).to_be_visible()


def test_the_operators_list_is_folded_and_says_how_many_protections_are_off(home: Page, sandbox: Sandbox) -> None:
    checks = sandbox.request("GET", "/v1/doctor").json()["data"]["checks"]
    off = [check for check in checks if check["status"] == "lost"]
    wanted = f"{len(off)} of {len(checks)} protections are off" if off else f"All {len(checks)} protections are on"
    expect(home.locator("#protections")).to_have_text(wanted)
    expect(home.locator("#checks")).to_be_hidden()
    home.locator("#operator summary").press("Enter")
    expect(home.locator("#checks li")).to_have_count(len(checks))
    assert "lost" not in home.locator("#checks").inner_text()
    for check in off:
        expect(home.locator("#checks")).to_contain_text(check["hint"])
    expect(home.locator("#states")).to_contain_text("Program launcher")
    for internal in ("spawner", "desktop-bus"):
        expect(home.locator("#states")).not_to_contain_text(internal)


def test_what_has_not_started_yet_is_starting_and_not_red(home: Page, sandbox: Sandbox) -> None:
    states = {"gateway": "ready", "mcp": "not started"}
    home.route("**/readyz", lambda route: route.fulfill(status=503, json={"status": "starting", "components": states}))
    home.reload()
    home.locator("#operator summary").click()
    row = home.locator("#states li", has_text="MCP")
    expect(row).to_contain_text("starting")
    expect(home.locator("#operator .state.bad")).to_have_count(0)
    home.unroute("**/readyz")


def test_a_guest_who_watches_sees_the_live_pane_and_nothing_that_is_refused(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    with guest(browser, sandbox, "view") as (page, refused):
        expect(page.locator("#drives")).to_have_text("The agent drives")
        pane(page, "browser").get_by_role("button", name="Show here").click()
        expect(pane(page, "browser").frame_locator("iframe").locator("main[data-picture=connected]")).to_be_visible()
        for hidden in ("#acts-card", "[data-pane=terminal]", "#ports-section", "#tools", "#connect", "#operator"):
            expect(page.locator(hidden)).to_be_hidden()
        text = page.locator("main").inner_text()
        assert not any(word in text for word in ("Not for you", "No access", "may not", "Hidden"))
        assert refused == []


def test_who_has_shells_but_manages_nothing_sees_the_terminal_and_makes_no_key(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.request("POST", "/v1/shell/exec", json={"command": "echo for-colleagues"})
    with guest(browser, sandbox, "view", "control", "shell", "code", "browser") as (page, refused):
        expect(page.locator("#lines")).to_contain_text("for-colleagues")
        expect(page.locator("#ports-section")).to_be_visible()
        page.locator("#connect summary").click()
        expect(page.locator("#connect")).to_contain_text("Ask who manages this sandbox for a key")
        expect(page.get_by_role("button", name="Create key")).to_have_count(0)
        expect(page.locator("#acts-card")).to_be_hidden()
        expect(page.locator("#operator")).to_be_hidden()
        assert refused == []


def test_a_link_to_how_to_connect_unfolds_it_once(person: Page, sandbox: Sandbox) -> None:
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    person.goto(f"{sandbox.base_url}/#connect")
    expect(person.get_by_role("tab", name="curl")).to_be_visible()
    person.evaluate("async () => (await import('/static/home/connect.js'), new Promise(requestAnimationFrame))")
    assert person.locator("#connect-body [role=tablist]").count() == 1


def test_home_is_used_by_the_keyboard(home: Page) -> None:
    home.locator("#connect summary").wait_for()  # what is hidden takes no focus
    home.locator("#connect summary").focus()
    home.keyboard.press("Enter")
    expect(home.get_by_role("tab", name="Claude Code")).to_have_attribute("aria-selected", "true")
    home.get_by_role("tab", name="Claude Code").focus()
    home.keyboard.press("ArrowLeft")
    expect(home.get_by_role("tab", name="curl")).to_be_focused()
    expect(home.locator("#snippets code")).to_contain_text("curl http")
    home.keyboard.press("Tab")
    expect(home.locator("#snippets pre")).to_be_focused()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [390, 360])
def test_a_phone_shows_all_of_home_without_scrolling_sideways(browser: Browser, sandbox: Sandbox, width: int, lang: str) -> None:
    sandbox.request("POST", "/v1/shell/exec", json={"command": f"echo {'x' * 300}"})
    with browser.new_context(**(PHONE | {"viewport": {"width": width, "height": 800}})) as context:
        page = sign_in(context, sandbox)
        page.goto(f"{sandbox.base_url}/?lang={lang}")
        expect(page.locator("#lines")).to_contain_text("xxx")
        for fold in ("#connect", "#operator"):
            page.locator(f"{fold} > summary").click()
        expect(page.locator("#checks li").first).to_be_visible()
        expect(page.locator("#snippets code")).to_contain_text("claude mcp add")
        assert page.evaluate(SCROLL_WIDTH) == width


def test_home_speaks_chinese(home: Page, sandbox: Sandbox) -> None:
    home.goto(f"{sandbox.base_url}/?lang=zh")
    expect(home.locator("#drives")).to_have_text("智能体正在操作")
    expect(home.locator("#acts li").first).to_contain_text("智能体")
    expect(home.locator("#protections")).to_contain_text("项保护措施")
    expect(home.get_by_role("heading", name="端口")).to_be_visible()


def test_home_weighs_less_than_sixty_kibibytes(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.request("POST", "/v1/shell/exec", json={"command": "true"})
    with browser.new_context(**DESKTOP) as context:
        page = sign_in(context, sandbox)
        loaded: list[str] = []
        page.on("requestfinished", lambda request: loaded.append(request.url))
        page.goto(f"{sandbox.base_url}/")
        expect(page.locator("#acts li").first).to_be_visible()
        expect(page.locator("#lines")).to_be_visible()
        expect(page.locator("#protections")).not_to_be_empty()
        files = {url for url in loaded if "/static/" in url or url == f"{sandbox.base_url}/"}
    weights = {url: len(gzip.compress(sandbox.http.get(url, headers=sandbox.headers).content)) for url in files}
    assert len(weights) > 30
    assert sum(weights.values()) < MAX_WEIGHT, "\n".join(f"{weight} {url}" for url, weight in weights.items())
