import pytest

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.nodes import nodes as module
from sandbox_server.drivers.nodes.nodes import Node, Nodes
from sandbox_server.drivers.spawn.process import Processes

pytestmark = pytest.mark.anyio


async def test_every_version_that_is_there_is_found_by_any_of_its_names(nodes: Nodes) -> None:
    assert list(await nodes.all()) == ["node20", "node22", "node24"]
    assert {(await nodes.get(name)).name for name in ("24", "v24", "node24", " Node24 ")} == {"node24"}
    assert (await nodes.get(None)).major == 22


async def test_a_version_that_is_not_there_is_refused_with_those_that_are(nodes: Nodes) -> None:
    with pytest.raises(InvalidArgument, match="18") as refusal:
        await nodes.get("18")
    assert refusal.value.hint == "available: node20, node22, node24"


async def test_where_there_is_none_or_none_may_run_it_is_said(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable):
        await Nodes(processes, default="node22", enabled=False).get(None)
    monkeypatch.setattr(module, "ROOT", "/no/such/place")
    with pytest.raises(Unavailable):
        await Nodes(processes, default="node22").get(None)


def test_types_are_for_those_that_strip_them() -> None:
    assert "--experimental-transform-types" in Node("/node", "22.1.0").argv("x.ts", typescript=True)
    with pytest.raises(InvalidArgument, match="node20"):
        Node("/node", "20.1.0").argv("x.ts", typescript=True)
