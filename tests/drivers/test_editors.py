"""Editors over a real spawner; a program that listens stands for one."""

import socket
import sys

import anyio
import pytest

from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.editors import Editor, Editors, code_server, jupyterlab
from sandbox_server.drivers.process import Processes

pytestmark = pytest.mark.anyio

SERVE = "import sys; from http.server import *; HTTPServer(('127.0.0.1', int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def editor(*argv: str, needs: str = "/bin/sh") -> Editor:
    port = free_port()
    return Editor("one", "One", port, needs, [*(argv or ("python3", "-c", SERVE)), str(port)], "ONE=1")


async def test_an_editor_answers_once_it_is_started_and_is_gone_once_it_is_stopped(processes: Processes) -> None:
    one = editor()
    async with Editors(processes, [one]) as editors:
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


async def test_one_that_is_not_in_the_image_says_how_to_have_it(processes: Processes) -> None:
    async with Editors(processes, [editor(needs="/no/such")]) as editors:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="not in this image") as refusal:
            await editors.start("one")
    assert refusal.value.hint == "build one that has it: ONE=1 scripts/build"


async def test_one_that_ends_at_its_start_says_what_it_said(processes: Processes) -> None:
    async with Editors(processes, [editor("sh", "-c", "echo no licence; exit 3")]) as editors:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="no licence"):
            await editors.start("one")


async def test_one_that_is_disabled_or_unknown_is_not_found(processes: Processes) -> None:
    async with Editors(processes, []) as editors:
        with pytest.raises(NotFound, match="jupyter"):
            await editors.start("jupyter")


def test_each_has_a_place_of_its_own_and_ends_when_it_is_idle() -> None:
    lab, code = jupyterlab("/kernels", "/home/gem", 900), code_server("/home/gem", 900)

    assert (lab.path, code.path) == ("/jupyter/", "/code-server/")
    assert "--ServerApp.shutdown_no_activity_timeout=900" in lab.argv
    assert "--idle-timeout-seconds=900" in code.argv
    assert (lab.preview, code.preview) == ("/proxy/8888/jupyter/", "/proxy/8200/")
    assert lab.port != code.port
    assert sys.executable not in (lab.argv[0], code.argv[0])
