"""The real egress server in this process, with its control socket, and people who answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.core.approval import ApprovalDecision, ApprovalOutcome, ApprovalQuestion
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.policy_document import read_policy
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.approvals import GrantDurations, GrantedAnswers
from sandbox_server.features.egress.grants import EgressGrants
from sandbox_server.features.egress.policy_document import PolicyInForce
from sandbox_server.features.egress.tasks import RunningTasks
from tests.egress.conftest import EgressLab, anyio_backend, lab

__all__ = ["anyio_backend", "lab"]

OWNER = Call(Caller("ada", person=True), "1")
AGENT = Call(Caller("agent"), "2")


@pytest.fixture
async def client(lab: EgressLab, tmp_path: Path) -> AsyncIterator[EgressClient]:
    """A client of its control socket."""
    path = str(tmp_path / "egress.sock")
    server = await lab.server.control(path)
    yield EgressClient(path)
    server.close()


@dataclass
class Person:
    """Who answers questions: `outcome`, at once, or nothing for long."""

    outcome: ApprovalOutcome = "deny"
    waits: bool = False
    joined: list[bool] = field(default_factory=list)
    """Whether each of the next answers is to a question that somebody else asked first."""
    withdrawn: int = 0
    asked: list[ApprovalQuestion] = field(default_factory=list)

    async def ask(self, question: ApprovalQuestion) -> ApprovalDecision:
        """Answer."""
        self.asked.append(question)
        if self.waits:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        return ApprovalDecision(self.outcome, by="ada", handoff="h-1", joined=bool(self.joined and self.joined.pop(0)))


@pytest.fixture
def person() -> Person:
    return Person()


@dataclass
class Ruling:
    """What changes the policy, and what was told of that."""

    policy: PolicyInForce
    grants: EgressGrants
    tasks: RunningTasks
    answers: GrantedAnswers
    told: list[tuple[object, ...]]


@pytest.fixture
def ruling(client: EgressClient, tmp_path: Path) -> Ruling:
    told: list[tuple[object, ...]] = []
    policy = PolicyInForce(client, lambda *change: told.append(change))
    grants = EgressGrants(JsonFile(str(tmp_path / "grants.json")), client, lambda by, how, grant: told.append((by, how, grant.rule)))
    tasks = RunningTasks(JsonFile(str(tmp_path / "tasks.json")))
    answers = GrantedAnswers(policy, grants, tasks, GrantDurations(300, 3600))
    return Ruling(policy, grants, tasks, answers, told)


def allowed(lab: EgressLab, host: str, port: int = 443) -> str:
    """What the policy in force does with a connection, and the rule."""
    from sandbox_server.drivers.egress.policy import AppProtocol, Destination

    protocol = AppProtocol.HTTP if port == 80 else AppProtocol.TLS
    decided = lab.server.policy.decide(Destination(port, host, protocol=protocol))
    return f"{decided.action.value} by {decided.rule}"


def put(lab: EgressLab, document: dict[str, object]) -> None:
    """Put a document in force, as the process does that reads its file."""
    import json

    lab.server.policy.replace(json.dumps(document), read_policy(document))
