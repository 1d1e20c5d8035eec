"""The egress policy: what follows the egress process, and the operations on its policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.composition.first import First
from sandbox_server.composition.live_events import Follow
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.dispatch import Guard
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.access_requests import AccessRequests
from sandbox_server.features.egress.approvals import ConnectionQuestions, GrantDurations, GrantedAnswers
from sandbox_server.features.egress.attribution import ConnectionAttribution, SocketLookup
from sandbox_server.features.egress.blocked import BlockedConnections
from sandbox_server.features.egress.connection_operations import EgressConnections
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.follower import EgressFollower
from sandbox_server.features.egress.grants import EgressDestination, EgressGrant, EgressGrants
from sandbox_server.features.egress.hints import EgressHints
from sandbox_server.features.egress.metrics import EgressMetrics
from sandbox_server.features.egress.policy_document import PolicyInForce
from sandbox_server.features.egress.policy_operations import EgressPolicyOperations
from sandbox_server.features.egress.private_time import PrivateTimeTeller
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.status import EgressStatusReader
from sandbox_server.features.egress.tasks import RunningTasks, TaskAnnouncer
from sandbox_server.features.recorder.egress_entries import EgressEntries


@dataclass(frozen=True, slots=True)
class EgressParts:
    """The egress policy. Pages follow it by `follow`."""

    hints: Guard
    follow: Follow
    part: ProductPart


def build_egress(first: First) -> EgressParts:
    """Make it. Without a box, everything says that there is no policy."""
    machine, run = first.machine, first.machine.settings.paths.run
    client = EgressClient(machine.settings.paths.egress_socket("control"), off=off_reason(machine))
    entries = EgressEntries(first.recorder.journal, first.recorder.redaction)
    table, hints = ConnectionTable(machine.settings.users.desktop_uid), EgressHints()
    tasks, learned = RunningTasks(JsonFile(f"{run}/egress-tasks.json")), LearnedDestinations(JsonFile(f"{run}/egress-learned.json"))
    first.gateway.task_calls.listener = tasks.called

    def changed(by: str, how: str, etag: str, cut: int, about: EgressDestination | None) -> None:
        place = {"host": about.host, "port": about.port} if about else {}
        entries.policy_changed(by, how, etag=etag, cut=cut, **place)

    def granted(by: str, how: str, grant: EgressGrant) -> None:
        entries.policy_changed(by, how, rule=grant.rule, action=grant.action, host=grant.host, port=grant.port)

    answer_seconds = machine.settings.approvals.answer_within(notifies=machine.settings.handoff.notifies)
    policy = PolicyInForce(client, changed)
    grants = EgressGrants(JsonFile(f"{run}/egress-grants.json"), client, granted)
    durations = GrantDurations(once=machine.settings.egress.once, task=machine.settings.approvals.task)
    answers = GrantedAnswers(policy, grants, tasks, durations)
    attribution = ConnectionAttribution(socket_lookup(machine), table.touch, machine.settings.users.desktop_uid)
    questions = ConnectionQuestions(client, first.handoffs.approvals.ask, answers, attribution, hints.caller_of, users_of(machine))
    announcer = TaskAnnouncer(tasks, client)
    private = PrivateTimeTeller(client, lambda: first.control.keeper.holding, machine.settings.users.may_be_desktop)
    first.control.keeper.follow(private)
    metrics = EgressMetrics(table, lambda: client.off or follower.away)
    table.seen += [attribution.want, hints.see, learned.see, entries.saw, metrics.see]
    table.over += [entries.over, metrics.over]

    async def begin_anew() -> None:
        await private.give()
        await client.ask("answer_within", seconds=answer_seconds)
        await questions.begin_anew()
        await grants.give()
        await announcer.give()
        table.begin_anew(await client.flows())

    async def resync() -> None:
        table.begin_anew(await client.flows(), "its end was not heard of")

    heard, lost = (attribution.hear, table.hear, questions.hear), {"open": resync, "close": resync}
    follower = EgressFollower(client, (begin_anew,), heard, entries.moved, "connections", lost)
    requests = AccessRequests(client, first.handoffs.approvals.ask, answers, users_of(machine))
    status = EgressStatusReader(client, tasks, learned, machine.isolation.egress)
    connections = EgressConnections(client, table, status)
    operations = EgressPolicyOperations(policy, grants, answers, tasks, learned)
    features = (operations, connections, status, requests, BlockedConnections(hints))
    if not client.off:
        first.gateway.health.more.append(metrics.exposition)
    opened = (learned, attribution, announcer, questions, requests, follower)
    return EgressParts(hints, connections.follow, ProductPart(features, opened))


def off_reason(machine: MachineParts) -> str:
    """Return why there is no egress policy; empty if there is one."""
    if not machine.settings.egress.enabled:
        return "EGRESS is false"
    if machine.isolation.egress == "off":
        return f"the isolation level is {machine.isolation.level}, and no EGRESS_POLICY is set: {machine.isolation.reason}"
    return ""


def users_of(machine: MachineParts) -> SecretUsers:
    """Return whose connections are the agent's programs', its user's and the box's root's, and whose are the browser's."""
    settings = machine.settings
    programs = {settings.agent.uid, 0} if machine.isolation.level == "box" else {settings.agent.uid}
    return SecretUsers(frozenset(programs), settings.users.desktop_uid)


def socket_lookup(machine: MachineParts) -> SocketLookup:
    """Return a function that asks the box daemon whose sockets they are."""

    async def lookup(inodes: Sequence[int]) -> Mapping[str, Mapping[str, Any]]:
        owners: Mapping[str, Mapping[str, Any]] = (await machine.box.ask("socket_owners", inodes=list(inodes)))["owners"]
        return owners

    return lookup
