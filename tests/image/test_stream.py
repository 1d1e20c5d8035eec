"""The desktop as a stream, from outside: the screen bit for bit, who may act, who may not, and parts that die."""

import asyncio
import base64
import io
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidStatus

from sandbox_server.stream import wire
from sandbox_server.stream.client import StreamClient, connect
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.input.input_echo import LEFT, RIGHT, TYPED
from tests.image.firefox import firefox
from tests.image.test_control import return_control
from tests.image.test_vnc import pointer, signed_in
from tests.patience import eventually, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.image.container import Sandbox

pytestmark = pytest.mark.anyio
EXACT_SECONDS = 120.0
"""To decode and compare a large screen takes a busy machine long, each time."""


@pytest.fixture(scope="module")
def own(sandbox_with: "Callable[..., Sandbox]") -> "Sandbox":
    """A container that these tests may shake."""
    return sandbox_with(env={"STREAM_UDP_PORT": "8443"})


@pytest.fixture(autouse=True)
def given_back(own: "Sandbox") -> "Iterator[None]":
    """Give control back to the agent after a test that failed while a person held it."""
    yield
    return_control(own)


@pytest.fixture(scope="module")
def viewer(sandbox_with: "Callable[..., Sandbox]") -> "Sandbox":
    """A container whose browser looks at `own`. Datagrams leave no box that has a network policy."""
    return sandbox_with(env={"EGRESS": "false"})


def viewing(
    sandbox: "Sandbox", headers: dict[str, str] | None = None, *, datagrams: bool = False, before: ReferenceDecoder | None = None
) -> "AbstractAsyncContextManager[StreamClient]":
    address = f"{sandbox.base_url.replace('http', 'ws')}/stream/socket"
    return connect(address, headers or sandbox.headers, videos=False, datagrams=datagrams, before=before)


def screenshot(sandbox: "Sandbox") -> bytes:
    """Return the pixels of the screen; none while the desktop comes up."""
    answer = sandbox.request("GET", "/v1/browser/screenshot?cursor=false&format=png")
    if answer.status_code == 503:
        return b""
    return Image.open(io.BytesIO(answer.content)).convert("RGB").tobytes()


def go(sandbox: "Sandbox", page: str) -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"data:text/html,{page}"})


async def until_shown(sandbox: "Sandbox", desktop: StreamClient) -> None:
    """Wait until what is seen is the screen, bit for bit, on a screen that has come to rest."""
    async with asyncio.timeout(EXACT_SECONDS):
        while desktop.image().tobytes() != await asyncio.to_thread(screenshot, sandbox):
            await desktop.still(0.2)


async def test_what_is_seen_is_the_screen_bit_for_bit(own: "Sandbox") -> None:
    async with viewing(own) as desktop:
        await desktop.still()
        go(own, "<h1>Bit for bit</h1><div style='height:400px;background:linear-gradient(45deg,red,gold,teal)'></div>")
        await until_shown(own, desktop)
        async with viewing(own) as late:
            await until_shown(own, late)


async def test_by_datagrams_too_what_is_seen_is_the_screen_bit_for_bit_and_input_arrives_once(own: "Sandbox") -> None:
    async with viewing(own, datagrams=True) as desktop:
        await eventually(lambda: desktop.by_datagrams)
        seen = desktop.frames
        go(own, "<h1>By datagrams</h1><div style='height:400px;background:linear-gradient(45deg,navy,white,teal)'></div>")
        await eventually(lambda: desktop.frames > seen)
        await until_shown(own, desktop)
        await desktop.send(wire.PointerInput(77, 88, 0))
        await asyncio.to_thread(until, lambda: pointer(own) == (77, 88))


PURPLE = (123, 17, 201)
STATISTICS = "document.querySelector('tandem-view').shadowRoot.querySelector('pre').textContent"


