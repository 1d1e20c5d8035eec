"""Lanes in a real browser: clients that see their own pages alone, each with cookies of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from websockets.exceptions import InvalidStatus

from sandbox_server.cdp.lanes import MAX_LANES, lane_of
from sandbox_server.core.errors import InvalidArgument, PermissionDenied
from sandbox_server.core.identity import Caller

BrowserServer = Any
Session = Any
ACTS = 100
"""Clicks of each of two lanes at once."""
PAGE = (
    "data:text/html,<title>{0}</title><body style='margin:0'><button style='width:200px;height:200px'>go</button><script>"
    "clicks=0;hidden=0;document.querySelector('button').onclick=()=>clicks++;"
    "document.onvisibilitychange=()=>hidden+=document.hidden</script>"
)


@pytest.fixture
def lanes(shared: BrowserServer) -> Iterator[Callable[[str], Session]]:
    """Make a lane, and return a client in it."""
    made: list[tuple[str, Session]] = []

    def make(name: str) -> Session:
        assert shared.request("PUT", f"/browser/lanes/{name}", content=b'"ann"').status_code == 200
        made.append((name, shared.connect(f"/devtools/browser?lane={name}")))
        return made[-1][1]

    yield make
    for name, client in made:
        client.socket.close()
        shared.request("DELETE", f"/browser/lanes/{name}")


def test_a_client_sees_its_own_lane_alone(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    ann, bob = lanes("ann"), lanes("bob")
    [hers], [his] = ann.pages(), bob.pages()
    with shared.connect() as main:
        assert not {hers["targetId"], his["targetId"]} & {page["targetId"] for page in main.result("Target.getTargets")["targetInfos"]}
        [theirs] = main.pages()
        assert {hers["browserContextId"], his["browserContextId"]}.isdisjoint(main.result("Target.getBrowserContexts")["browserContextIds"])
        for client, target in ((ann, his), (ann, theirs), (bob, hers), (main, hers)):
            for method in ("Target.attachToTarget", "Target.closeTarget", "Target.getTargetInfo", "Browser.getWindowForTarget"):
                assert "No target" in client.command(method, targetId=target["targetId"], flatten=True)["error"]["message"], method
    assert ann.result("Target.getBrowserContexts")["browserContextIds"] == [hers["browserContextId"]]
    assert [tab["page"] for tab in shared.get("/browser/tabs")] == [theirs["targetId"]], "the API's operations are in main"


def test_the_list_of_pages_is_the_lanes_with_addresses_in_it(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    [hers] = lanes("ann").pages()
    [listed] = [each for each in shared.get("/json/list?lane=ann") if each["type"] == "page"]
    assert listed["id"] == hers["targetId"]
    assert listed["webSocketDebuggerUrl"].endswith(f"/devtools/page/{hers['targetId']}?lane=ann")
    assert shared.get("/json/version?lane=ann")["webSocketDebuggerUrl"].endswith("?lane=ann")
    with shared.connect(f"/devtools/page/{hers['targetId']}?lane=ann") as page:
        assert page.evaluate("1 + 1") == 2
        assert [info["targetId"] for info in page.pages()] == [hers["targetId"]], "a page's session lists no more"
    with pytest.raises(InvalidStatus, match="404"):
        shared.connect(f"/devtools/page/{hers['targetId']}")
    assert shared.request("GET", f"/json/close/{hers['targetId']}").status_code == 404
    named = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser", "X-Lane": "ann"}
    opened = shared.request("PUT", "/json/new?about:blank?lane=bob", headers=named).json()
    assert (opened["url"], opened["id"] in [each["id"] for each in shared.get("/json?lane=ann")]) == ("about:blank?lane=bob", True)


def test_cookies_and_what_pages_open_stay_in_the_lane(shared: BrowserServer, site: str, lanes: Callable[[str], Session]) -> None:
    ann, bob = lanes("ann"), lanes("bob")
    ann.result("Storage.setCookies", cookies=[{"name": "who", "value": "ann", "url": site}])
    assert [cookie["value"] for cookie in ann.result("Storage.getCookies")["cookies"]] == ["ann"]
    with shared.connect() as main:
        for client in (bob, main):
            assert client.result("Storage.getCookies")["cookies"] == []
            assert "error" in client.command("Storage.getCookies", browserContextId=ann.pages()[0]["browserContextId"])
    ann.result("Target.setDiscoverTargets", discover=True)
    session = ann.attach(ann.pages()[0]["targetId"])
    ann.result("Runtime.evaluate", session, expression="void open('about:blank#mine')", userGesture=True)
    while ann.event("Target.targetCreated")["targetInfo"]["type"] != "page" or len(ann.pages()) < 2:
        pass
    assert ({page["browserContextId"] for page in ann.pages()}, len(bob.pages())) == ({ann.pages()[0]["browserContextId"]}, 1)


def test_attaching_to_everything_attaches_to_the_lane(lanes: Callable[[str], Session]) -> None:
    ann, bob = lanes("ann"), lanes("bob")
    ann.result("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
    his = bob.result("Target.createTarget", url="about:blank#his")["targetId"]
    assert bob.evaluate("location.href", bob.attach(his)) == "about:blank#his", "it does not wait for ann"
    hers = ann.result("Target.createTarget", url="about:blank#hers")["targetId"]
    attached = [event["params"]["targetInfo"]["targetId"] for event in ann.events if event.get("method") == "Target.attachedToTarget"]
    assert hers in attached
    assert his not in attached


def test_what_is_of_the_whole_browser_is_refused(lanes: Callable[[str], Session]) -> None:
    ann = lanes("ann")
    session = ann.attach(ann.pages()[0]["targetId"])
    for method in (
        "Browser.close",
        "SystemInfo.getInfo",
        "Target.createBrowserContext",
        "Target.attachToBrowserTarget",
        "Tracing.start",
        "Memory.getDOMCounters",
    ):
        for at in (None, session):
            assert "whole browser" in ann.command(method, at)["error"]["message"], method
    assert "whole browser" in ann.command("Security.setIgnoreCertificateErrors", ignore=True)["error"]["message"]
    ann.result("Security.setIgnoreCertificateErrors", session, ignore=True)


def test_a_client_moves_its_own_windows_alone(lanes: Callable[[str], Session]) -> None:
    ann, bob = lanes("ann"), lanes("bob")
    window = ann.result("Browser.getWindowForTarget", targetId=ann.pages()[0]["targetId"])["windowId"]
    assert "not found" in bob.command("Browser.getWindowBounds", windowId=window)["error"]["message"]
    assert ann.result("Browser.getWindowBounds", windowId=window)["bounds"]["width"]


def test_two_lanes_act_at_once_and_nothing_is_lost(lanes: Callable[[str], Session]) -> None:
    clients = {name: lanes(name) for name in ("ann", "bob")}

    def drive(name: str) -> tuple[str, int, int]:
        client = clients[name]
        session = client.attach(client.pages()[0]["targetId"])
        client.result("Page.enable", session)
        client.result("Page.navigate", session, url=PAGE.format(name))
        client.event("Page.loadEventFired")
        for _ in range(ACTS):
            client.result("Input.dispatchMouseEvent", session, type="mouseMoved", x=50, y=50)
            for kind in ("mousePressed", "mouseReleased"):
                client.result("Input.dispatchMouseEvent", session, type=kind, x=50, y=50, button="left", clickCount=1)
        return client.evaluate("document.title", session), client.evaluate("clicks", session), client.evaluate("hidden", session)

    with ThreadPoolExecutor() as threads:
        assert list(threads.map(drive, clients)) == [("ann", ACTS, 0), ("bob", ACTS, 0)]


def test_a_lane_that_is_deleted_ends_with_its_clients(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    ann = lanes("ann")
    [described] = shared.get("/browser/lanes")
    assert {name: described[name] for name in ("name", "created_by", "pages", "clients")} == {
        "name": "ann",
        "created_by": "ann",
        "pages": 1,
        "clients": 1,
    }
    assert shared.request("PUT", "/browser/lanes/ann", content=b'"bob"').status_code == 409
    assert shared.request("DELETE", "/browser/lanes/ann").status_code == 200
    assert "deleted" in ann.until_closed()[1]
    assert shared.get("/browser/lanes") == []
    assert shared.request("DELETE", "/browser/lanes/ann").status_code == 404
    with pytest.raises(InvalidStatus, match="404"):
        shared.connect("/devtools/browser?lane=ann")


def test_there_are_so_many_lanes(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    for number in range(MAX_LANES):
        lanes(f"lane-{number}")
    assert shared.request("PUT", "/browser/lanes/more", content=b'"ann"').status_code == 429


def test_a_browser_that_was_restarted_has_the_lane_empty(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    ann = lanes("ann")
    session = ann.attach(ann.pages()[0]["targetId"])
    ann.evaluate("location.href = 'about:blank#before'", session)
    assert shared.request("POST", "/browser/restart").status_code == 200
    with shared.connect("/devtools/browser?lane=ann") as again:
        assert [page["url"] for page in again.pages()] == ["about:blank"]


def named(query: str, header: str | None = None, **token: Any) -> str | None:
    headers = [] if header is None else [(b"x-lane", header.encode())]
    return lane_of(HTTPConnection({"type": "http", "query_string": query.encode(), "headers": headers}), Caller("mia", **token))


@pytest.mark.parametrize(
    ("query", "header", "lane"),
    [("", None, None), ("lane=ann", None, "ann"), ("lane=main", None, None), ("", "bob", "bob"), ("lane=ann", "bob", "bob")],
)
def test_a_request_names_a_lane(query: str, header: str | None, lane: str | None) -> None:
    assert named(query, header) == lane


@pytest.mark.parametrize("name", ["../ann", "Ann", "a" * 64, "%00", "-"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        named("", name)


def test_a_token_that_names_one_lane_is_in_it_and_in_no_other() -> None:
    assert named("", lanes=("ann",)) == named("lane=ann", lanes=("ann",)) == "ann"
    assert named("lane=test-1", lanes=("ann", "test-*")) == "test-1"
    for query, lanes in (("lane=bob", ("ann",)), ("lane=main", ("ann",)), ("", ("ann", "bob")), ("", ("*",)), ("", ()), ("lane=ann", ())):
        with pytest.raises(PermissionDenied, match="does not name"):
            named(query, lanes=lanes)


def test_a_client_whose_token_names_a_lane_is_in_it_wherever_it_connects(shared: BrowserServer, lanes: Callable[[str], Session]) -> None:
    [hers], [his] = lanes("ann").pages(), lanes("bob").pages()
    token = {"X-Sandbox-Caller": "mia", "X-Sandbox-Scopes": "browser", "X-Sandbox-Lanes": "ann"}
    with shared.connect(headers=token) as client:
        assert [page["targetId"] for page in client.pages()] == [hers["targetId"]]
    listed = [each["id"] for each in shared.request("GET", "/json/list", headers=token).json() if each["type"] == "page"]
    assert listed == [hers["targetId"]]
    for path in ("/devtools/browser?lane=bob", "/devtools/browser?lane=main", f"/devtools/page/{his['targetId']}?lane=bob"):
        with pytest.raises(InvalidStatus, match="403"):
            shared.connect(path, headers=token)
    for path in ("/json/list?lane=bob", "/json/version?lane=main", f"/json/close/{his['targetId']}?lane=bob"):
        assert shared.request("GET", path, headers=token).status_code == 403
    opened = shared.request("PUT", "/json/new?about:blank%23mia", headers=token).json()["id"]
    assert opened in [each["id"] for each in shared.get("/json/list?lane=ann")]
