"""What the doctor says where the kernel is gVisor's."""

import pytest

from sandbox_server.features import gvisor_checks
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("port", "holds"), [("", True), ("8443", False)])
async def test_a_udp_port_that_nothing_comes_through_is_said(port: str, holds: bool) -> None:
    found = {probe.name: await probe.look() for probe in gvisor_checks.probes(load({"STREAM_UDP_PORT": port}))}
    assert (found["stream_udp"].holds, "WebSocket" in found["stream_udp"].detail) == (holds, True)
    assert (found["host_kernel"].holds, found["open_descriptors"].holds) == (True, False)


def test_every_difference_is_one_line_and_no_flag() -> None:
    assert [line for line in gvisor_checks.DIFFERENCES.values() if "\n" in line or "--" in line] == []