async def test_a_browser_sees_it_by_datagrams_on_a_page_that_is_not_secure(own: "Sandbox", viewer: "Sandbox") -> None:
    """The browser of another sandbox; such a page has no WebCodecs, and shows no video but everything else."""
    await asyncio.to_thread(go, own, "<body style='background:rgb(123,17,201)'>")
    ticket = own.request("POST", "/tickets", json={}).json()["ticket"]
    assert own.base_url.startswith("http:")
    viewer.request("POST", "/v1/browser/page/navigate", json={"url": f"{own.base_url}/stream/?ticket={ticket}"})
    await asyncio.to_thread(until, lambda: "over UDP" in evaluated(viewer, STATISTICS))
    assert evaluated(viewer, "isSecureContext + ' ' + typeof VideoDecoder") == "false undefined"
    await asyncio.to_thread(until, lambda: "not encrypted" in evaluated(viewer, "document.querySelector('#missing').textContent"))
    await asyncio.to_thread(until, lambda: screenshot(viewer).count(bytes(PURPLE)) > 100_000)
    viewer.request("POST", "/v1/browser/page/navigate", json={"url": f"{own.base_url}/stream/?transport=websocket"})
    await asyncio.to_thread(until, lambda: "over a WebSocket" in evaluated(viewer, STATISTICS))
    await asyncio.to_thread(until, lambda: screenshot(viewer).count(bytes(PURPLE)) > 100_000)
    viewer.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"})


VIDEO = """<body style="margin:0;background:rgb(123,17,201)"><canvas id=video width=384 height=288></canvas><script>
const drawn = video.getContext("2d");
setInterval(() => { for (let at = 0; at < 432; at++) {
  drawn.fillStyle = `hsl(${Math.random() * 360} 80%25 50%25)`;
  drawn.fillRect(at %25 24 * 16, Math.floor(at / 24) * 16, 16, 16); } }, 40);
</script>"""
SEEN = "(({ opacity, width }) => `${opacity} ${width}`)(document.querySelector('tandem-view').video.element.style)"
VIDEO_FRAMES = "document.querySelector('tandem-view').videoFrames"


@pytest.mark.slow
async def test_a_page_that_is_not_secure_is_shown_a_video_as_a_track_and_the_exact_picture_after_it(
    own: "Sandbox", viewer: "Sandbox"
) -> None:
    ticket = own.request("POST", "/tickets", json={}).json()["ticket"]
    viewer.request("POST", "/v1/browser/page/navigate", json={"url": f"{own.base_url}/stream/?ticket={ticket}"})
    await asyncio.to_thread(until, lambda: "over UDP" in evaluated(viewer, STATISTICS))
    await asyncio.to_thread(go, own, VIDEO)
    await asyncio.to_thread(until, lambda: int(evaluated(viewer, VIDEO_FRAMES)) > 20)
    await asyncio.to_thread(until, lambda: evaluated(viewer, SEEN) == "1 30%")
    await asyncio.to_thread(go, own, "<body style='background:rgb(123,17,201)'>")
    await asyncio.to_thread(until, lambda: evaluated(viewer, SEEN).startswith("0 "))
    await asyncio.to_thread(until, lambda: purple(viewer) > 600_000)
    viewer.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"})


def purple(sandbox: "Sandbox") -> int:
    """How many pixels of the page in front are exactly purple."""
    return screenshot(sandbox).count(bytes(PURPLE))


def evaluated(sandbox: "Sandbox", expression: str) -> str:
    return str(sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": expression}).json()["data"])


VIEW = "document.querySelector('tandem-view')"
LISTENS = f"({VIEW}.addEventListener('statistics', (event) => globalThis.told = event.detail), {VIEW}.toggleAttribute('codec-map'))"
IS_VIDEO = f"""(([, map]) => (([red, green, , opaque]) => red > 150 && green < 120 && opaque > 20)(
    map.getContext('2d').getImageData(192, 300, 1, 1).data))({VIEW}.shadowRoot.querySelectorAll('canvas'))"""
PICTURE = f"""(({{ canvas }}) => {{
    const copy = Object.assign(document.createElement('canvas'), {{ width: canvas.width, height: canvas.height }});
    copy.getContext('2d').drawImage(canvas, 0, 0);
    return copy.toDataURL().split(',')[1];
}})({VIEW})"""
PLACE = f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])({VIEW}.canvas.getBoundingClientRect())"
FIELD = "<title>-</title><textarea style='position:fixed;inset:0;background:rgb(123,17,201)' oninput='document.title=value'></textarea>"


