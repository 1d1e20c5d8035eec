import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.core.errors import PermissionDenied
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.ports.agent_ports import agent_ports, has_own_network
from sandbox_server.settings import Paths, load

pytestmark = pytest.mark.anyio
BOX, USERS = Isolation("box", ""), Isolation("users", "why")


def test_the_box_has_a_network_of_its_own_unless_that_is_off() -> None:
    assert has_own_network(load({}), BOX)
    assert not has_own_network(load({"EGRESS": "false"}), BOX)
    assert not has_own_network(load({}), USERS)


async def test_ports_of_the_sandbox_itself_are_refused_at_every_level() -> None:
    for found, more in ((BOX, (15001, 15053)), (USERS, ())):
        ports = agent_ports(load({"PUBLIC_PORT": "8081"}), found)
        for port in (8081, 8118, 18118, 28118, *more):
            with pytest.raises(PermissionDenied):
                await ports.place(port)


async def test_the_port_by_which_the_browser_connects_is_no_ones_preview() -> None:
    for found in (BOX, replace(USERS, egress="rules")):
        with pytest.raises(PermissionDenied):
            await agent_ports(load({}), found).place(15080)


async def test_a_program_in_the_box_is_found_there_by_the_gateways_part(tmp_path: Path) -> None:
    (tmp_path / "nginx").mkdir()
    (tmp_path / "nginx/box.pid").write_text(f"{os.getpid()}\n")
    settings = replace(load({}), paths=Paths(run=str(tmp_path)))
    assert (await agent_ports(settings, BOX).place(3000)).in_box
    assert not (await agent_ports(settings, USERS).place(3000)).in_box
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await agent_ports(settings, USERS).listens(port)
