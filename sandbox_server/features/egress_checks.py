"""What the doctor asks of the network policy: whether programs of the box can go round it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_server.core.diagnosis import Finding, Probe
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.egress.enforcement_probe import EnforcementProbe
from sandbox_server.drivers.egress.policy import EgressMode
from sandbox_server.drivers.egress.policy_document import EgressPolicyError, parse_policy
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.timeouts import scaled

PROBE_SECONDS = scaled(5.0)
_OFF = "nothing in here keeps the agent's programs from any address that the container reaches"
_NETWORK = "/proc/self/ns/net"


class EgressChecks:
    """Looks at the network of the box. `policy` is the file of the policy in force; `enabled` is the setting."""

    def __init__(self, box: BoxClient, processes: Processes, policy: str, *, enabled: bool) -> None:
        self._box = box
        self._processes = processes
        self._policy = policy
        self._enabled = enabled
        self._probe = EnforcementProbe(processes, box.isolation)

    def probes(self) -> Sequence[Probe]:
        """The guarantee."""
        return (Probe("egress_policy", self._look, self._hint()),)

    def _hint(self) -> str:
        if self._box.isolation.level != "box" or not self._enabled:
            return self._probe.hint(enabled=self._enabled)
        return "the kernel needs nf_tables with nat, and the policy no `mode: learn`"

    async def _look(self) -> Finding:
        if self._box.isolation.level != "box" or not self._enabled:
            return await self._measured()
        done = await self._processes.run(["readlink", _NETWORK], cwd="/", timeout=PROBE_SECONDS, max_output=4096)
        if done.stdout.decode().strip() == os.readlink(_NETWORK):
            return Finding(False, f"{_OFF}: the box has its network")
        network = (await self._box.ask("status"))["network"]
        return _of(network) or self._of_policy()

    async def _measured(self) -> Finding:
        """Say what a program of the agent's met; the policy that decides may be another container's."""
        seen = await self._probe.look()
        policy = self._of_policy() if seen.holds and self._box.isolation.egress != "off" else None
        if policy and not policy.holds:
            return policy
        where = f"the isolation level is {self._box.isolation.level}" if self._enabled else "EGRESS is false"
        return Finding(seen.holds, f"{seen.detail}; {where}")

    def _of_policy(self) -> Finding:
        try:
            with open(self._policy, "rb") as file:
                policy = parse_policy(file.read())
        except (OSError, EgressPolicyError) as error:
            return Finding(False, f"everything is denied, because the policy cannot be read: {error}")
        rules = f"{len(policy.rules)} rule{'s' if len(policy.rules) != 1 else ''}, default {policy.default.value}"
        if policy.mode is EgressMode.LEARN:
            return Finding(False, f"the policy learns, so it denies protected addresses alone: {rules}")
        return Finding(True, f"every program of the box is under it: {rules}")


def _of(network: Mapping[str, Any] | None) -> Finding | None:
    if network is None:
        return Finding(None, "the box daemon does not know its network")
    if network["problem"]:
        return Finding(False, f"nothing leaves the box: {network['problem']}")
    return None if network["served"] else Finding(False, "nothing leaves the box, because the egress process does not run")
