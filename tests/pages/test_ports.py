"""The ports at home: live, with their programs, and shared by links that say what they open, for whom and how long."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP
from tests.patience import until

PORT = 8441
SERVER = (
    f"mkdir -p /tmp/served && cd /tmp/served && echo shown-to-friends > index.html && exec python3 -m http.server {PORT} --bind 127.0.0.1"
)


def served(sandbox: Sandbox) -> str:
    """Start a web server of the agent's; the session that it runs in."""
    started = sandbox.request("POST", "/v1/bash/exec", json={"command": SERVER, "async_mode": True}).json()["data"]
    session: str = started["session_id"]
    assert sandbox.request("GET", "/v1/ports", params={"wait": PORT}).json()["data"]["ready"] is True
    return session


def stopped(sandbox: Sandbox, session: str) -> None:
    """End the web server; the next one gets its port."""
    sandbox.request("POST", "/v1/bash/kill", json={"session_id": session})
    until(lambda: PORT not in listening(sandbox))


def listening(sandbox: Sandbox) -> set[int]:
    """The ports that are listed."""
    return {port["port"] for port in sandbox.request("GET", "/v1/ports").json()["data"]["ports"]}


@pytest.fixture
def server(sandbox: Sandbox) -> Iterator[str]:
    """A web server of the agent's, and no link to it."""
    session = served(sandbox)
    yield session
    stopped(sandbox, session)
    for link in sandbox.request("GET", "/v1/ports/shares").json()["data"]:
        sandbox.request("DELETE", f"/v1/ports/shares/{link['share_id']}")


@pytest.fixture
def home(person: Page, sandbox: Sandbox) -> Page:
    person.goto(f"{sandbox.base_url}/")
    return person


def row_of(page: Page) -> Locator:
    return page.locator("#ports li", has=page.get_by_role("link", name=str(PORT), exact=True))


def shared(page: Page) -> str:
    """Share the port as it is offered; the link."""
    row_of(page).get_by_role("button", name=f"Share port {PORT}").click()
    row_of(page).get_by_role("button", name="Create link").click()
    field = row_of(page).get_by_label(f"Link to port {PORT}")
    expect(field).to_have_value(re.compile("share=sh-"))
    return field.input_value()


def test_ports_come_and_go_without_a_reload_each_with_its_program(home: Page, sandbox: Sandbox) -> None:
    expect(home.locator("#ports li").first).to_be_visible()
    expect(row_of(home)).to_have_count(0)
    session = served(sandbox)
    try:
        expect(row_of(home)).to_contain_text(f"python3 -m http.server {PORT}")
    finally:
        stopped(sandbox, session)
    expect(row_of(home)).to_have_count(0)


@pytest.mark.usefixtures("server")
def test_sharing_says_what_it_opens_for_whom_and_how_long(home: Page, sandbox: Sandbox) -> None:
    row_of(home).get_by_role("button", name=f"Share port {PORT}").click()
    expect(row_of(home)).to_contain_text(
        f"Anyone with the link can open port {PORT} (python3 -m http.server {PORT} --bind 127.0.0.1) without signing in."
    )
    expect(row_of(home).get_by_label("Expires in")).to_have_value("3600")
    assert sandbox.request("GET", "/v1/ports/shares").json()["data"] == [], "nothing is shared by asking what it would be"
    row_of(home).get_by_role("button", name="Cancel").click()
    expect(row_of(home).get_by_label("Expires in")).to_have_count(0)


@pytest.mark.usefixtures("server")
def test_a_link_opens_the_port_for_a_stranger_is_listed_with_its_end_and_is_revoked(browser: Browser, home: Page) -> None:
    link = shared(home)
    listed = home.locator("#shares li")
    expect(listed).to_have_count(1)
    expect(listed).to_contain_text(f"Port {PORT}")
    expect(listed).to_contain_text("expires in 60 min")
    with browser.new_context(**DESKTOP) as stranger:
        page = stranger.new_page()
        page.goto(link)
        expect(page.get_by_text("shown-to-friends")).to_be_visible()

        home.get_by_role("button", name=f"Revoke the link to port {PORT}").click()
        expect(home.locator("#shares-part")).to_be_hidden()
        expect(row_of(home).get_by_label(f"Link to port {PORT}")).to_have_count(0)

        page.goto(link)
        expect(page.get_by_text("shown-to-friends")).to_have_count(0)


@pytest.mark.usefixtures("server")
def test_a_link_is_still_listed_and_revocable_after_a_reload(home: Page) -> None:
    shared(home)
    home.reload()
    expect(home.locator("#shares li")).to_have_count(1)
    home.get_by_role("button", name=f"Revoke the link to port {PORT}").press("Enter")
    expect(home.locator("#shares-part")).to_be_hidden()


def test_the_sandboxs_own_ports_and_the_editors_are_neither_listed_nor_shareable(home: Page, sandbox: Sandbox) -> None:
    for editor in sandbox.request("GET", "/v1/editors").json()["data"]["editors"]:
        if editor["installed"]:
            sandbox.request("POST", f"/v1/editors/{editor['name']}/start").raise_for_status()
    agents = sandbox.run("id", "-u").stdout.strip()
    lines = sandbox.exec("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout.splitlines()
    rows = [line.split() for line in lines if line.split()[3:4] == ["0A"]]
    own = {int(row[1].rpartition(":")[2], 16) for row in rows if row[7] != agents} | {8080, 8888, 8200}
    home.reload()
    expect(home.locator("#ports li").first).to_be_visible()
    shown = set(home.locator("#ports a").all_inner_texts())
    listed = listening(sandbox)
    docker = {int(row[1].rpartition(":")[2], 16) for row in rows if row[1].startswith("0B00007F:")}  # the engine's resolver, 127.0.0.11

    assert not {str(port) for port in own} & shown
    assert not own & listed
    refused = {port: sandbox.request("POST", f"/v1/ports/{port}/share", json={}).status_code for port in own - docker}
    assert set(refused.values()) == {403}, refused
    assert sandbox.request("GET", "/v1/ports/shares").json()["data"] == []
