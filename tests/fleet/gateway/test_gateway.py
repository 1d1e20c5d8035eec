"""The gateway with a real Caddy: what reaches a sandbox, and what its clients get."""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tandem_fleet.sandboxes import Desired, Sandbox, State

from tests.fleet.engines import MemoryBackend
from tests.fleet.gateway.conftest import DOMAIN, Front, fronted
from tests.fleet.gateway.sandbox import EchoSandbox
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
PAGE = {"accept": "text/html", "sec-fetch-mode": "navigate"}


def arrived(answer: httpx2.Response) -> Any:
    """What reached the sandbox, with its headers by name."""
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return told | {"headers": dict(told["headers"])}


async def asleep(front: Front, sandbox: Sandbox, desired: Desired) -> None:
    """Have it sleep."""
    await front.fleet.order("default", sandbox.id, desired)
    await front.fleet.settle(sandbox.id, 60)


def cookies(answer: httpx2.Response) -> str:
    """The `Cookie` header of a browser that got an answer."""
    return "; ".join(one.partition(";")[0] for one in answer.headers.get_list("set-cookie"))


async def signed_in(front: Front, sandbox: Sandbox) -> str:
    """The cookies of a browser that opened a link."""
    answer = await front.get(f"{sandbox.id}.{DOMAIN}", "/?ticket=good", **PAGE)
    assert answer.status_code == 302
    return cookies(answer)


async def test_by_name_a_request_arrives_as_it_was_sent(front: Front) -> None:
    one = await front.sandbox()
    told = arrived(await front.get(f"{one.id}.{DOMAIN}", "/v1/x%20y?a=%2F&b", x_aio_proxy_port="3000", **front.token(one)))
    assert told["uri"] == "/v1/x%20y?a=%2F&b"
    assert told["headers"]["host"] == f"{one.id}.{DOMAIN}"
    assert told["headers"]["authorization"] == front.token(one)["Authorization"] or told["headers"]["authorization"].startswith("Bearer ")
    assert told["headers"]["x-aio-proxy-port"] == "3000"


