import asyncio
import socket
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.core.audit import Audit, Durations
from sandbox_server.drivers.stats import liveness
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.stats.liveness import Liveness
from sandbox_server.features.health import Health, exposition

pytestmark = pytest.mark.anyio

SIGNED_IN = Call(Caller("someone", frozenset({"view"})), "r1")
STRANGER = Call(Caller("nobody", frozenset()), "r2")


async def test_a_missing_component_is_named_and_readiness_is_refused(tmp_path: Path) -> None:
    health = Health(ComponentSockets({"gateway": f"{tmp_path}/gateway.sock"}), Audit(), Liveness({}))

    reply = await health.readyz(SIGNED_IN)

    assert (reply.status, reply.data.status) == (503, "starting")
    assert reply.data.components == {"gateway": "not started"}


async def test_everything_answering_is_ready(tmp_path: Path) -> None:
    path = f"{tmp_path}/gateway.sock"
    server = await asyncio.start_unix_server(lambda _, writer: writer.close(), path)
    async with server:
        reply = await Health(ComponentSockets({"gateway": path}), Audit(), Liveness({})).readyz(SIGNED_IN)

    assert (reply.status, reply.data.components) == (200, {"gateway": "ready"})


async def test_a_daemon_that_takes_connections_and_answers_nothing_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "PING_SECONDS", 0.1)
    path = f"{tmp_path}/spawn.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        reply = await Health(ComponentSockets({}), Audit(), Liveness({"spawner": path})).readyz(SIGNED_IN)

    assert (reply.status, reply.data.components) == (503, {"spawner": "it did not answer within 0.1 s"})


async def test_a_stranger_learns_no_component(tmp_path: Path) -> None:
    reply = await Health(ComponentSockets({"gateway": f"{tmp_path}/gateway.sock"}), Audit(), Liveness({})).readyz(STRANGER)

    assert reply.data.components is None


async def test_the_server_says_that_it_is_alive() -> None:
    assert (await Health(ComponentSockets({}), Audit(), Liveness({})).healthz()).status == "ok"


async def test_metrics_count_cumulatively_up_to_infinity() -> None:
    durations = Durations()
    for seconds in (0.0005, 0.004, 100.0):
        durations.add(seconds)

    lines = exposition({("shell.exec_command", "ok"): durations})

    labels = 'operation="shell.exec_command",outcome="ok"'
    assert f'sandbox_operation_seconds_bucket{{{labels},le="0.001"}} 1' in lines
    assert f'sandbox_operation_seconds_bucket{{{labels},le="60.0"}} 2' in lines
    assert f'sandbox_operation_seconds_bucket{{{labels},le="+Inf"}} 3' in lines
    assert f"sandbox_operation_seconds_count{{{labels}}} 3" in lines


async def test_other_parts_add_metrics_of_their_own() -> None:
    health = Health(ComponentSockets({}), Audit(), Liveness({}))
    health.more.append(lambda: ["tandem_egress_up 1"])
    assert (await health.metrics()).body.decode().endswith("tandem_egress_up 1\n")
