"""Editors over a real spawner; a program that listens stands for one."""

import json
import socket
import sys
from contextlib import suppress

import anyio
import pytest

from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.editors import FRONT, EditorProgram, Editors, code_server, jupyterlab
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.spawn.process import Processes
from tests.patience import eventually

pytestmark = pytest.mark.anyio

SERVE = "import sys; from http.server import *; HTTPServer(('127.0.0.1', int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def editor(*argv: str, needs: str = "/bin/sh") -> EditorProgram:
    port = free_port()
    return EditorProgram("one", "One", port, needs, [*(argv or ("python3", "-c", SERVE)), str(port)], "ONE=1")


async def test_an_editor_answers_once_it_is_started_and_is_gone_once_it_is_stopped(processes: Processes) -> None:
    one = editor()
    async with Editors(processes, [one], Ports((), ())) as editors:
        with anyio.fail_after(60):
            assert not editors.runs(one)
            assert await editors.start("one") is await editors.start("one") is one
            stream = await anyio.connect_tcp("127.0.0.1", one.port)
            await stream.aclose()
            assert editors.runs(one)
            await editors.stop("one")
        assert not editors.runs(one)
        with pytest.raises(OSError, match="failed"):
            await anyio.connect_tcp("127.0.0.1", one.port)


async def test_an_editor_missing_from_the_image_says_how_to_add_it(processes: Processes) -> None:
    async with Editors(processes, [editor(needs="/no/such")], Ports((), ())) as editors:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="not in this image") as refusal:
            await editors.start("one")
    assert refusal.value.hint == "build one that has it: ONE=1 scripts/build"


async def test_an_editor_that_exits_at_its_start_reports_its_output(processes: Processes) -> None:
    async with Editors(processes, [editor("sh", "-c", "echo no licence; exit 3")], Ports((), ())) as editors:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="no licence"):
            await editors.start("one")


async def test_a_disabled_or_unknown_editor_is_not_found(processes: Processes) -> None:
    async with Editors(processes, [], Ports((), ())) as editors:
        with pytest.raises(NotFound, match="jupyter"):
            await editors.start("jupyter")


def test_each_has_a_place_of_its_own_and_ends_when_it_is_idle() -> None:
    lab, code = jupyterlab(8888, "/kernels", "/home/gem", 900), code_server(8200, "/home/gem", 900)

    assert (lab.path, code.path) == ("/jupyter/", "/code-server/")
    assert "--ServerApp.shutdown_no_activity_timeout=900" in lab.argv
    assert (code.environment["EDITOR_FRONT"], FRONT in code.argv) == ("8200 900", True)
    assert json.loads(code.environment["EDITOR_SETTINGS"])["chat.disableAIFeatures"] is True
    assert (lab.preview, code.preview) == ("/proxy/8888/jupyter/", "/proxy/8200/")
    assert lab.port != code.port
    assert sys.executable not in (lab.argv[0], code.argv[0])


LISTEN = """
const { createServer } = require("node:http");
const server = createServer((_, answer) => answer.end("welcome"));
server.on("upgrade", (_, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\nConnection: upgrade\\r\\n\\r\\n");
  socket.on("end", () => socket.end()).resume();
  setTimeout(() => socket.write("later"), 4500);
});
server.listen(Number(process.argv[1]), "127.0.0.1");
createServer((_, answer) => answer.end("an extension")).listen(Number(process.argv[2]), "127.0.0.1");
"""


def fronted(idle_seconds: int, other: int) -> EditorProgram:
    """A server behind the front, and another one in its process."""
    port = free_port()
    argv = ["node", "--require", FRONT, "-e", LISTEN, str(port), str(other)]
    return EditorProgram("one", "One", port, "/bin/sh", argv, "ONE=1", environment={"EDITOR_FRONT": f"{port} {idle_seconds}"})


async def answered(port: int, host: str, *headers: str) -> bytes:
    """The first of what a server answers to a name."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send("\r\n".join(["GET / HTTP/1.1", f"Host: {host}", *(headers or ["Connection: close"]), "", ""]).encode())
        received = b""
        with suppress(anyio.EndOfStream):
            while True:
                received += await stream.receive()
        return received


async def test_a_page_that_made_up_a_name_is_refused_whatever_it_asks_for(processes: Processes) -> None:
    one = fronted(600, other := free_port())
    upgrade = ("Connection: upgrade", "Upgrade: websocket")
    async with Editors(processes, [one], Ports((), ())) as editors:
        with anyio.fail_after(60):
            await editors.start("one")
            own = [await answered(one.port, name) for name in (f"localhost:{one.port}", "localhost", "127.0.0.1:1")]
            foreign = [await answered(one.port, "evil.example", *more) for more in ((), upgrade)]
            foreign.append(await answered(one.port, "localhost.evil.example"))
            beside = await answered(other, "evil.example")

    assert [b"welcome" in said for said in own] == [True] * 3
    assert [said.split(b" ")[1] for said in foreign] == [b"403"] * 3
    assert not any(b"welcome" in said for said in foreign)
    assert b"an extension" in beside


async def test_an_idle_editor_ends_unless_a_client_is_connected(processes: Processes) -> None:
    one = fronted(3, free_port())
    async with Editors(processes, [one], Ports((), ())) as editors:
        with anyio.fail_after(60):
            await editors.start("one")
            async with await anyio.connect_tcp("127.0.0.1", one.port) as stream:
                await stream.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
                assert b" 101 " in await stream.receive()
                assert await stream.receive() == b"later"  # than it would have ended
            await eventually(lambda: not editors.runs(one))


@pytest.mark.parametrize(("had", "has"), [("", '{"a": 1}'), ("{}", "{}")], ids=["who has no settings", "who has some"])
async def test_a_user_begins_with_settings_and_keeps_what_there_is(processes: Processes, had: str, has: str) -> None:
    script = """
        export XDG_DATA_HOME=$(mktemp -d); cd $XDG_DATA_HOME; mkdir -p code-server/User
        if [ "$2" ]; then printf %s "$2" >code-server/User/settings.json; fi
        EDITOR_SETTINGS='{"a": 1}' node --require "$1" -p process.env.EDITOR_SETTINGS
        cat code-server/User/settings.json
    """
    done = await processes.run(["sh", "-euc", script, "sh", FRONT, had], timeout=30, max_output=1000)

    assert (done.exit.code, done.stdout.decode()) == (0, f"undefined\n{has}"), done.stderr
