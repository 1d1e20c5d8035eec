"""Approvals: the policy of acts, its gate, and the guard of every call."""

from dataclasses import dataclass

from sandbox_server.composition.handoff import HandoffParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.approvals.approval_guard import ApprovalGuard
from sandbox_server.features.approvals.browser_gate import BrowserGate
from sandbox_server.features.approvals.gate import ApprovalGate
from sandbox_server.features.approvals.policy_operations import ApprovalPolicyOperations
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore, TaskGrants, configured_policy
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.revocation_hooks import A_PROGRAM
from sandbox_server.settings import Settings


@dataclass(frozen=True, slots=True)
class ApprovalParts:
    """The gate, for what acts elsewhere, and the guard of calls."""

    gate: ApprovalGate
    store: ApprovalPolicyStore
    browser: BrowserGate
    guard: ApprovalGuard
    part: ProductPart


def build_approvals(settings: Settings, handoffs: HandoffParts, keeper: LeaseKeeper) -> ApprovalParts:
    """Make them. Raises ValueError for a policy in the settings that cannot be used."""
    store = ApprovalPolicyStore(JsonFile(f"{settings.paths.run}/approvals.json"), configured_policy(settings.approvals.policy))
    gate = ApprovalGate(store, TaskGrants(settings.approvals.task), handoffs.approvals.ask)

    def held_by_person() -> bool:
        return keeper.holding.state == "human" and not keeper.holding.admits(A_PROGRAM, "cdp")

    browser = BrowserGate(gate, held_by_person)
    guard = ApprovalGuard(gate, settings.agent.workspace, settings.agent.home, browser)
    return ApprovalParts(gate, store, browser, guard, ProductPart((ApprovalPolicyOperations(store, gate),)))
