"""Which pages are shown as another device."""

import json

import pytest

from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.multiplexer import Multiplexer
from sandbox_server.core.identity import Caller

ANN, BOB, CHILD = "A" * 32, "B" * 32, "C" * 32
PAGE = "P" * 32


@pytest.fixture
def mux() -> Multiplexer:
    return Multiplexer()


@pytest.fixture
def ann(mux: Multiplexer) -> DevtoolsClient:
    """On the browser, with a session on a page."""
    ann = mux.add(Caller("ann"), ANN)
    tell(mux, "attachedToTarget", sessionId=CHILD, targetInfo={"targetId": PAGE})
    return ann


@pytest.fixture
def bob(mux: Multiplexer) -> DevtoolsClient:
    """On the same page."""
    return mux.add(Caller("bob"), BOB, PAGE)


def tell(mux: Multiplexer, event: str, **params: object) -> None:
    message = {"method": f"Target.{event}", "params": params, "sessionId": ANN}
    mux.from_browser(json.dumps(message, separators=(",", ":")).encode())


def send(mux: Multiplexer, peer: DevtoolsClient, method: str, **address: str) -> None:
    mux.from_peer(peer, json.dumps({"id": 1, "method": f"Emulation.{method}", "params": {}, **address}))


def test_a_page_is_another_device_for_every_session_on_it_until_that_is_cleared(
    mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient
) -> None:
    assert not mux.overrides.hold(CHILD)
    send(mux, bob, "setDeviceMetricsOverride")
    assert [mux.overrides.hold(session) for session in (ANN, BOB, CHILD)] == [False, True, True]
    send(mux, ann, "clearDeviceMetricsOverride", sessionId=CHILD)
    assert mux.overrides.hold(CHILD)
    send(mux, bob, "clearDeviceMetricsOverride")
    assert not mux.overrides.hold(CHILD)


def test_what_a_session_set_ends_with_it(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    send(mux, bob, "setDeviceMetricsOverride")
    send(mux, ann, "setDeviceMetricsOverride", sessionId=CHILD)
    mux.remove(bob)
    assert mux.overrides.hold(CHILD)
    tell(mux, "detachedFromTarget", sessionId=CHILD)
    mux.add(Caller("bob"), BOB, PAGE)
    assert not mux.overrides.hold(BOB)
