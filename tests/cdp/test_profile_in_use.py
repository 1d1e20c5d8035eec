"""The browser on one profile and another, really."""

import fcntl
import json
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_server.cdp.profile_in_use import ProfileInUse
from sandbox_server.drivers.storage.json_file import JsonFile
from tests.patience import PATIENCE_SECONDS, until

BrowserServer = Any
MakeBrowserServer = Callable[..., Any]
COOKIE = {"name": "login", "value": "yes", "domain": "example.org", "path": "/", "expires": 4_000_000_000}


def use(server: BrowserServer, name: str) -> tuple[int, dict[str, Any]]:
    """Ask for a profile; the status and the answer."""
    answer = server.request("PUT", "/browser/profile", content=json.dumps(name))
    return answer.status_code, answer.json()


def cookies(server: BrowserServer) -> list[str]:
    with server.connect() as client:
        return [cookie["name"] for cookie in client.result("Storage.getCookies")["cookies"]]


def make(server: BrowserServer, name: str, version: str | None = None) -> Any:
    """Make an empty profile, as the worker does."""
    folder = server.profiles / name
    (folder / "chromium").mkdir(parents=True)
    (folder / "profile.json").write_text('{"format": 1, "created": 1}')
    if version:
        (folder / "chromium/Last Version").write_text(version)
    for place in (folder, *folder.rglob("*")):
        os.chown(place, 991, 991)
    return folder / "chromium"


@pytest.mark.slow
def test_each_profile_has_its_own_cookies_and_tabs_and_one_process(make_browser_server: MakeBrowserServer) -> None:
    server = make_browser_server(homepage="about:blank#home")
    server.start()
    until(server.answers)
    assert server.get("/browser")["profile"] == "default"
    with server.connect() as client:
        client.result("Storage.setCookies", cookies=[COOKIE])
        client.result("Target.createTarget", url="about:blank#secret")
    folder = make(server, "mail")
    assert use(server, "mail")[0] == 200
    assert server.get("/browser")["profile"] == "mail"
    assert cookies(server) == []
    with server.connect() as client:
        assert [page["url"] for page in client.pages()] == ["about:blank#home"]
    descriptor = os.open(folder, os.O_RDONLY)
    with pytest.raises(BlockingIOError):  # Chromium itself has the lock
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    server.stop()
    until(lambda: lockable(descriptor))
    os.close(descriptor)
    server.start()  # another process that owns the browser finds the same profile in use
    until(server.answers)
    assert server.get("/browser")["profile"] == "mail"
    assert use(server, "default")[0] == 200
    assert cookies(server) == ["login"]


def lockable(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.slow
def test_one_that_cannot_be_used_leaves_the_browser_as_it_was(make_browser_server: MakeBrowserServer) -> None:
    server = make_browser_server()
    server.start()
    until(server.answers)
    old = server.pid
    make(server, "newer", "9999.0.0.0")
    damaged = make(server, "damaged")
    (damaged / "Local State").write_text("{")
    used = os.open(make(server, "used"), os.O_RDONLY)
    fcntl.flock(used, fcntl.LOCK_EX)
    for name, reason in (("newer", "newer_chromium"), ("damaged", "damaged"), ("used", "in_use")):
        status, told = use(server, name)
        assert (status, told["data"]["reason"]) == (409, reason), told
    assert use(server, "missing")[0] == 404
    assert [use(server, name)[0] for name in ("../run", "A", "")] == [400, 400, 400]
    assert (server.pid, server.get("/browser")["profile"]) == (old, "default")
    os.close(used)


@pytest.mark.slow
def test_a_client_whose_token_names_profiles_has_only_theirs(make_browser_server: MakeBrowserServer) -> None:
    server = make_browser_server()
    server.start()
    until(server.answers)
    named = {"X-Sandbox-Caller": "agent", "X-Sandbox-Scopes": "browser", "X-Sandbox-Profiles": "work-*"}
    for path in ("/json/list", "/json/activate/x"):
        assert server.request("GET", path, headers=named).status_code == 403
    assert server.request("PUT", "/json/new?about:blank", headers=named).status_code == 403
    with pytest.raises(Exception, match="403"):
        server.connect(headers=named)
    make(server, "work-1")
    with server.connect(headers=named | {"X-Sandbox-Profiles": "default"}) as client:
        assert use(server, "work-1")[0] == 200
        client.until_closed()
    with server.connect(headers=named) as client:
        assert len(client.pages()) == 1


@pytest.mark.slow
def test_a_tab_is_opened_only_in_a_profile_that_the_token_names(make_browser_server: MakeBrowserServer) -> None:
    server = make_browser_server()
    server.start()
    until(server.answers)
    make(server, "work-1")
    named = {"X-Sandbox-Caller": "agent", "X-Sandbox-Scopes": "browser", "X-Sandbox-Profiles": "default"}
    answers: list[int] = []

    def open_tabs() -> None:
        while answers[-1:] != [403]:
            answers.append(server.request("PUT", "/json/new?about:blank%23intruder", headers=named, timeout=90).status_code)

    opening = threading.Thread(target=open_tabs)
    opening.start()
    until(lambda: 200 in answers)
    assert use(server, "work-1")[0] == 200  # a request that waits for the browser meanwhile finds another profile
    opening.join(PATIENCE_SECONDS)
    assert answers[-1] == 403
    assert [page["url"] for page in server.request("GET", "/json/list").json() if "intruder" in page["url"]] == []


@pytest.mark.slow
def test_it_is_stopped_for_as_long_as_the_api_wants_and_comes_back_with_its_tabs(make_browser_server: MakeBrowserServer) -> None:
    server = make_browser_server(homepage="about:blank#home")
    server.start()
    until(server.answers)
    with server.connect("/browser/halt", headers={"X-Sandbox-Caller": "api", "X-Sandbox-Scopes": "browser server"}) as halting:
        assert halting.receive() == {"halted": "default"}
        assert server.pid is None
        descriptor = os.open(server.profile, os.O_RDONLY)
        assert lockable(descriptor)
        os.close(descriptor)
    until(server.answers)
    with server.connect() as client:
        assert [page["url"] for page in client.pages()] == ["about:blank#home"]
    with pytest.raises(Exception, match="403"):
        server.connect("/browser/halt")


def test_a_name_that_was_not_written_by_us_does_not_count(tmp_path: Any) -> None:
    kept = ProfileInUse(JsonFile(str(tmp_path / "profile.json")), "first")
    assert kept.read() == "first"
    for text in ("{", "7", '"../x"', '"Mail"'):
        (tmp_path / "profile.json").write_text(text)
        assert kept.read() == "first"
    (tmp_path / "profile.json").write_text('"mail"')
    assert kept.read() == "mail"
