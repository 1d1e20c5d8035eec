import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.egress import enforcement_probe
from sandbox_server.drivers.egress.enforcement_probe import EnforcementProbe
from sandbox_server.drivers.spawn.process import Completed, Exit

pytestmark = pytest.mark.anyio
USERS = Isolation("users", "no namespaces", flags=("--security-opt x",))
CLOSED = {"direct": "asked", "udp": "closed", "proxy": "none is set"}
OPEN = {"direct": "timed out", "udp": "open", "proxy": "none is set"}


class Tries:
    """A spawner whose programs see what they are told to see."""

    def __init__(self, own: object, root: object = None) -> None:
        self._own = own
        self._root = root

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        found = self._root if argv[0] == "sudo" else self._own
        if found is None:
            return Completed(Exit(1, None), b"", b"sudo: a password is required\n", False)
        return Completed(Exit(0, None), json.dumps(found).encode(), b"", False)


@pytest.mark.parametrize(
    ("own", "root", "holds", "detail"),
    [
        (CLOSED, None, True, "every connection of the agent's programs is decided by the policy"),
        (
            CLOSED,
            CLOSED,
            True,
            "every connection of the agent's programs is decided by the policy, root's too, but for root's questions to the nameservers",
        ),
        (CLOSED, OPEN, False, "goes round it"),
        (CLOSED | {"udp": "open"}, None, False, "UDP goes round it"),
        (OPEN | {"proxy": "asked"}, None, False, "only programs that use the proxy"),
        (OPEN, None, False, "nothing in here keeps"),
        (None, None, None, "could not try"),
        ("nonsense", None, None, "could not try"),
        ({"direct": "asked"}, None, None, "could not try"),
    ],
)
async def test_it_says_what_was_seen(own: object, root: object, holds: bool | None, detail: str) -> None:
    found = await EnforcementProbe(Tries(own, root), USERS).look()  # type: ignore[arg-type] # a spawner of the test's
    assert found.holds is holds
    assert detail in found.detail


@pytest.mark.parametrize(
    ("isolation", "enabled", "words"),
    [
        (USERS, True, ["--security-opt x", "--cap-add NET_ADMIN", "ALLOW_SUDO=false", "egress container"]),
        (replace(USERS, egress="rules"), True, ["ALLOW_SUDO=false"]),
        (Isolation("none", "not root"), True, ["start it as root", "egress container"]),
        (USERS, False, ["EGRESS=false"]),
    ],
)
def test_the_hint_names_what_would_enforce_it(isolation: Isolation, enabled: bool, words: Sequence[str]) -> None:
    hint = EnforcementProbe(Tries(OPEN), isolation).hint(enabled=enabled)  # type: ignore[arg-type]
    assert all(word in hint for word in words), hint
    assert ("NET_ADMIN" in hint) == (isolation == USERS and enabled)


def answer(listener: socket.socket, said: bytes) -> None:
    with listener.accept()[0] as client:
        client.recv(4096)
        client.sendall(said)


@pytest.mark.parametrize(("body", "found"), [(b"egress: 192.0.2.1:80 is denied", "asked"), (b"welcome", "answered by something else")])
async def test_the_script_knows_the_page_of_an_egress_process(body: bytes, found: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener, b"HTTP/1.1 403 Forbidden\r\n\r\n" + body), daemon=True).start()
        environment = {"http_proxy": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        command = [sys.executable, "-c", enforcement_probe._SCRIPT]
        done = await asyncio.to_thread(subprocess.run, command, env=environment, capture_output=True, check=True, timeout=30)
    tried = json.loads(done.stdout)
    assert tried["proxy"] == found
    assert tried["direct"] != "asked"