@pytest.mark.slow
def test_firefox_shows_the_desktop_bit_for_bit_and_a_video_by_datagrams_and_a_person_acts_there(own: "Sandbox", tmp_path: "Path") -> None:
    """On an origin that is secure to it, at a name, with codecs that Debian has for it."""
    go(own, VIDEO)
    with firefox(tmp_path, own.name) as page:
        ticket = own.request("POST", "/tickets", json={}).json()["ticket"]  # good for a minute, which Firefox may take to start
        page.go(f"{own.base_url}/view?lang=en&ticket={ticket}")
        page.until("document.querySelector('main').dataset.picture === 'connected'")
        page.evaluate(LISTENS)
        page.until("globalThis.told?.datagrams")
        page.until(IS_VIDEO)
        assert page.evaluate("[isSecureContext, document.querySelector('#missing').hidden]") == [True, True]
        go(own, FIELD)
        until(lambda: Image.open(io.BytesIO(base64.b64decode(page.evaluate(PICTURE)))).convert("RGB").tobytes() == screenshot(own))
        page.click(*page.evaluate(PLACE))
        page.until("document.querySelector('#driver').textContent === 'You drive'")
        page.type("Firefox")
        until(lambda: "Firefox" in own.request("GET", "/v1/browser/tabs").text)
        page.evaluate("document.querySelector('#actions button').click()")
        page.until("document.querySelector('#driver').textContent === 'The agent drives'")


async def test_who_holds_control_acts_and_who_only_looks_does_not(own: "Sandbox") -> None:
    watcher = signed_in(own, scopes=["view"])
    async with viewing(own) as person, viewing(own, watcher) as looking:
        await eventually(lambda: person.picture.rights & wire.DRIVES)
        await eventually(lambda: looking.picture.frame)
        assert looking.picture.rights == 0
        await person.send(wire.PointerInput(111, 122, 0))
        await asyncio.to_thread(until, lambda: pointer(own) == (111, 122))
        await looking.send(wire.PointerInput(333, 344, 0))
        await looking.send(wire.Ping(1))
        await person.send(wire.PointerInput(211, 222, 0))
        await asyncio.to_thread(until, lambda: pointer(own) == (211, 222))


async def test_nobody_is_let_in_without_the_scope_to_look(own: "Sandbox") -> None:
    with pytest.raises(InvalidStatus, match="401"):
        async with viewing(own, {"Origin": own.base_url}):
            pass


async def test_the_page_and_what_it_loads_are_there(own: "Sandbox") -> None:
    assert "tandem-view" in own.request("GET", "/stream/").text
    for path in ("stream/worker.js", "stream/decoders/exact.js", "vendor/fzstd.mjs"):
        assert own.request("GET", f"/static/{path}").status_code == 200


async def test_who_loses_the_connection_goes_on_with_what_it_has(own: "Sandbox") -> None:
    go(own, "<div style='height:700px;background:conic-gradient(red,gold,teal,navy,red)'></div>")
    async with viewing(own) as desktop:
        await desktop.still()
        await until_shown(own, desktop)
        whole, session = desktop.received, desktop.picture.session
    async with viewing(own, before=desktop.picture) as again:
        await eventually(lambda: again.picture.session != session)
        await until_shown(own, again)
        assert again.received < whole / 4


async def stops(desktop: StreamClient) -> None:
    """Wait until the desktop is told to be gone."""
    await eventually(lambda: not desktop.picture.running)


async def test_a_desktop_that_dies_comes_back_to_the_same_viewers_by_either_way(own: "Sandbox") -> None:
    async with viewing(own) as one, viewing(own, datagrams=True) as other:
        await eventually(lambda: other.by_datagrams)
        await one.still()
        servers = own.exec("pgrep", "-x", "Xvfb").stdout.split()
        stopped = asyncio.gather(*(stops(desktop) for desktop in (one, other)))
        killed = await asyncio.to_thread(own.exec, "kill", "-KILL", *servers)  # who watches is told meanwhile
        assert killed.code == 0
        await stopped
        for desktop in (one, other):
            await eventually(lambda desktop=desktop: desktop.picture.running)  # type: ignore[misc] # one for each
        await asyncio.to_thread(own.wait_ready)
        for desktop in (one, other):
            await until_shown(own, desktop)


