from ipaddress import ip_address
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox_server.core import Call, Caller, NotFound, PermissionDenied
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.ports.holders import Holder
from sandbox_server.drivers.ports.listening_ports import Listener
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.ports.ports import ListPorts, PortViews, SharePort, ShareRef

pytestmark = pytest.mark.anyio

CALL = Call(Caller("mia"), "1", base_url="https://box.example:8443")
LOCAL = Call(Caller("mia"), "1", base_url="http://localhost:8080")


class FakePorts:
    """Two ports, of which one is listened on twice; 8080 is ours."""

    def __init__(self) -> None:
        self.waited: list[tuple[int, float]] = []

    async def open(self) -> list[Listener]:
        return [
            Listener(ip_address("0.0.0.0"), 5000, 1000, 2),
            Listener(ip_address("127.0.0.1"), 3000, 1000, 1),
            Listener(ip_address("::"), 5000, 1000, 3),
        ]

    async def wait(self, port: int, timeout: float) -> bool:
        self.waited.append((port, timeout))
        return port == 3000

    def check_shareable(self, port: int) -> None:
        if port == 8888:
            raise PermissionDenied("an editor's")

    async def upstream(self, port: int) -> str:
        if port == 8080:
            raise PermissionDenied("ours")
        return f"127.0.0.1:{port}"


class FakeHolders:
    async def find(self) -> dict[int, Holder]:
        return {3: Holder(12, "node server.js")}


@pytest.fixture
def ports() -> FakePorts:
    return FakePorts()


def views(folder: Path, ports: FakePorts, domain: str | None = None) -> PortViews:
    return PortViews(ports, FakeHolders(), PortShares(JsonFile(str(folder / "shares.json"))), domain)  # type: ignore[arg-type]


async def test_ports_are_listed_with_their_program_and_address(tmp_path: Path, ports: FakePorts) -> None:
    found = await views(tmp_path, ports).list_ports(ListPorts(), CALL)

    assert [(port.port, port.address, port.url) for port in found.ports] == [
        (3000, "127.0.0.1", "https://box.example:8443/proxy/3000/"),
        (5000, "0.0.0.0", "https://box.example:8443/proxy/5000/"),
    ]
    assert found.ports[0].process is None
    assert found.ports[1].process
    assert found.ports[1].process.command == "node server.js"
    assert (found.ready, ports.waited) == (None, [])


async def test_the_address_is_of_a_host_of_its_own_where_there_is_one(tmp_path: Path, ports: FakePorts) -> None:
    local = await views(tmp_path, ports).list_ports(ListPorts(), LOCAL)
    named = await views(tmp_path, ports, "preview.example").list_ports(ListPorts(), CALL)

    assert local.ports[0].url == "http://3000-preview.localhost:8080/"
    assert named.ports[0].url == "https://3000-preview.example:8443/"


@pytest.mark.parametrize(("port", "ready"), [(3000, True), (4000, False)])
async def test_ready_says_whether_the_awaited_port_has_a_listener(tmp_path: Path, ports: FakePorts, port: int, ready: bool) -> None:
    found = await views(tmp_path, ports).list_ports(ListPorts(wait=port, timeout=5), CALL)

    assert (found.ready, ports.waited) == (ready, [(port, 5)])


async def test_a_link_is_made_listed_and_taken_back(tmp_path: Path, ports: FakePorts) -> None:
    feature = views(tmp_path, ports)
    made = await feature.share_port(SharePort(port=3000, ttl=60, note="for Tom"), LOCAL)
    [listed] = await feature.list_shares()

    assert made.url.startswith("http://3000-preview.localhost:8080/?share=sh-")
    assert (listed.share_id, listed.created_by, listed.note) == (made.share_id, "mia", "for Tom")
    assert round(made.expires_at - made.created_at) == 60
    assert "share=" not in listed.model_dump_json()
    await feature.revoke_share(ShareRef(share_id=made.share_id))
    assert await feature.list_shares() == []
    with pytest.raises(NotFound):
        await feature.revoke_share(ShareRef(share_id=made.share_id))


@pytest.mark.parametrize("port", [8080, 8888])
async def test_no_link_leads_to_a_port_of_ours_or_an_editors(tmp_path: Path, ports: FakePorts, port: int) -> None:
    feature = views(tmp_path, ports)
    with pytest.raises(PermissionDenied):
        await feature.share_port(SharePort(port=port), CALL)
    assert await feature.list_shares() == []


@pytest.mark.parametrize(
    "fields", [{"port": 0}, {"port": 70000}, {"port": 1, "ttl": 0}, {"port": 1, "ttl": 10**9}, {"port": 1, "note": "x" * 201}]
)
def test_a_link_has_bounds(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SharePort.model_validate(fields)
