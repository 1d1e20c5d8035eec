import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.diagnosis import Finding
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.spawn.process import Completed, Exit
from sandbox_server.features.egress_checks import EgressChecks

pytestmark = pytest.mark.anyio

DENY = '{"default": "deny", "rules": [{"action": "allow", "hosts": ["a.example"]}]}'
SERVED = {"problem": "", "served": True}


class Box:
    """A box daemon that says one thing of its network."""

    def __init__(self, level: str, network: dict[str, object] | None) -> None:
        self.isolation = Isolation(level, "no reason", flags=("--flag",))  # type: ignore[arg-type] # a word of the test's
        self._network = network

    async def ask(self, operation: str) -> dict[str, Any]:
        assert operation == "status"
        return {"network": self._network}


class Network:
    """A spawner whose programs have a network namespace."""

    def __init__(self, link: str) -> None:
        self._link = link

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        assert argv == ["readlink", "/proc/self/ns/net"]
        return Completed(Exit(0, None), f"{self._link}\n".encode(), b"", False)


async def look(
    folder: Path,
    policy: str | None = DENY,
    *,
    level: str = "box",
    network: dict[str, object] | None = SERVED,
    link: str = "net:[1]",
    enabled: bool = True,
) -> Finding:
    if policy is not None:
        (folder / "policy.json").write_text(policy)
    checks = EgressChecks(Box(level, network), Network(link), f"{folder}/policy.json", enabled=enabled)  # type: ignore[arg-type]
    (probe,) = checks.probes()
    assert probe.name == "egress_policy"
    assert probe.hint
    return await probe.look()


async def test_it_holds_where_the_box_has_a_served_network_of_its_own(tmp_path: Path) -> None:
    assert await look(tmp_path) == Finding(True, "every program of the box is under it: 1 rule, default deny")


@pytest.mark.parametrize(
    ("state", "detail"),
    [
        ({"link": os.readlink("/proc/self/ns/net")}, "the box has its network"),
        ({"network": {"problem": "no nft", "served": True}}, "nothing leaves the box: no nft"),
        ({"network": {"problem": "", "served": False}}, "the egress process does not run"),
        ({"policy": '{"mode": "learn"}'}, "the policy learns"),
        ({"policy": "{"}, "everything is denied, because the policy cannot be read: /: not JSON"),
        ({"policy": None}, "everything is denied, because the policy cannot be read"),
    ],
)
async def test_it_is_lost_where_something_is_missing_and_says_what(tmp_path: Path, state: dict[str, Any], detail: str) -> None:
    found = await look(tmp_path, **state)
    assert found.holds is False
    assert detail in found.detail


async def test_a_daemon_that_keeps_no_network_is_unknown(tmp_path: Path) -> None:
    assert (await look(tmp_path, network=None)).holds is None


class Tries:
    """A spawner whose programs meet an egress process."""

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        if argv[0] == "sudo":
            return Completed(Exit(1, None), b"", b"", False)
        return Completed(Exit(0, None), b'{"direct": "asked", "udp": "closed", "proxy": "none is set"}', b"", False)


@pytest.mark.parametrize(
    ("policy", "egress", "holds", "detail"),
    [
        (DENY, "rules", True, "every connection of the agent's programs is decided by the policy; the isolation level is users"),
        ('{"mode": "learn"}', "rules", False, "the policy learns"),
        ("{", "rules", False, "everything is denied, because the policy cannot be read"),
        (None, "off", True, "every connection of the agent's programs is decided by the policy"),
    ],
)
async def test_without_a_box_it_is_what_a_program_meets(tmp_path: Path, policy: str | None, egress: Any, holds: bool, detail: str) -> None:
    if policy is not None:
        (tmp_path / "policy.json").write_text(policy)
    box = Box("users", None)
    box.isolation = Isolation("users", "no reason", egress=egress)
    (probe,) = EgressChecks(box, Tries(), f"{tmp_path}/policy.json", enabled=True).probes()  # type: ignore[arg-type]
    found = await probe.look()
    assert found.holds is holds
    assert detail in found.detail


async def test_switched_off_in_a_box_it_is_measured_too(tmp_path: Path) -> None:
    (probe,) = EgressChecks(Box("box", None), Tries(), f"{tmp_path}/policy.json", enabled=False).probes()  # type: ignore[arg-type]
    found = await probe.look()
    assert found == Finding(True, "every connection of the agent's programs is decided by the policy; EGRESS is false")
    assert "unset EGRESS=false" in probe.hint
