"""What the agent can do at its worst to what reads it from outside the box: the door to the display, MCP servers, the stream's UDP port.

One container, with a UDP port and a microphone; after each attack everything goes on.
"""

import array
import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aioice import stun
from websockets.sync.client import ClientConnection
from Xlib import X

from sandbox_server.stream import wire
from tests.image.container import Sandbox
from tests.image.guest import EXTENSIONS
from tests.image.sockets import connect
from tests.image.test_control import Person
from tests.image.test_microphone import is_silence, recorded
from tests.image.test_private import _until_rights
from tests.patience import PATIENCE_SECONDS, until

UDP_PORT = 5004
SERVER = (Path(__file__).parent.parent / "mcp" / "hostile_server.py").read_text("utf-8")
PROGRAM = "/home/gem/hostile_server.py"
PYTHON, NEW_CLIENT = "/opt/venv/bin/python", "from Xlib.display import Display; Display('unix/:99')"
GUEST = (Path(__file__).parent / "guest.py").read_text("utf-8")


@pytest.fixture(scope="module")
def sandbox(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    made = sandbox_with(env={"STREAM_UDP_PORT": str(UDP_PORT), "STREAM_MICROPHONE": "true"})
    for path, content in ((PROGRAM, SERVER), ("/home/gem/guest.py", GUEST)):
        made.request("POST", "/v1/file/write", json={"file": path, "content": content}).raise_for_status()
    return made


@pytest.fixture
def person(sandbox: Sandbox) -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("release")


def goes_on(sandbox: Sandbox) -> bool:
    """Whether the desktop is seen and driven, and a command runs."""
    asked = [
        sandbox.request("GET", "/v1/browser/screenshot"),
        sandbox.request("GET", "/v1/screen/elements"),
        sandbox.request("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 50, "y": 50}),
        sandbox.request("POST", "/v1/bash/exec", json={"command": "true"}),
    ]
    return all(each.status_code == 200 for each in asked)


def pids(sandbox: Sandbox) -> dict[str, str]:
    return {name: sandbox.exec("pgrep", "-o", name).stdout for name in ("Xvfb", "openbox", "chromium")}


@pytest.mark.slow
def test_root_in_the_box_gets_nothing_past_the_door_to_the_display(sandbox: Sandbox) -> None:
    before = pids(sandbox)
    done = sandbox.run("python3", "/home/gem/guest.py", user="root")
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)

    assert {name for name in EXTENSIONS if found[name]} == set()
    assert found["picture"][0] == "error"
    for grabbed in ("keyboard", "pointer"):
        assert found[grabbed] in (["answer", X.GrabInvalidTime], ["error", 10]), "BadAccess"
    assert found["windows"] > 0
    assert found["titles"] == 0
    assert found["stayed"] == 300
    assert sandbox.exec("env", "XAUTHORITY=/run/sandbox-desktop/authority", PYTHON, "-c", NEW_CLIENT, user="control").code == 0
    assert pids(sandbox) == before
    assert goes_on(sandbox)


def add(sandbox: Sandbox, name: str, **config: Any) -> httpx.Response:
    return sandbox.request("PUT", f"/v1/mcp/servers/{name}", json={"command": "python3", "args": [PROGRAM, name]} | config)


def call(sandbox: Sandbox, name: str, timeout: float = 120) -> httpx.Response:
    return sandbox.request("POST", f"/v1/mcp/{name}/tools/fine", json={}, timeout=timeout)


@pytest.mark.parametrize("config", [{"command": ""}, {"command": "x\0"}, {"args": ["\0"]}, {"env": {"": "x"}}, {"cwd": ""}])
def test_a_server_that_no_program_can_be_is_refused_when_it_is_added(sandbox: Sandbox, config: dict[str, Any]) -> None:
    assert add(sandbox, "no", **config).status_code == 400
    assert sandbox.request("GET", "/v1/mcp/no/tools").status_code == 404


@pytest.mark.parametrize("kind", ["deep", "deaf", "asks", "notices", "stderr", "dies", "many"])
@pytest.mark.slow
def test_a_hostile_server_harms_itself_alone(sandbox: Sandbox, kind: str) -> None:
    add(sandbox, kind).raise_for_status()
    try:
        assert call(sandbox, kind).status_code < 500 or kind in ("dies", "many")
        assert sandbox.request("GET", "/v1/mcp/servers", timeout=60).status_code == 200
        assert sandbox.request("GET", "/v1/mcp/sandbox/tools", timeout=60).status_code == 200
        assert goes_on(sandbox)
    finally:
        sandbox.request("DELETE", f"/v1/mcp/servers/{kind}").raise_for_status()


@pytest.mark.parametrize("private", [False, True], ids=["driving", "private"])
def test_while_a_person_has_the_shells_servers_are_neither_added_nor_started_nor_asked(sandbox: Sandbox, private: bool) -> None:
    add(sandbox, "fine").raise_for_status()
    add(sandbox, "ids").raise_for_status()
    assert call(sandbox, "fine").status_code == 200
    until(lambda: sandbox.exec("pgrep", "-f", "hostile_server.py ids").code != 0)  # that of the test before ends in its own time
    person = Person(sandbox)
    person.control("take")
    try:
        if private:
            person.control("private")
        assert add(sandbox, "late").status_code == 423
        assert sandbox.request("DELETE", "/v1/mcp/servers/ids").status_code == 423
        assert call(sandbox, "ids").status_code == 423, "it would have to be started"
        refused = call(sandbox, "fine")
        assert (refused.status_code, refused.json()["data"]["reason"]) == (423, "held_by_human")
        told = mcp(sandbox, "tools/call", name="fine_fine", arguments={})
        assert "has control" in told
        assert "fine_fine" in mcp(sandbox, "tools/list"), "what is known is told"
        assert sandbox.exec("pgrep", "-f", "hostile_server.py ids").code != 0
    finally:
        person.control("release")
    assert call(sandbox, "ids").status_code == 200
    for name in ("fine", "ids"):
        sandbox.request("DELETE", f"/v1/mcp/servers/{name}").raise_for_status()


def test_while_a_person_has_screen_and_pages_alone_servers_are_asked(sandbox: Sandbox, person: Person) -> None:
    add(sandbox, "calm").raise_for_status()
    person.control("take", scope=["gui", "cdp"])
    assert call(sandbox, "calm").status_code == 200
    person.control("release")
    sandbox.request("DELETE", "/v1/mcp/servers/calm").raise_for_status()


def mcp(sandbox: Sandbox, method: str, **params: Any) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return sandbox.request("POST", "/mcp", json=message, headers={"Accept": "application/json, text/event-stream"}).text


def datagrams() -> Iterator[bytes]:
    """What strangers send: noise, questions with wrong passwords, the beginning of DTLS, and as much as fits in one."""
    chance = random.Random(5)
    for size in (0, 1, 20, 100, 1500, 65_000):
        yield chance.randbytes(size)
    for name in ("nobody:x", "", "a" * 500):
        message = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        message.attributes |= {"USERNAME": name, "PRIORITY": 1, "ICE-CONTROLLING": 1}
        message.add_message_integrity(b"wrong" * 6)
        yield bytes(message)
    yield bytes(stun.Message(stun.Method.BINDING, stun.Class.REQUEST))
    yield bytes.fromhex("16feff0000000000000000") + (200).to_bytes(2, "big") + chance.randbytes(200)
    yield b"\x80" + chance.randbytes(1199)


@contextmanager
def watching(sandbox: Sandbox, who: Person) -> Iterator[ClientConnection]:
    stream = f"{sandbox.base_url.replace('http', 'ws')}/stream/socket"
    with connect(stream, additional_headers=who.headers, proxy=None, max_size=None) as opened:
        opened.send(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
        until(lambda: opened.recv(timeout=PATIENCE_SECONDS)[0] == wire.HELLO)
        yield opened


def memory(sandbox: Sandbox) -> int:
    """MiB that the stream's process has in memory."""
    [pid] = sandbox.exec("pgrep", "-f", "sandbox_server strea[m]").stdout.split()
    status = sandbox.exec("cat", f"/proc/{pid}/status").stdout
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) >> 10


def test_strangers_at_the_udp_port_get_no_answer_and_hold_up_nobody(sandbox: Sandbox, person: Person) -> None:
    with watching(sandbox, person) as viewer, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        before = memory(sandbox)
        stranger.connect((socket.gethostbyname(sandbox.name), UDP_PORT))
        for datagram in [*datagrams()] * 300:
            stranger.send(datagram)
        stranger.settimeout(1)
        with pytest.raises(TimeoutError):
            stranger.recv(1 << 16)
        assert memory(sandbox) < before + 64
        viewer.ping().wait(10)
    assert goes_on(sandbox)


def say(viewer: ClientConnection, count: int = 100) -> None:
    """Speak into a microphone that is switched on: packets of Opus, each of noise as loud as it gets."""
    for number in range(count):
        viewer.send(wire.serialize(wire.Spoken(number, b"\x78" + os.urandom(80))))


def test_nobody_but_who_drives_is_heard_by_the_desktops_microphone(sandbox: Sandbox, person: Person) -> None:
    other = Person(sandbox)
    with watching(sandbox, person), watching(sandbox, other) as second:
        for act in ("take", "private"):
            person.control(act)
            say(second, 20_000 if act == "take" else 200)
            heard: array.array[int] = recorded(sandbox)
            say(second)
            assert is_silence(heard)
        person.control("release")
    assert goes_on(sandbox)


def test_a_watcher_sees_nothing_more_once_somebody_is_private(sandbox: Sandbox, person: Person) -> None:
    with watching(sandbox, Person(sandbox, "view")) as viewer:
        person.control("private")
        _until_rights(viewer, wire.HIDDEN)
        sandbox.exec("true")
        person.ask("POST", "/v1/browser/page/navigate", json={"url": "data:text/html,<body bgcolor=red>secret"})
        person.control("public")
        assert set(_until_rights(viewer, 0)) <= {wire.DESKTOP, wire.RIGHTS}


CLICKS = "data:text/html,<body style='height:2000px'><script>n={d:0,t:0};ondblclick=()=>n.d++;onclick=e=>{if(e.detail==3)n.t++}</script>"


def test_forty_of_forty_double_clicks_are_double_clicks(sandbox: Sandbox) -> None:
    sandbox.show(CLICKS)
    for number in range(40):
        place = {"x": 200 + 300 * (number % 2), "y": 300 + 100 * (number % 3)}
        done = {"action_type": "DOUBLE_CLICK"} if number < 20 else {"action_type": "CLICK", "num_clicks": 2}
        sandbox.request("POST", "/v1/browser/actions", json=done | place).raise_for_status()
    assert counted(sandbox, "n.d", 40) == 40
    for number in range(10):
        triple = {"action_type": "CLICK", "num_clicks": 3, "x": 200 + 300 * (number % 2), "y": 300 + 100 * (number % 3)}
        sandbox.request("POST", "/v1/browser/actions", json=triple).raise_for_status()
    assert counted(sandbox, "n.t", 10) == 10


def counted(sandbox: Sandbox, what: str, wanted: int) -> int:
    """A number of the page's, once it is what is wanted."""
    found: list[int] = [0]

    def is_there() -> bool:
        answer = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": what})
        found[0] = int(answer.json()["data"])
        return found[0] >= wanted

    until(is_there, told=lambda: f"{what} is {found[0]}")
    return found[0]
