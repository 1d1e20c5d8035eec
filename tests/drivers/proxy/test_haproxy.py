import os
import signal
import socket
import stat
import subprocess
from contextlib import suppress
from typing import Any

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.proxy import haproxy as module
from sandbox_server.drivers.proxy.configuration import configuration
from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings.proxy import ROUTES
from tests.drivers.proxy.conftest import Program, free_port
from tests.drivers.proxy.test_configuration import curl
from tests.patience import until

pytestmark = pytest.mark.anyio


async def test_haproxy_waits_for_its_configuration(program: Program) -> None:
    haproxy = Haproxy(program.folder)
    until(haproxy.waits)
    assert not await haproxy.alive()

    await haproxy.apply(configuration(ProxyPlan(), free_port()))

    assert await haproxy.alive()
    assert not haproxy.waits()
    assert haproxy.has(configuration(ProxyPlan(), free_port())) is False


async def test_its_configuration_is_read_by_its_user_alone(program: Program) -> None:
    await Haproxy(program.folder).apply(configuration(ProxyPlan(), free_port()))

    assert stat.S_IMODE(os.stat(f"{program.folder}/haproxy.cfg").st_mode) == 0o640


async def test_another_configuration_counts_at_once(program: Program, site: int) -> None:
    haproxy, port = Haproxy(program.folder), free_port()
    for host in ("one.example", "two.example", "three.example"):
        await haproxy.apply(configuration(ProxyPlan(routes=ROUTES.parse(f"{host}=:{site}")), port))
        assert curl(port, f"http://{host}/") == f"200 site: / for {host}"


async def test_a_connection_that_was_opened_ahead_is_not_served_by_the_old_configuration(program: Program, site: int) -> None:
    haproxy, port = Haproxy(program.folder), free_port()
    await haproxy.apply(configuration(ProxyPlan(routes=ROUTES.parse(f"one.example=:{site}")), port))
    with socket.create_connection(("127.0.0.1", port)) as ahead:
        await haproxy.apply(configuration(ProxyPlan(), port))
        with suppress(OSError):
            ahead.sendall(b"GET http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n")
            assert b"site" not in ahead.recv(4096)


async def test_an_invalid_configuration_leaves_the_old_one_in_force(program: Program, site: int) -> None:
    haproxy, port = Haproxy(program.folder), free_port()
    await haproxy.apply(configuration(ProxyPlan(routes=ROUTES.parse(f"one.example=:{site}")), port))

    with pytest.raises(Unavailable, match="does not take its new configuration") as refused:
        await haproxy.apply("secret nonsense")

    assert "secret" not in str(refused.value)
    assert curl(port, "http://one.example/") == "200 site: / for one.example"


async def test_haproxy_keeps_its_configuration_after_it_was_killed(program: Program, site: int) -> None:
    haproxy, port = Haproxy(program.folder), free_port()
    text = configuration(ProxyPlan(routes=ROUTES.parse(f"one.example=:{site}")), port)
    await haproxy.apply(text)

    program.stop(signal.SIGKILL)
    assert not await haproxy.alive()
    program.start()
    await haproxy.apply(text)

    assert curl(port, "http://one.example/") == "200 site: / for one.example"


async def test_where_there_is_none_that_is_said(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.2)

    with pytest.raises(Unavailable, match="does not start"):
        await Haproxy(str(tmp_path)).apply("x")
    assert not Haproxy(str(tmp_path)).waits()


def test_both_programs_are_in_the_image() -> None:
    assert subprocess.run(["haproxy", "-v"], capture_output=True, check=True).stdout.startswith(b"HAProxy version 3.")
    assert b"tinyproxy" in subprocess.run(["tinyproxy", "-v"], capture_output=True, check=True).stdout
