"""The whole on a real browser: requests and messages are logged, rules hold, over navigations, crashes and restarts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.devtools.interception import RequestRoute, RouteAnswer
from sandbox_server.drivers.devtools.kept_rules import KeptRules
from sandbox_server.drivers.devtools.traffic import Exchange
from tests.drivers.devtools.conftest import Tab
from tests.patience import eventually, until
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio

HELLO = RouteAnswer(200, {"X-Made": "up"}, "héllo".encode(), "text/plain; charset=utf-8")


def of(devtools: Devtools, url: str) -> list[Exchange]:
    return [exchange for exchange in devtools.traffic if exchange.url == url and exchange.ended is not None]


def exactly(devtools: Devtools, url: str) -> list[Exchange]:
    """Those of which the headers on the wire are known, too, which the browser may tell last."""
    return [exchange for exchange in of(devtools, url) if exchange.exact == {"request", "response"}]


async def with_body(devtools: Devtools, url: str) -> Exchange:
    found: list[Exchange] = await eventually(lambda: [exchange for exchange in of(devtools, url) if exchange.body])
    return found[0]


async def go(tab: Tab, url: str) -> None:
    await asyncio.to_thread(tab.go, url)


async def run(tab: Tab, script: str) -> Any:
    return await asyncio.to_thread(tab.run, script)


async def test_requests_are_logged_with_what_went_over_the_wire(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/page")
    assert await run(tab, f"fetch('{site}/post?a=1', {{method: 'POST', body: 'what'}}).then(r => r.text())") == "taken"
    await eventually(lambda: exactly(devtools, f"{site}/post?a=1"))
    page, posted = of(devtools, f"{site}/page")[0], of(devtools, f"{site}/post?a=1")[0]
    assert (page.kind, page.status, page.mime_type, page.page, page.failure) == ("document", 200, "text/html", tab.id, None)
    assert (posted.kind, posted.method, posted.post_data, posted.remote) == ("fetch", "POST", "what", "127.0.0.1")
    assert dict(posted.request_headers)["Host"] == site.removeprefix("http://")
    assert (posted.seconds or -1) >= 0


async def test_answers_that_are_text_are_kept(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/page")
    await run(tab, f"fetch('{site}/echo').then(r => r.text())")
    page, echo = await with_body(devtools, f"{site}/page"), await with_body(devtools, f"{site}/echo")
    assert page.body == "<!doctype html><title>/page</title><p>/page"
    assert "host" in json.loads(echo.body or "")


async def test_each_hop_of_a_redirect_is_a_request_of_its_own(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/redirect")
    await eventually(lambda: exactly(devtools, f"{site}/echo") and exactly(devtools, f"{site}/redirect"))
    hop, end = of(devtools, f"{site}/redirect")[0], of(devtools, f"{site}/echo")[0]
    assert (hop.status, end.status) == (302, 200)
    assert ("Set-Cookie", "hop=1; Path=/; HttpOnly") in hop.response_headers
    assert dict(end.request_headers)["Cookie"] == "hop=1"


async def test_what_fails_says_why(devtools: Devtools, tab: Tab) -> None:
    await go(tab, "http://127.0.0.1:9/")
    failed = (await eventually(lambda: of(devtools, "http://127.0.0.1:9/")))[0]
    assert (failed.status, failed.failure) == (None, "net::ERR_UNSAFE_PORT")


async def test_a_popup_is_seen_from_its_first_request(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/opener")
    opening = f"window.opened = window.open('{site}/popup'); null"
    await asyncio.to_thread(tab.command, "Runtime.evaluate", expression=opening, userGesture=True)
    popup = (await eventually(lambda: of(devtools, f"{site}/popup")))[0]
    assert popup.page != tab.id
    await run(tab, "window.opened?.close()")


async def test_frames_and_workers_of_a_page_are_its_own(devtools: Devtools, tab: Tab, site: str) -> None:
    other = site.replace("127.0.0.1", "localhost")
    await go(tab, f"{site}/frames")
    await run(tab, f"document.body.append(Object.assign(document.createElement('iframe'), {{src: '{other}/inner'}}))")
    worker = f"fetch('{site}/from-a-worker').then(r => r.text()).then(() => postMessage(1), () => postMessage(0))"
    await run(tab, f"new Promise(done => new Worker(URL.createObjectURL(new Blob([`{worker}`]))).onmessage = done).then(e => e.data)")
    for url in (f"{other}/inner", f"{site}/from-a-worker"):
        assert (await eventually(lambda url=url: of(devtools, url)))[0].page == tab.id  # type: ignore[misc, arg-type] # a lambda


async def test_messages_outlive_navigations(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/first")
    await run(tab, "console.warn('careful', 1, {a: [1]}, null, true); setTimeout(() => { throw new Error('lost') })")
    await eventually(lambda: [message for message in devtools.console if message.source == "exception"])
    await go(tab, f"{site}/second")
    warned, thrown = [message for message in devtools.console if message.page == tab.id][:2]
    assert (warned.level, warned.text) == ("warning", "careful 1 {a: Array(1)} null true")
    assert (thrown.level, thrown.text.splitlines()[0]) == ("error", "Error: lost")


async def test_a_crash_ends_what_was_waited_for_and_logs_go_on(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/page")
    await run(tab, f"fetch('{site}/never') && null")
    await eventually(lambda: [each for each in devtools.traffic if each.url == f"{site}/never"])
    tab.post("Page.navigate", url="chrome://crash")
    ended = (await eventually(lambda: of(devtools, f"{site}/never")))[0]
    assert (ended.status, ended.failure) == (None, "the page was closed or crashed")
    tab.post("Page.navigate", url=f"{site}/after")
    assert await eventually(lambda: of(devtools, f"{site}/after"))


async def test_headers_go_with_every_request_until_they_are_replaced(devtools: Devtools, tab: Tab, site: str) -> None:
    devtools.rules.headers = {"X-All": "1"}
    await devtools.apply_rules()
    await go(tab, f"{site}/echo")
    assert json.loads(await run(tab, "document.body.innerText"))["x-all"] == "1"
    devtools.rules.headers = {}
    await devtools.apply_rules()
    await go(tab, f"{site}/echo")
    assert "x-all" not in json.loads(await run(tab, "document.body.innerText"))


async def test_headers_for_an_origin_go_nowhere_else(devtools: Devtools, tab: Tab, site: str) -> None:
    other = site.replace("127.0.0.1", "localhost")
    devtools.rules.scope(site, {"X-Scoped": "1", "User-Agent": "mine"})
    await devtools.apply_rules()
    found = {}
    for origin in (site, other):
        await go(tab, f"{origin}/echo")
        found[origin] = json.loads(await run(tab, "document.body.innerText"))
    assert (found[site]["x-scoped"], found[site]["user-agent"]) == ("1", "mine")
    assert "x-scoped" not in found[other]


async def test_a_route_answers_in_place_of_the_network(devtools: Devtools, tab: Tab, site: str) -> None:
    devtools.rules.add(RequestRoute(Glob("**/made/*"), HELLO))
    await devtools.apply_rules()
    await go(tab, f"{site}/page")
    asked = "fetch('/made/up').then(async r => [r.status, r.headers.get('x-made'), await r.text()])"
    assert await run(tab, asked) == [200, "up", "héllo"]
    assert await run(tab, "fetch('/made/up/deeper').then(r => r.headers.get('x-made'))") is None
    await go(tab, f"{site}/made/page")
    assert await run(tab, "document.body.innerText") == "héllo"


async def test_a_page_of_another_origin_may_read_a_routes_answer(devtools: Devtools, tab: Tab, site: str) -> None:
    devtools.rules.add(RequestRoute(Glob("https://api.example/**"), HELLO))
    await devtools.apply_rules()
    await go(tab, f"{site}/page")
    asked = "fetch('https://api.example/v1', {method: 'PUT', headers: {'X-Custom': '1'}, body: '{}'}).then(r => r.text())"
    assert await run(tab, asked) == "héllo"


async def test_a_route_lets_requests_fail(devtools: Devtools, tab: Tab, site: str) -> None:
    devtools.rules.add(RequestRoute(Glob("**/*.png"), abort=True))
    await devtools.apply_rules()
    await go(tab, f"{site}/page")
    assert await run(tab, "fetch('/a.png').catch(() => 'failed')") == "failed"
    assert (await eventually(lambda: of(devtools, f"{site}/a.png")))[0].failure == "net::ERR_FAILED"


async def test_the_latest_route_holds_and_a_removed_one_does_not(devtools: Devtools, tab: Tab, site: str) -> None:
    devtools.rules.add(RequestRoute(Glob("**/x"), HELLO))
    devtools.rules.add(RequestRoute(Glob(f"{site}/*"), abort=True))
    await devtools.apply_rules()
    await go(tab, "about:blank")
    await go(tab, f"{site}/x")
    assert (await eventually(lambda: of(devtools, f"{site}/x")))[0].failure == "net::ERR_FAILED"
    del devtools.rules.routes[f"{site}/*"]
    await devtools.apply_rules()
    await go(tab, f"{site}/x")
    assert await run(tab, "document.body.innerText") == "héllo"


async def test_requests_go_on_when_who_made_the_rules_ends(shared: Any, tab: Tab, site: str) -> None:
    async with Devtools(shared.socket) as first:
        first.rules.add(RequestRoute(Glob("**/x"), HELLO))
        await first.connection()
        await first.apply_rules()
        await go(tab, f"{site}/x")
        assert await run(tab, "document.body.innerText") == "héllo"
    await go(tab, f"{site}/x")
    assert await run(tab, "document.body.innerText") == "/x"


async def test_rules_hold_for_the_next_server_without_being_asked_for(shared: Any, tab: Tab, site: str, tmp_path: Path) -> None:
    async with Devtools(shared.socket, KeptRules(str(tmp_path / "rules.json"))) as first:
        first.rules.add(RequestRoute(Glob("**/kept"), HELLO))
        await first.apply_rules()
    async with Devtools(shared.socket, KeptRules(str(tmp_path / "rules.json"))) as second:
        await eventually(lambda: second.live)
        await go(tab, f"{site}/kept")
        assert await run(tab, "document.body.innerText") == "héllo"


async def test_two_clients_with_rules_do_not_hold_each_other_up(devtools: Devtools, shared: Any, tab: Tab, site: str) -> None:
    async with Devtools(shared.socket) as second:
        for client, name in ((devtools, "**/first"), (second, "**/second")):
            client.rules.add(RequestRoute(Glob(name), HELLO))
            await client.connection()
            await client.apply_rules()
        for name, text in (("first", "héllo"), ("second", "héllo"), ("third", "/third")):
            await go(tab, f"{site}/{name}")
            assert await run(tab, "document.body.innerText") == text


async def test_contexts_that_clients_made_are_left_to_them(devtools: Devtools, shared: Any, site: str) -> None:
    devtools.rules.add(RequestRoute(Glob(f"{site}/**"), abort=True))
    await devtools.apply_rules()
    with shared.connect() as client:
        context = client.result("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        own = Tab(client, client.result("Target.createTarget", url="about:blank", browserContextId=context)["targetId"])
        await go(own, f"{site}/private")
        assert await run(own, "document.title") == "/private"
    assert of(devtools, f"{site}/private") == []


async def test_without_a_browser_it_says_so(tmp_path: Path) -> None:
    async with Devtools(str(tmp_path / "none.sock")) as devtools:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await devtools.connection()


async def test_logs_and_rules_go_on_with_the_next_browser(make_browser_server: Any, site: str) -> None:
    owner = make_browser_server()
    owner.start()
    await asyncio.to_thread(until, owner.answers)
    async with Devtools(owner.socket) as devtools:
        devtools.rules.add(RequestRoute(Glob("**/x"), HELLO))
        first = await devtools.connection()
        await asyncio.to_thread(owner.request, "POST", "/browser/restart", json={})
        await eventually(first.ended.is_set)
        await eventually(lambda: devtools.live)
        with owner.connect() as client:
            tab = Tab(client, client.result("Target.createTarget", url="about:blank")["targetId"])
            await go(tab, f"{site}/x")
            assert await run(tab, "document.body.innerText") == "héllo"
        await eventually(lambda: of(devtools, f"{site}/x"))


async def test_half_a_surrogate_pair_ends_nothing(devtools: Devtools, tab: Tab, site: str) -> None:
    await go(tab, f"{site}/page")
    connection = await devtools.connection()
    await run(tab, "console.log('half \\ud800'); console.log('whole')")
    await eventually(lambda: [message for message in devtools.console if message.text == "whole"])

    assert "half \ud800" in [message.text for message in devtools.console] or "half \ufffd" in [
        message.text for message in devtools.console
    ]
    assert await devtools.connection() is connection


async def test_what_is_forgotten_is_in_no_log_and_no_rule_of_it_is_kept(devtools: Devtools, tab: Tab, site: str, tmp_path: Path) -> None:
    kept = Devtools(devtools.socket, KeptRules(str(tmp_path / "rules.json")))
    async with kept:
        kept.rules.add(RequestRoute(Glob(f"{site}/made/*"), HELLO))
        await kept.apply_rules()
        await go(tab, f"{site}/page")
        await eventually(lambda: of(kept, f"{site}/page"))
        await kept.forget()
        left = [each.url for each in kept.traffic if each.url != f"{site}/favicon.ico"]  # the browser asks for that later, when it likes
        assert (left, list(kept.console), bool(kept.rules)) == ([], [], False)
    async with Devtools(devtools.socket, KeptRules(str(tmp_path / "rules.json"))) as later:
        assert not later.rules


@pytest.mark.parametrize("first", ["apply_rules", "forget"])
async def test_who_leaves_while_rules_are_kept_lets_nobody_write_beside_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    kept = KeptRules(str(tmp_path / "rules.json"))
    async with Devtools(str(tmp_path / "none.sock"), kept) as devtools:
        devtools.rules.headers = {"X-Agent": "1"}
        held = Held(kept.write)
        monkeypatch.setattr(kept, "write", held)
        leaving = devtools.apply_rules() if first == "apply_rules" else devtools.forget()
        await left_in_the_middle(leaving, devtools.forget(), held)
    assert not kept.read().headers