async def test_by_path_it_arrives_without_the_path_and_without_cookies(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    told = arrived(await front.get("127.0.0.1", f"/s/{one.id}/v1/x%20y?a=%2F&b", cookie="a=b", **front.token(one)))
    assert (told["uri"], "cookie" in told["headers"]) == ("/v1/x%20y?a=%2F&b", False)
    assert arrived(await front.get("127.0.0.1", f"/s/{one.id}", **front.token(one)))["uri"] == "/"
    moved = await front.get("127.0.0.1", f"/s/{one.id}/?ticket=good")
    assert (moved.headers["location"], "set-cookie" in moved.headers) == (f"/s/{one.id}/", False)


async def test_a_port_is_named_before_the_sandbox(front: Front) -> None:
    one = await front.sandbox()
    told = arrived(await front.get(f"3000-{one.id}.{DOMAIN}", **front.token(one)))
    assert told["headers"]["host"] == f"3000-{one.id}.{DOMAIN}"


async def test_a_body_arrives_whole_and_is_not_shown_to_the_fleet(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    answer = await front.post(f"{one.id}.{DOMAIN}", "/", b"x" * 3_000_000, **front.token(one))
    assert (answer.json()["verb"], echo.bodies) == ("POST", [3_000_000])


async def test_a_socket_is_upgraded_and_stays(front: Front) -> None:
    one = await front.sandbox()
    for host, uri in ((f"{one.id}.{DOMAIN}", "/ws"), ("127.0.0.1", f"/s/{one.id}/ws")):
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        token = front.token(one)["Authorization"]
        writer.write(
            f"GET {uri} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: x\r\nAuthorization: {token}\r\n\r\n".encode()
        )
        async with asyncio.timeout(30):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
        writer.close()
        await writer.wait_closed()


async def test_events_arrive_as_they_are_sent(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    address = f"http://127.0.0.1:{front.port}/events"
    async with front.http.stream("GET", address, headers={"Host": f"{one.id}.{DOMAIN}"} | front.token(one)) as answer, asyncio.timeout(30):
        lines = answer.aiter_lines()
        assert await anext(lines) == "data: 0"  # nothing more is sent before it came
        echo.next_event.set()
        assert [line async for line in lines if line] == ["data: 1", "data: 2"]


@pytest.mark.parametrize("desired", [Desired.PAUSED, Desired.STOPPED])
async def test_a_request_wakes_and_of_many_one(front: Front, engine: MemoryBackend, desired: Desired) -> None:
    one = await front.sandbox()
    await asleep(front, one, desired)
    engine.calls.clear()
    answers = await asyncio.gather(*(front.get(f"{one.id}.{DOMAIN}", f"/{number}", **front.token(one)) for number in range(20)))
    assert [arrived(answer)["uri"] for answer in answers] == [f"/{number}" for number in range(20)]
    assert engine.calls.count(f"start {one.id}") == 1


async def test_a_browser_that_was_signed_in_wakes_by_opening_a_page_and_not_by_what_the_page_does(front: Front) -> None:
    one = await front.sandbox()
    cookie = await signed_in(front, one)
    assert "sandbox_session=mine" in cookie
    host = f"{one.id}.{DOMAIN}"
    assert arrived(await front.get(host, cookie=cookie))["headers"]["cookie"] == "sandbox_session=mine"
    await asleep(front, one, Desired.PAUSED)
    for mode in ("cors", "websocket", "no-cors"):
        refused = await front.get(host, "/v1/x", cookie=cookie, sec_fetch_mode=mode)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_ready")
    assert (await front.fleet.get(one.id)).state == State.PAUSED
    assert arrived(await front.get(host, "/view", cookie=cookie, **PAGE))["uri"] == "/view"
    assert (await front.fleet.get(one.id)).state == State.READY


async def test_what_the_sandbox_alone_can_judge_wakes_nothing(front: Front, engine: MemoryBackend) -> None:
    one = await front.sandbox()
    await asleep(front, one, Desired.STOPPED)
    engine.calls.clear()
    for uri, headers in (("/?ticket=good", {}), ("/", {"authorization": "Bearer tandem_key"}), ("/", {"cookie": "sandbox_session=x"})):
        assert (await front.get(f"{one.id}.{DOMAIN}", uri, **headers)).status_code == 401
    assert not any(call.startswith("start") for call in engine.calls)


async def test_who_waits_too_long_is_told_to_try_again(front: Front, engine: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await front.sandbox()
    await asleep(front, one, Desired.STOPPED)
    engine.address = "http://127.0.0.1:9"  # it starts, and does not become ready
    host, cookie = f"{one.id}.{DOMAIN}", f"tandem_gateway={await wake_cookie(front, one)}"
    page = await front.get(host, "/view", cookie=cookie, **PAGE)
    assert (page.status_code, page.headers["retry-after"], "work is waking up" in page.text) == (503, "1", True)
    state = await front.get(host, "/.well-known/tandem/state?seen=stopped", cookie=cookie)
    assert state.json() == {"state": "starting"}
    from tandem_fleet.gateway import waking

    monkeypatch.setattr(waking.Waking, "wake", lambda self, sandbox, _: self.find(sandbox.id))  # its bound is over
    program = await front.get(host, **front.token(one))
    assert (program.status_code, program.headers["retry-after"], program.json()["error"]["code"]) == (503, "1", "not_ready")


async def wake_cookie(front: Front, sandbox: Sandbox) -> str:
    """What the gateway's cookie holds."""
    from tandem_fleet.gateway.credentials import Credentials

    return Credentials(front.fleet.key, secure=False).new_cookie(sandbox.id).partition("=")[2].partition(";")[0]


async def has_failed(front: Front, sandbox: Sandbox) -> bool:
    """Whether the fleet has seen that it is gone."""
    return (await front.fleet.get(sandbox.id)).state == State.FAILED


async def test_one_that_failed_says_why(front: Front, engine: MemoryBackend) -> None:
    one = await front.sandbox()
    engine.become(one.id, None)
    await eventually(functools.partial(has_failed, front, one))
    refused = await front.get(f"{one.id}.{DOMAIN}", **front.token(one))
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "sandbox_failed")


async def test_caddy_is_started_again_and_clients_wait(front: Front) -> None:
    one = await front.sandbox()
    assert front.caddy.process is not None
    first = front.caddy.process.pid
    front.caddy.process.kill()
    assert arrived(await front.get(f"{one.id}.{DOMAIN}", **front.token(one)))["uri"] == "/"
    assert front.caddy.process.pid != first


async def test_what_a_sandbox_does_not_answer_is_said(front: Front) -> None:
    one = await front.sandbox()
    refused = await front.post(f"{one.id}.{DOMAIN}", "/dropped", b"x", **front.token(one))
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "unreachable")


async def test_behind_a_proxy_it_is_known_who_calls_and_that_it_was_encrypted(engine: MemoryBackend, tmp_path: Path, program: str) -> None:
    variables = {"TANDEM_GATEWAY_DOMAIN": DOMAIN, "TANDEM_GATEWAY_URL": f"https://{DOMAIN}", "TANDEM_GATEWAY_PROXIES": "127.0.0.1"}
    async with fronted(engine, tmp_path, variables) as front:
        one = await front.sandbox()
        told = arrived(await front.get(f"{one.id}.{DOMAIN}", x_forwarded_for="192.0.2.7", x_forwarded_proto="http", **front.token(one)))
        assert told["headers"]["x-forwarded-for"].split(", ")[0] == "192.0.2.7"
        assert told["headers"]["x-forwarded-proto"] == "https"
        answer = await front.get(f"{one.id}.{DOMAIN}", "/?ticket=good", **PAGE)
        assert "__Host-tandem_gateway=" in cookies(answer)


async def test_the_variables_of_the_address_reach_a_sandbox(front: Front) -> None:
    one = await front.sandbox()
    assert front.fleet._order(one).environment == {"PREVIEW_DOMAIN": f"{one.id}.{DOMAIN}"}


async def test_the_configuration_and_the_socket_are_this_users_alone(front: Front, tmp_path: Any) -> None:
    folder = tmp_path / "gateway"
    assert [folder.joinpath(name).stat().st_mode & 0o077 for name in ("caddy.json", "fleet.sock", ".")] == [0, 0, 0]
    assert json.loads(folder.joinpath("caddy.json").read_text())["admin"]["disabled"]
