"""The browser's life: how it starts, and how it comes back."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cdp.tabs import RestorableTabs
from sandbox_server.drivers.stats.system import listening_ports

Owner = Any
MakeOwner = Callable[..., Any]
Until = Callable[..., None]

CHROMIUM = "/usr/lib/chromium/chromium"


def started(owner: Owner, until: Until) -> Owner:
    owner.start()
    until(owner.answers, within=30)
    return owner


def urls(owner: Owner) -> list[str]:
    with owner.connect() as client:
        return [page["url"] for page in client.pages()]


def open_tabs(owner: Owner, *addresses: str) -> None:
    with owner.connect() as client:
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


def test_it_runs_as_the_desktop_user_with_its_sandbox_on(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    own = len(status(owner.pid)["NSpid"].split())

    def all_confined() -> bool:  # one that has just started enters its sandbox in a moment
        found = renderers(owner.pid).values()
        return bool(found) and all(each["Seccomp"] == "2" and len(each["NSpid"].split()) > own for each in found)

    until(all_confined)
    for process in descendants(owner.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            assert status(process)["Uid"].split()[0] == "991"
            assert "--no-sandbox" not in command_line(process)
    assert owner.get("/browser")["sandboxed"] is True


def test_its_devtools_open_no_port(make_owner: MakeOwner, until: Until) -> None:
    before = set(listening_ports())
    owner = started(make_owner(), until)
    assert set(listening_ports()) <= before  # others may close theirs meanwhile
    assert "--remote-debugging-port" not in command_line(owner.pid)


def test_killed_it_is_back_with_its_tabs_in_order(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(homepage="about:blank#home"), until)
    open_tabs(owner, "about:blank#one", "data:text/html,<title>two</title>")
    before = urls(owner)
    old = owner.pid
    os.kill(old, signal.SIGKILL)
    until(lambda: owner.pid not in (old, None) and owner.answers(), within=30)
    assert sorted(urls(owner)) == sorted(before) == sorted(["about:blank#home", "about:blank#one", "data:text/html,<title>two</title>"])


@pytest.mark.slow
def test_killed_again_and_again_it_keeps_its_tabs_and_its_profile(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    open_tabs(owner, "about:blank#one")
    for _ in range(4):
        old = owner.pid
        os.kill(old, signal.SIGKILL)
        until(lambda old=old: owner.pid not in (old, None) and owner.answers(), within=30)
    assert sorted(urls(owner)) == ["about:blank", "about:blank#one"]
    assert os.listdir(owner.home).count("chromium") == 1
    assert not list(owner.home.glob("*.aside-*"))


@pytest.mark.slow
def test_one_that_hangs_is_replaced(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner()
    owner.start(PULSE=0.1, HUNG=10.0)  # a browser on a busy machine does not count as one
    until(owner.answers, within=30)
    open_tabs(owner, "about:blank#one")
    old = owner.pid
    os.kill(old, signal.SIGSTOP)
    owner.request("GET", "/json/version")  # one that nobody asks may stand still
    until(lambda: owner.pid not in (old, None) and owner.answers(), within=30)
    assert "about:blank#one" in urls(owner)


def test_it_outlives_a_spawner_that_is_killed(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    pid = owner.pid
    with owner.connect() as client:
        owner.spawner.stop(signal.SIGKILL)
        owner.spawner.start("--desktop", "desktop")
        assert client.result("Browser.getVersion")
        assert owner.pid == pid
        os.kill(pid, signal.SIGKILL)
        assert client.until_closed() == (1001, "the browser ended")
    until(lambda: owner.pid not in (pid, None) and owner.answers(), within=30)


def test_a_client_of_a_browser_that_dies_is_told_and_can_come_back(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    client = owner.connect()
    client.send("Browser.getVersion")
    os.kill(owner.pid, signal.SIGKILL)
    assert client.until_closed() == (1001, "the browser ended")
    with owner.connect() as again:
        assert again.result("Browser.getVersion")


def test_its_owner_killed_the_next_one_opens_the_tabs_again(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    open_tabs(owner, "about:blank#one")
    until(lambda: "about:blank#one" in RestorableTabs(f"{owner.folder}/tabs.json").saved())
    old = owner.pid
    owner.stop(signal.SIGKILL)
    started(owner, until)
    assert "about:blank#one" in urls(owner)
    until(lambda: not os.path.exists(f"/proc/{old}/exe"))


def test_cookies_without_an_expiry_outlive_a_restart(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    with owner.connect() as client:
        client.result("Storage.setCookies", cookies=[{"name": "login", "value": "yes", "url": "https://a.example/"}])
    old = owner.pid
    assert owner.request("POST", "/browser/restart").status_code == 200
    assert owner.pid != old
    with owner.connect() as client:
        assert [cookie["name"] for cookie in client.result("Storage.getCookies")["cookies"]] == ["login"]


def test_closing_the_last_tab_leaves_a_tab(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(homepage="about:blank#home"), until)
    pid = owner.pid
    with owner.connect() as client:
        for page in client.pages():
            client.result("Target.closeTarget", targetId=page["targetId"])
        until(lambda: [page["url"] for page in client.pages()] == ["about:blank"])
    assert owner.pid == pid


def test_a_lock_that_an_unclean_stop_left_does_not_keep_it_from_starting(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner()
    owner.profile.mkdir()
    os.chown(owner.profile, 991, 991)
    os.symlink("another-host-1", owner.profile / "SingletonLock")
    os.symlink("/tmp/gone/SingletonSocket", owner.profile / "SingletonSocket")
    started(owner, until)
    assert os.readlink(owner.profile / "SingletonLock").endswith(f"-{owner.pid}")


@pytest.mark.slow
def test_a_profile_that_it_keeps_dying_of_is_set_aside_and_kept(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner()
    program = owner.folder / "browser"
    program.write_text(f'#!/bin/sh\n[ -e {owner.profile}/poison ] && exit 1\nexec {CHROMIUM} "$@"\n')
    program.chmod(0o755)
    owner.settings["executable"] = str(program)
    owner.profile.mkdir()
    os.chown(owner.profile, 991, 991)
    (owner.profile / "poison").write_text("kept")
    owner.start()
    until(owner.listens)
    until(owner.answers, within=30)
    aside = list(owner.home.glob("chromium.aside-*"))
    assert [(path / "poison").read_text() for path in aside] == ["kept"]
    assert not (owner.profile / "poison").exists()


def test_without_a_display_it_says_so_and_leaves_the_profile_alone(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner(":7777")
    owner.profile.mkdir()
    owner.start()
    until(owner.listens)
    for _ in range(5):
        response = owner.request("GET", "/json/version")
        assert response.status_code == 503
        assert "X7777" in response.json()["message"]
        assert response.headers["Retry-After"]
    assert sorted(os.listdir(owner.home)) == ["chromium", "downloads"]


def test_where_the_host_allows_no_sandbox_it_does_not_start_unless_told_so_aloud(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner()
    refusing = owner.folder / "bin"
    refusing.mkdir()
    (refusing / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (refusing / "unshare").chmod(0o755)
    owner.spawner.stop()
    owner.spawner.environment["PATH"] = f"{refusing}:{owner.spawner.environment['PATH']}"
    owner.spawner.start("--desktop", "desktop")
    owner.start()
    until(owner.listens)
    response = owner.request("GET", "/json/version")
    assert (response.status_code, "BROWSER_NO_SANDBOX" in response.json()["hint"]) == (503, True)
    owner.stop()
    owner.settings["no_sandbox"] = True
    started(owner, until)
    assert "--no-sandbox" in command_line(owner.pid)
    assert owner.get("/browser")["sandboxed"] is False


def test_lazy_it_starts_when_somebody_first_asks(make_owner: MakeOwner, until: Until) -> None:
    owner = make_owner(start="lazy")
    owner.start()
    until(owner.listens)
    assert owner.get("/browser")["pid"] is None
    assert not owner.profile.exists()
    with owner.connect() as client:
        assert client.pages()
    assert owner.pid


def test_it_starts_as_the_settings_say(make_owner: MakeOwner, until: Until) -> None:
    cookies = ({"name": "first", "value": "1", "domain": "a.example", "path": "/"},)
    owner = make_owner(
        homepage="about:blank#home", language="de-DE,fr", user_agent="Tandem/1", cookies=cookies, extra_arguments=("--window-name=x",)
    )
    started(owner, until)
    with owner.connect() as client:
        (page,) = client.pages()
        session = client.attach(page["targetId"])
        assert page["url"] == "about:blank#home"
        assert client.evaluate("[navigator.language, navigator.userAgent, navigator.webdriver]", session) == ["de-DE", "Tandem/1", False]
        assert [cookie["name"] for cookie in client.result("Storage.getCookies")["cookies"]] == ["first"]
    assert "--window-name=x" in command_line(owner.pid)


def blocked(owner: Owner, address: str) -> bool:
    with owner.connect() as client:
        session = client.attach(client.pages()[0]["targetId"])
        return bool(client.result("Page.navigate", session, url=address).get("errorText") == "net::ERR_BLOCKED_BY_ADMINISTRATOR")


def test_its_policies_hold_and_a_restart_changes_them(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(blocked_urls=("a.example",)), until)
    assert blocked(owner, "http://a.example/")
    assert not blocked(owner, "http://b.example/")
    restarted = owner.request("POST", "/browser/restart", json={"url_blocklist": ["*"], "url_allowlist": ["a.example"], "locale": "fr-FR"})
    assert restarted.status_code == 200, restarted.text
    assert not blocked(owner, "http://a.example/")
    assert blocked(owner, "http://b.example/")
    assert "--accept-lang=fr-FR" in command_line(owner.pid)


def test_stopping_ends_the_browser(make_owner: MakeOwner, until: Until) -> None:
    owner = started(make_owner(), until)
    pid = owner.pid
    owner.stop()
    until(lambda: not os.path.exists(f"/proc/{pid}/exe"))
