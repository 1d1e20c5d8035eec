"""The clients of one browser."""

from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.core.identity import Caller


def test_a_session_ends_with_all_that_was_attached_through_it() -> None:
    peer = DevtoolsClient(
        Caller("ann"), "base", sessions={"base": None, "page": "base", "frame": "page", "worker": "frame", "other": "base"}
    )
    assert peer.below("page") == ["page", "frame", "worker"]
