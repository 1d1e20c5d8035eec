from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, PreconditionFailed, PreconditionRequired
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.grants import EgressDestination, EgressGrant
from sandbox_server.features.egress.policy_operations import EgressPolicyOperations, GrantAccess, GrantRef, PatchPolicy, ReplacePolicy
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.tasks import TaskLease, TaskRef
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import OWNER, Ruling, allowed, put
from tests.features.egress.flows import opened

pytestmark = pytest.mark.anyio
DOCUMENT: dict[str, object] = {"default": "deny", "rules": [{"name": "docs", "action": "allow", "hosts": ["docs.example"], "ports": [443]}]}


def call(**headers: str) -> Call:
    """A call of the owner with some headers."""
    return Call(Caller("ada"), "1", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.fixture
def operations(ruling: Ruling, tmp_path: Path) -> EgressPolicyOperations:
    learned = LearnedDestinations(JsonFile(str(tmp_path / "learned.json")))
    return EgressPolicyOperations(ruling.policy, ruling.grants, ruling.answers, ruling.tasks, learned)


async def version(operations: EgressPolicyOperations) -> str:
    etag: str = (await operations.get_egress_policy(call())).data.etag
    return etag


async def test_the_policy_is_read_with_its_version(lab: EgressLab, operations: EgressPolicyOperations) -> None:
    put(lab, DOCUMENT)
    reply = await operations.get_egress_policy(call())
    assert (reply.data.policy, reply.data.grants) == (DOCUMENT, [])
    assert reply.headers == {"ETag": reply.data.etag, "Cache-Control": "no-store"}  # grants are no part of the version
    assert (await operations.get_egress_policy(call(if_none_match=f'"x", {reply.data.etag}'))).status == 304


async def test_the_policy_is_replaced_by_header_or_field(lab: EgressLab, operations: EgressPolicyOperations) -> None:
    reply = await operations.replace_egress_policy(ReplacePolicy(policy=DOCUMENT), call(if_match=await version(operations)))
    assert (reply.data.policy, reply.data.cut, reply.headers["ETag"]) == (DOCUMENT, 0, await version(operations))
    await operations.replace_egress_policy(ReplacePolicy(policy={"default": "allow"}, if_match=await version(operations)), call())
    assert allowed(lab, "docs.example") == "allow by default"


async def test_a_change_needs_the_version_that_it_is_of(operations: EgressPolicyOperations) -> None:
    for change, more, failure in (
        (operations.replace_egress_policy, ReplacePolicy(policy={}), PreconditionRequired),
        (operations.replace_egress_policy, ReplacePolicy(policy={}, if_match='"old"'), PreconditionFailed),
        (operations.change_egress_policy, PatchPolicy(patch={}), PreconditionRequired),
    ):
        with pytest.raises(failure):
            await change(more, call())


async def test_an_empty_header_says_no_version(operations: EgressPolicyOperations) -> None:
    await operations.replace_egress_policy(ReplacePolicy(policy={}, if_match="*"), call(if_match=""))
    with pytest.raises(PreconditionRequired):
        await operations.replace_egress_policy(ReplacePolicy(policy={}), call(if_match=""))


async def test_fields_and_rules_are_changed(lab: EgressLab, operations: EgressPolicyOperations) -> None:
    put(lab, DOCUMENT)
    rule = {"name": "news", "action": "allow", "hosts": ["news.example"]}
    patch: dict[str, Any] = {"mode": "learn", "remove": ["docs"], "add": [rule]}
    reply = await operations.change_egress_policy(PatchPolicy(patch=patch, if_match="*"), call())
    assert reply.data.policy == {"default": "deny", "mode": "learn", "rules": [rule]}
    with pytest.raises(InvalidFields):
        await operations.change_egress_policy(PatchPolicy(patch={"add": [rule]}, if_match="*"), call())


async def test_what_a_change_cuts_is_said(lab: EgressLab, operations: EgressPolicyOperations) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    reader, writer = await lab.connect("a.example", 80)
    writer.write(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
    await reader.readexactly(5)
    reply = await operations.replace_egress_policy(ReplacePolicy(policy={"default": "deny"}), call(if_match="*"))
    assert reply.data.cut == 1
    writer.close()


async def test_access_is_granted_for_a_time_for_a_task_or_for_ever_and_withdrawn(
    lab: EgressLab, operations: EgressPolicyOperations, ruling: Ruling
) -> None:
    before = await version(operations)
    once = await operations.grant_access(GrantAccess(host="a.example", port=443), OWNER)
    task = await operations.grant_access(GrantAccess(host="b.example", duration="task", task="t1"), OWNER)
    assert isinstance(once.grant, EgressGrant)
    assert isinstance(task.grant, EgressGrant)
    assert (once.etag, task.etag, task.grant.task) == (before, before, "t1")
    for_ever = await operations.grant_access(GrantAccess(host="c.example", action="deny", duration="always"), OWNER)
    assert (for_ever.grant, for_ever.etag != before) == (None, True)
    assert [allowed(lab, host) for host in ("a.example", "c.example")] == ["allow by approval g1", "deny by denied c.example"]
    state = (await operations.get_egress_policy(call())).data
    assert [grant.id for grant in state.grants] == ["g2", "g1"]
    await operations.revoke_access(GrantRef(id="g1"), OWNER)
    about = EgressDestination(host="c.example")
    assert ruling.told == [
        ("ada", "grant", "approval g1"),
        ("ada", "grant", "approval g2"),
        ("ada", "always", for_ever.etag, 0, about),
        ("ada", "revoke", "approval g1"),
    ]
    assert allowed(lab, "a.example") == "deny by default"
    with pytest.raises(InvalidArgument):
        await operations.grant_access(GrantAccess(host="a.example", task="t1"), OWNER)


async def test_what_was_learned_is_proposed_and_forgotten(lab: EgressLab, operations: EgressPolicyOperations) -> None:
    put(lab, {"default": "deny", "mode": "learn", "upstreams": {"out": "http://user:geheim@proxy.example:3128"}})
    table = ConnectionTable()
    table.seen.append(operations._learned.see)
    table.hear(opened(1, "pypi.org", learned=True))
    found = await operations.get_egress_proposal()
    assert (found.policy["mode"], found.policy["rules"]) == ("enforce", [{"name": "learned 0", "action": "allow", "sets": ["pypi"]}])
    assert found.policy["upstreams"] == {"out": "http://user:***@proxy.example:3128"}
    assert ([each.host for each in found.destinations], found.since is not None) == (["pypi.org"], True)
    await operations.replace_egress_policy(ReplacePolicy(policy=found.policy), call(if_match="*"))
    assert allowed(lab, "pypi.org") == "allow by learned 0"
    assert lab.server.policy.policy.upstreams["out"].password == "geheim"
    await operations.forget_egress_proposal()
    assert (await operations.get_egress_proposal()).since is None


async def test_tasks_are_run_and_ended(operations: EgressPolicyOperations) -> None:
    assert (await operations.run_egress_task(TaskLease(task="t1", minutes=1))).task == "t1"
    assert [each.task for each in await operations.list_egress_tasks()] == ["t1"]
    await operations.end_egress_task(TaskRef(task="t1"))
    assert await operations.list_egress_tasks() == []
