"""The operations on the policy of approvals."""

from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, PermissionDenied, PreconditionFailed, PreconditionRequired
from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.identity import SERVER
from sandbox_server.core.operation import operations
from sandbox_server.features.approvals.policy_operations import ApprovalPolicyOperations
from sandbox_server.features.auth.credentials import AGENT_SCOPES
from tests.features.approvals.people import Person
from tests.features.approvals.test_gate import gate

pytestmark = pytest.mark.anyio

OWNER, AGENT = Caller("owner", ALL_SCOPES), Caller("agent", AGENT_SCOPES)
TOOL = {"name": "issues", "subject": "tool", "match": {"tool": "github_create_*"}}


class Owned:
    def __init__(self, folder: Path) -> None:
        self.person = Person("deny")
        found, store = gate(folder, self.person, TOOL)
        self._operations = {each.spec.name: each for each in operations(ApprovalPolicyOperations(store, found))}
        self._dispatcher = Dispatcher([require_scope])

    async def call(self, caller: Caller, operation: str, headers: dict[str, str] | None = None, /, **fields: object) -> Any:
        return await self._dispatcher.call(self._operations[operation], fields, Call(caller, "1", headers=headers or {}))


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    return Owned(tmp_path)


async def test_the_holder_of_an_agents_token_neither_reads_nor_replaces_the_policy(owned: Owned) -> None:
    with pytest.raises(PermissionDenied):
        await owned.call(AGENT, "get_approval_policy")
    with pytest.raises(PermissionDenied):
        await owned.call(AGENT, "replace_approval_policy", {"if-match": "*"}, policy={})


async def test_a_policy_is_replaced_by_who_has_seen_it(owned: Owned) -> None:
    read = await owned.call(OWNER, "get_approval_policy")
    etag = read.headers["ETag"]
    assert read.data.etag == etag
    assert [rule.name for rule in read.data.policy.rules] == ["issues"]
    for headers, why in (({}, PreconditionRequired), ({"if-match": '"x"'}, PreconditionFailed)):
        with pytest.raises(why):
            await owned.call(OWNER, "replace_approval_policy", headers, policy={"rules": []})
    changed = await owned.call(OWNER, "replace_approval_policy", {"if-match": etag}, policy={"rules": []})
    assert changed.headers["ETag"] != etag
    assert (await owned.call(OWNER, "get_approval_policy", {"if-none-match": changed.headers["ETag"]})).status == 304
    again = await owned.call(OWNER, "replace_approval_policy", policy={"rules": [TOOL]}, if_match=changed.headers["ETag"])
    assert again.headers["ETag"] == etag


async def test_an_empty_header_says_no_version(owned: Owned) -> None:
    await owned.call(OWNER, "replace_approval_policy", {"if-match": ""}, policy={"rules": []}, if_match="*")
    with pytest.raises(PreconditionRequired):
        await owned.call(OWNER, "replace_approval_policy", {"if-match": ""}, policy={"rules": []})


async def test_what_is_no_policy_is_refused_with_the_place_and_the_old_one_stands(owned: Owned) -> None:
    with pytest.raises(InvalidFields) as refused:
        await owned.call(
            OWNER, "replace_approval_policy", {"if-match": "*"}, policy={"rules": [TOOL, {"name": "x", "subject": "shell", "a": 1}]}
        )
    assert refused.value.problems[0]["loc"][:3] == ("rules", 1, "a")
    assert [rule.name for rule in (await owned.call(OWNER, "get_approval_policy")).data.policy.rules] == ["issues"]


async def test_only_the_mcp_process_asks_about_tools(owned: Owned) -> None:
    fields: dict[str, Any] = {"server": "github", "tool": "create_issue", "name": "github_create_issue", "arguments": {"title": "x"}}
    with pytest.raises(PermissionDenied):
        await owned.call(OWNER, "ask_tool_approval", **fields)
    assert owned.person.asked == []
    inside = Caller("agent", frozenset({SERVER}))
    with pytest.raises(ApprovalDenied):
        await owned.call(inside, "ask_tool_approval", **fields)
    assert owned.person.asked[0].details == {"tool": "github_create_issue", "arguments": '{"title": "x"}', "caller": "agent"}
    await owned.call(inside, "ask_tool_approval", **fields | {"tool": "list_issues", "name": "github_list_issues"})
