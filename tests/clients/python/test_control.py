from typing import Any

import httpx
import pytest
from tandem import wire
from tandem._sync import control as module
from tandem._sync.connection import Connection
from tandem._sync.control import Control
from tandem.api import Api

from tests.clients.python.conftest import Server
from tests.patience import PATIENCE_SECONDS

YOU = {"name": "agent", "person": False, "role": "agent", "driving": False, "sees": True}


def state(**more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "state": "agent",
        "holder": None,
        "epoch": 4,
        "scope": [],
        "private": None,
        "held_for": 1.0,
        "take": "free",
        "agent_seen": True,
    }
    return {**known, "requests": [], "viewers": [], "returning": None, "paused": None, "receipt": None, "you": YOU, **more}


@pytest.fixture
def control(server: Server, monkeypatch: pytest.MonkeyPatch) -> Control:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    return Control(Api(Connection(wire.Place("http://box", ""), 0, httpx.Client(transport=httpx.MockTransport(server.take)))))


def test_it_waits_until_nobody_holds_control_and_nobody_is_private(control: Control, server: Server) -> None:
    server.then(200, state(state="human", holder="ann")).then(200, state(private="ann")).then(200, state(epoch=5))
    assert control.wait(PATIENCE_SECONDS).epoch == 5


def test_it_waits_no_longer_than_it_was_told(control: Control, server: Server) -> None:
    server.then(200, state(state="human", holder="ann")).then(200, state(state="human", holder="ann"))
    with pytest.raises(TimeoutError, match="ann still has control"):
        control.wait(0)


def test_it_asks_for_control(control: Control, server: Server) -> None:
    server.then(200, state(state="human", holder="ann"))
    assert control.request().holder == "ann"
    assert server.asked[0].url.path == "/v1/control/request"