async def test_every_size_is_followed_by_either_way_and_shown_bit_for_bit(own: "Sandbox") -> None:
    go(own, "<h1>Sizes</h1><div style='height:300px;background:linear-gradient(45deg,red,gold,teal)'></div>")
    async with viewing(own) as one, viewing(own, datagrams=True) as other:
        await eventually(lambda: other.by_datagrams)
        for size in ((3840, 2160), (1001, 703), (1280, 1024)):
            wanted = {"resolution": {"width": size[0], "height": size[1]}}
            await asyncio.to_thread(own.request, "POST", "/v1/browser/config", json=wanted)
            for desktop in (one, other):
                await eventually(lambda desktop=desktop, size=size: (desktop.picture.canvas.width, desktop.picture.canvas.height) == size)  # type: ignore[misc] # one for each
                await until_shown(own, desktop)


async def test_a_person_who_watches_is_shown_what_the_agent_does(own: "Sandbox") -> None:
    async with viewing(own, signed_in(own, scopes=["view"])) as person:
        await eventually(lambda: person.picture.pointer is not None)
        go(own, "<body oncontextmenu='return false'>")  # a menu that is slow to open would take the clicks that come after
        for action in (
            {"action_type": "MOVE_TO", "x": 400, "y": 500},
            {"action_type": "RIGHT_CLICK"},
            {"action_type": "TYPING", "text": "hunter2"},
        ):
            await asyncio.to_thread(own.request, "POST", "/v1/browser/actions", json=action)
            if action["action_type"] == "MOVE_TO":
                await eventually(lambda: person.picture.pointer == (400, 500))
        await eventually(lambda: len(person.picture.echoes) >= 2)
        clicked, typed = list(person.picture.echoes)[:2]
        assert ((clicked.what, clicked.at), (typed.what, typed.keys)) == ((RIGHT, (400, 500)), (TYPED, ""))
        go(own, "<button style='position:fixed;left:100px;top:100px'>here</button>")

        async def is_told() -> bool:  # nothing is told of a page that is slow to say where it is
            await asyncio.to_thread(own.request, "POST", "/v1/browser/page/click", json={"selector": "button"})
            with suppress(TimeoutError):
                await person.until(lambda picture: any(act.what == LEFT for act in picture.echoes), timeout=2)
            return any(act.what == LEFT for act in person.picture.echoes)

        await eventually(is_told)


async def test_the_process_that_dies_comes_back(own: "Sandbox") -> None:
    async with viewing(own) as desktop:
        await desktop.still(0.2)
        pid = own.exec("pgrep", "-f", "sandbox_server stream").stdout.split()[0]
        assert own.exec("kill", "-KILL", pid).code == 0

    async def is_shown() -> bool:
        with suppress(InvalidStatus, ConnectionClosed, OSError):
            async with viewing(own) as again:
                await eventually(lambda: again.picture.frame)
                return True
        return False

    await eventually(is_shown)


async def test_a_persons_first_click_takes_control_and_the_agent_is_refused(own: "Sandbox") -> None:
    person = signed_in(own)
    async with viewing(own, person) as desktop:
        await eventually(lambda: desktop.picture.rights == wire.MAY_ACT)
        await desktop.send(wire.PointerInput(40, 50, 0))
        await desktop.send(wire.PointerInput(40, 50, 1))
        await eventually(lambda: desktop.picture.rights == wire.MAY_ACT | wire.DRIVES)
        await desktop.send(wire.PointerInput(60, 70, 0))
        await asyncio.to_thread(until, lambda: pointer(own) == (60, 70))
        refused = own.request("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 1, "y": 1})
        assert refused.status_code == 423
        assert own.request("GET", "/v1/control").json()["data"]["state"] == "human"
        http = {"Cookie": person["Cookie"], "Origin": own.base_url}
        assert own.http.post(f"{own.base_url}/v1/control/release", headers=http).status_code == 200
        await eventually(lambda: desktop.picture.rights == wire.MAY_ACT)
