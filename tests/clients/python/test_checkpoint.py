from typing import Any

import httpx
import pytest
from tandem import wire
from tandem._sync.checkpoint import Checkpoint
from tandem._sync.connection import Connection
from tandem.api import Api

from tests.clients.python.conftest import Server

KEPT = {"id": "c1", "parent": None, "label": "before", "who": "agent", "why": "asked", "created": 1.0}
MADE = {"checkpoint": KEPT, "mode": "live", "pause_ms": 1, "copied_bytes": 0, "stopped": [], "reopened": []}
RESTORED: dict[str, Any] = {"head": "c1", "kept": None, "stopped": [], "reopened": []}


def checkpoint(server: Server, *, restore_on_error: bool) -> Checkpoint:
    connection = Connection(wire.Place("http://box", ""), 0, httpx.Client(transport=httpx.MockTransport(server.take)))
    return Checkpoint(Api(connection), "before", restore_on_error=restore_on_error)


@pytest.mark.parametrize("restore_on_error", [True, False])
def test_an_exception_goes_back_where_that_was_asked_and_is_raised(server: Server, restore_on_error: bool) -> None:
    server.then(200, MADE).then(200, RESTORED)

    def fail() -> None:
        with checkpoint(server, restore_on_error=restore_on_error) as made:
            assert made.id == "c1"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert server.body(0) == {"label": "before"}
    paths = [request.url.path for request in server.asked]
    assert paths == ["/v1/checkpoints", "/v1/checkpoints/c1/restore"][: 1 + restore_on_error]


def test_a_block_that_ends_well_stays(server: Server) -> None:
    difference = {"path": "/a", "change": "deleted", "before": None, "after": None}
    server.then(200, MADE).then(200, {"differences": [difference], "truncated": False, "total": 1})
    with checkpoint(server, restore_on_error=True) as made:
        assert [found.path for found in made.changes()] == ["/a"]
    assert len(server.asked) == 2
    assert server.asked[1].url.params["against"] == "c1"
