"""The browser's life: how it starts, and how it comes back."""

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox_server.cdp import browser_supervisor
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.tabs import RestorableTabs
from sandbox_server.drivers.stats.system import listening_ports
from tests.patience import eventually, until
from tests.threads import Held

BrowserServer = Any
MakeBrowserServer = Callable[..., Any]

CHROMIUM = "/usr/lib/chromium/chromium"


def started(browser_server: BrowserServer) -> BrowserServer:
    browser_server.start()
    until(browser_server.answers)
    return browser_server


def urls(browser_server: BrowserServer) -> list[str]:
    with browser_server.connect() as client:
        return [page["url"] for page in client.pages()]


def open_tabs(browser_server: BrowserServer, *addresses: str) -> None:
    with browser_server.connect() as client:
        for address in addresses:
            client.result("Target.createTarget", url=address)


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found += [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    return found


def renderers(pid: int) -> dict[int, dict[str, str]]:
    """The renderers of a browser, each with its status."""
    found = {}
    for process in descendants(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            if "--type=renderer" in command_line(process):
                found[process] = status(process)
    return found


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_the_browser_runs_as_the_desktop_user_with_its_sandbox_on(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    own = len(status(browser_server.pid)["NSpid"].split())

    def all_confined() -> bool:  # one that has just started enters its sandbox in a moment
        found = renderers(browser_server.pid).values()
        return bool(found) and all(each["Seccomp"] == "2" and len(each["NSpid"].split()) > own for each in found)

    until(all_confined)
    for process in descendants(browser_server.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            assert status(process)["Uid"].split()[0] == "991"
            assert "--no-sandbox" not in command_line(process)
    assert browser_server.get("/browser")["sandbox"] == "namespaces"


def test_its_devtools_open_no_port(make_browser_server: MakeBrowserServer) -> None:
    before = set(listening_ports())
    browser_server = started(make_browser_server())
    assert set(listening_ports()) <= before  # others may close theirs meanwhile
    assert "--remote-debugging-port" not in command_line(browser_server.pid)


def test_killed_it_is_back_with_its_tabs_in_order(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server(homepage="about:blank#home"))
    open_tabs(browser_server, "about:blank#one", "data:text/html,<title>two</title>")
    shown = sorted(["about:blank#home", "about:blank#one", "data:text/html,<title>two</title>"])
    until(lambda: sorted(urls(browser_server)) == shown)
    old = browser_server.pid
    os.kill(old, signal.SIGKILL)
    until(lambda: browser_server.pid not in (old, None) and browser_server.answers())
    until(lambda: sorted(urls(browser_server)) == shown)  # a tab has no address before it has gone there


@pytest.mark.slow
def test_killed_again_and_again_it_keeps_its_tabs_and_its_profile(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    open_tabs(browser_server, "about:blank#one")
    until(lambda: sorted(urls(browser_server)) == ["about:blank", "about:blank#one"])
    for _ in range(4):
        old = browser_server.pid
        os.kill(old, signal.SIGKILL)
        until(lambda old=old: browser_server.pid not in (old, None) and browser_server.answers())  # type: ignore[misc] # one for each
    until(lambda: sorted(urls(browser_server)) == ["about:blank", "about:blank#one"])
    assert os.listdir(browser_server.home).count("chromium") == 1
    assert not list(browser_server.home.glob("*.aside-*"))


@pytest.mark.slow
def test_a_hung_browser_is_replaced(make_browser_server: MakeBrowserServer) -> None:
    browser_server = make_browser_server()
    browser_server.start(PULSE=0.1, HUNG=10.0)  # a browser on a busy machine does not count as one
    until(browser_server.answers)
    open_tabs(browser_server, "about:blank#one")
    until(lambda: "about:blank#one" in urls(browser_server))
    old = browser_server.pid
    os.kill(old, signal.SIGSTOP)
    browser_server.request("GET", "/json/version")  # one that nobody asks may stand still
    until(lambda: browser_server.pid not in (old, None) and browser_server.answers())
    until(lambda: "about:blank#one" in urls(browser_server))


def test_the_browser_outlives_a_killed_spawner(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    pid = browser_server.pid
    with browser_server.connect() as client:
        browser_server.spawner.stop(signal.SIGKILL)
        browser_server.spawner.start("--desktop", "desktop")
        assert client.result("Browser.getVersion")
        assert browser_server.pid == pid
        os.kill(pid, signal.SIGKILL)
        assert client.until_closed() == (1001, "the browser ended")
    until(lambda: browser_server.pid not in (pid, None) and browser_server.answers())


def test_a_client_of_a_browser_that_dies_is_told_and_can_come_back(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    client = browser_server.connect()
    client.send("Browser.getVersion")
    os.kill(browser_server.pid, signal.SIGKILL)
    assert client.until_closed() == (1001, "the browser ended")
    with browser_server.connect() as again:
        assert again.result("Browser.getVersion")


def test_its_owner_killed_the_next_one_opens_the_tabs_again(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    open_tabs(browser_server, "about:blank#one")
    until(lambda: "about:blank#one" in RestorableTabs(f"{browser_server.folder}/tabs.json").saved())
    old = browser_server.pid
    browser_server.stop(signal.SIGKILL)
    started(browser_server)
    until(lambda: "about:blank#one" in urls(browser_server))
    until(lambda: not os.path.exists(f"/proc/{old}/exe"))


def test_cookies_without_an_expiry_outlive_a_restart(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    with browser_server.connect() as client:
        client.result("Storage.setCookies", cookies=[{"name": "login", "value": "yes", "url": "https://a.example/"}])
    old = browser_server.pid
    assert browser_server.request("POST", "/browser/restart").status_code == 200
    assert browser_server.pid != old
    with browser_server.connect() as client:
        assert [cookie["name"] for cookie in client.result("Storage.getCookies")["cookies"]] == ["login"]


def test_closing_the_last_tab_leaves_a_tab(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server(homepage="about:blank#home"))
    pid = browser_server.pid
    with browser_server.connect() as client:
        for page in client.pages():
            client.result("Target.closeTarget", targetId=page["targetId"])
        until(lambda: [page["url"] for page in client.pages()] == ["about:blank"])
    assert browser_server.pid == pid


def test_a_lock_that_an_unclean_stop_left_does_not_keep_it_from_starting(make_browser_server: MakeBrowserServer) -> None:
    browser_server = make_browser_server()
    browser_server.profile.mkdir()
    os.chown(browser_server.profile, 991, 991)
    os.symlink("another-host-1", browser_server.profile / "SingletonLock")
    os.symlink("/tmp/gone/SingletonSocket", browser_server.profile / "SingletonSocket")
    started(browser_server)
    assert os.readlink(browser_server.profile / "SingletonLock").endswith(f"-{browser_server.pid}")


@pytest.mark.slow
def test_a_profile_that_it_keeps_dying_of_is_set_aside_and_kept(make_browser_server: MakeBrowserServer) -> None:
    browser_server = make_browser_server()
    program = browser_server.folder / "browser"
    program.write_text(f'#!/bin/sh\n[ -e {browser_server.profile}/poison ] && exit 1\nexec {CHROMIUM} "$@"\n')
    program.chmod(0o755)
    browser_server.settings["executable"] = str(program)
    browser_server.profile.mkdir()
    os.chown(browser_server.profile, 991, 991)
    (browser_server.profile / "poison").write_text("kept")
    browser_server.start()
    until(browser_server.listens)
    until(browser_server.answers)
    aside = list(browser_server.home.glob("chromium.aside-*"))
    assert [(path / "poison").read_text() for path in aside] == ["kept"]
    assert not (browser_server.profile / "poison").exists()


def test_without_a_display_it_says_so_and_leaves_the_profile_alone(make_browser_server: MakeBrowserServer) -> None:
    browser_server = make_browser_server(":7777")
    browser_server.profile.mkdir()
    browser_server.start()
    until(browser_server.listens)
    for _ in range(5):
        response = browser_server.request("GET", "/json/version")
        assert response.status_code == 503
        assert "X7777" in response.json()["message"]
        assert response.headers["Retry-After"]
    assert sorted(os.listdir(browser_server.home)) == ["chromium", "downloads"]


def without_namespaces(make_browser_server: MakeBrowserServer) -> BrowserServer:
    """A browser server on a host that seems to refuse user namespaces."""
    browser_server = make_browser_server()
    refusing = browser_server.folder / "bin"
    refusing.mkdir()
    (refusing / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (refusing / "unshare").chmod(0o755)
    browser_server.spawner.stop()
    browser_server.spawner.environment["PATH"] = f"{refusing}:{browser_server.spawner.environment['PATH']}"
    browser_server.spawner.start("--desktop", "desktop")
    return browser_server


def test_where_the_host_allows_no_namespaces_landlock_and_seccomp_keep_its_processes_apart(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(without_namespaces(make_browser_server))
    assert browser_server.get("/browser")["sandbox"] == "landlock"

    def all_confined() -> bool:  # a filter of their own beside the container's, and nobody of their user looks into them
        found = renderers(browser_server.pid)
        own = int(status(os.getpid()).get("Seccomp_filters", "0"))
        return bool(found) and all(
            int(each["Seccomp_filters"]) == own + 1 and os.stat(f"/proc/{pid}/fd").st_uid == 0 for pid, each in found.items()
        )

    until(all_confined)
    for process in descendants(browser_server.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            assert status(process)["NoNewPrivs"] == "1"
            assert "--no-sandbox" not in command_line(process)


def test_where_the_host_allows_no_sandbox_it_does_not_start_unless_told_so_aloud(make_browser_server: MakeBrowserServer) -> None:
    browser_server = without_namespaces(make_browser_server)
    browser_server.settings["executable"] = "/usr/bin/chromium"  # the helper is not beside it
    browser_server.start()
    until(browser_server.listens)
    response = browser_server.request("GET", "/json/version")
    assert (response.status_code, "BROWSER_NO_SANDBOX" in response.json()["hint"]) == (503, True)
    browser_server.stop()
    del browser_server.settings["executable"]
    browser_server.settings["no_sandbox"] = True
    started(browser_server)
    assert "--no-sandbox" in command_line(browser_server.pid)
    assert browser_server.get("/browser")["sandbox"] is None


def test_lazy_it_starts_when_somebody_first_asks(make_browser_server: MakeBrowserServer) -> None:
    browser_server = make_browser_server(start="lazy")
    browser_server.start()
    until(browser_server.listens)
    assert browser_server.get("/browser")["pid"] is None
    assert not browser_server.profile.exists()
    with browser_server.connect() as client:
        assert client.pages()
    assert browser_server.pid


def test_the_browser_starts_with_the_settings(make_browser_server: MakeBrowserServer) -> None:
    cookies = ({"name": "first", "value": "1", "domain": "a.example", "path": "/"},)
    browser_server = make_browser_server(
        homepage="about:blank#home", language="de-DE,fr", user_agent="Tandem/1", cookies=cookies, extra_arguments=("--window-name=x",)
    )
    started(browser_server)
    with browser_server.connect() as client:
        (page,) = client.pages()
        session = client.attach(page["targetId"])
        assert page["url"] == "about:blank#home"
        assert client.evaluate("[navigator.language, navigator.userAgent, navigator.webdriver]", session) == ["de-DE", "Tandem/1", False]
        assert [cookie["name"] for cookie in client.result("Storage.getCookies")["cookies"]] == ["first"]
    assert "--window-name=x" in command_line(browser_server.pid)


def blocked(browser_server: BrowserServer, address: str) -> bool:
    with browser_server.connect() as client:
        session = client.attach(client.pages()[0]["targetId"])
        return bool(client.result("Page.navigate", session, url=address).get("errorText") == "net::ERR_BLOCKED_BY_ADMINISTRATOR")


def test_its_policies_hold_and_a_restart_changes_them(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server(blocked_urls=("a.example",)))
    assert blocked(browser_server, "http://a.example/")
    assert not blocked(browser_server, "http://b.example/")
    restarted = browser_server.request(
        "POST", "/browser/restart", json={"url_blocklist": ["*"], "url_allowlist": ["a.example"], "locale": "fr-FR"}
    )
    assert restarted.status_code == 200, restarted.text
    assert not blocked(browser_server, "http://a.example/")
    assert blocked(browser_server, "http://b.example/")
    assert "--accept-lang=fr-FR" in command_line(browser_server.pid)


def test_stopping_ends_the_browser(make_browser_server: MakeBrowserServer) -> None:
    browser_server = started(make_browser_server())
    pid = browser_server.pid
    browser_server.stop()
    until(lambda: not os.path.exists(f"/proc/{pid}/exe"))


@pytest.mark.anyio
async def test_a_tab_that_comes_while_the_tabs_are_saved_is_saved_after_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_supervisor, "SAVE_DELAY", 0)
    tabs = RestorableTabs(str(tmp_path / "tabs.json"))
    held, unused = Held(tabs.save), cast(Any, None)
    monkeypatch.setattr(tabs, "save", held)
    async with BrowserSupervisor(unused, tabs, unused, unused, eager=False, homepage="about:blank") as supervisor:
        for number in (1, 2):
            tabs.take("Target.targetCreated", {"targetInfo": {"targetId": f"{number}", "type": "page", "url": f"about:blank#{number}"}})
            supervisor._save_soon()
            await held.begun()
        held.release()
        await eventually(lambda: tabs.saved() == ["about:blank#1", "about:blank#2"])


@pytest.mark.anyio
async def test_tabs_that_cannot_be_saved_are_with_their_next_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_supervisor, "SAVE_DELAY", 0)
    tabs = RestorableTabs(str(tmp_path / "tabs.json"))
    saved, unused = list[int](), cast(Any, None)

    def save(_: list[str]) -> None:
        saved.append(1)
        if len(saved) == 1:
            supervisor._save_soon()  # while it is written
            raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(tabs, "save", save)
    async with BrowserSupervisor(unused, tabs, unused, unused, eager=False, homepage="about:blank") as supervisor:
        supervisor._save_soon()
        await eventually(lambda: len(saved) == 2)
