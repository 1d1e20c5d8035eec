"""The operations on the policy: the document, its temporary rules, its tasks, and what was learned."""

from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Call, InvalidArgument, Model, NullCounts, Reply, operation
from sandbox_server.core.approval import ApprovalDuration
from sandbox_server.core.entity_tags import asked_version, is_not_modified
from sandbox_server.drivers.egress.policy_document import MAX_BYTES
from sandbox_server.features.egress.approvals import GrantedAnswers
from sandbox_server.features.egress.grants import EgressDestination, EgressGrant, EgressGrants, GrantAction, TaskName
from sandbox_server.features.egress.merge_patch import PolicyDocument, patched
from sandbox_server.features.egress.policy_document import Change, PolicyInForce, without_passwords
from sandbox_server.features.egress.proposal import EgressProposal, LearnedDestinations, proposed
from sandbox_server.features.egress.tasks import EgressTask, RunningTasks, TaskLease, TaskRef

type EntityTag = Annotated[str, Field(max_length=1000)]


class ReplacePolicy(Model):
    policy: Annotated[dict[str, Any], NullCounts()]
    """The whole document."""
    if_match: EntityTag | None = None
    """The ETag of the document that it replaces, for clients that cannot send the header `If-Match`."""


class PatchPolicy(Model):
    patch: Annotated[dict[str, Any], NullCounts()]
    """A JSON Merge Patch (RFC 7396) of the document.

    Besides, `remove` lists names of rules, `add` rules that are put in front, `append` rules that are put at the end.
    """
    if_match: EntityTag | None = None
    """The ETag of the document that it changes, for clients that cannot send the header `If-Match`."""


class EgressPolicyState(Model):
    policy: dict[str, Any]
    """The document. Passwords of upstreams are shown as `***`."""
    etag: str
    """Its version, as in the header `ETag`."""
    grants: list[EgressGrant]
    """Temporary rules in front of it. They are no part of the document."""
    cut: int
    """How many open connections this change has cut."""


class GrantAccess(EgressDestination):
    action: GrantAction = "allow"
    duration: ApprovalDuration = "once"
    """`once` is for minutes, `task` while `task` runs or for hours if none is named, `always` a rule in the policy."""
    task: TaskName | None = None


class GrantedAccess(Model):
    rule: str
    """The name of the rule."""
    grant: EgressGrant | None
    """The temporary rule; null if it is a rule of the policy."""
    etag: str
    """The version of the policy now."""


class GrantRef(Model):
    id: Annotated[str, Field(max_length=40)]


class EgressPolicyOperations:
    """Reads and changes what the policy allows."""

    tag = "egress"

    def __init__(
        self, policy: PolicyInForce, grants: EgressGrants, answers: GrantedAnswers, tasks: RunningTasks, learned: LearnedDestinations
    ) -> None:
        self._policy = policy
        self._grants = grants
        self._answers = answers
        self._tasks = tasks
        self._learned = learned

    @operation("GET /v1/egress/policy", scope="admin")
    async def get_egress_policy(self, call: Call) -> Reply[EgressPolicyState]:
        """Return the policy in force, with its version as `ETag`. With `If-None-Match`, 304 if it is still that one.

        The version is the document's. Grants come and go beside it, so an answer is not kept in a cache.
        """
        document, etag = await self._policy.read()
        headers = {"ETag": etag, "Cache-Control": "no-store"}
        return Reply(self._state(document, etag), status=304 if is_not_modified(call.headers, etag) else 200, headers=headers)

    @operation("PUT /v1/egress/policy", scope="admin", decides=True, whole_body="policy", query=("if_match",), max_body=MAX_BYTES)
    async def replace_egress_policy(self, request: ReplacePolicy, call: Call) -> Reply[EgressPolicyState]:
        """Replace the policy. It holds at once, and open connections that it denies are cut.

        Needs `If-Match` with the ETag of the policy that it replaces: 428 without, 412 if it was changed since. 422 names
        each field that is wrong with a JSON pointer, and the old policy stands.
        """
        return await self._change(call, "put", lambda _: request.policy, request.if_match)

    @operation("PATCH /v1/egress/policy", scope="admin", decides=True, whole_body="patch", query=("if_match",), max_body=MAX_BYTES)
    async def change_egress_policy(self, request: PatchPolicy, call: Call) -> Reply[EgressPolicyState]:
        """Change fields of the policy by a JSON Merge Patch, and rules by name with `remove`, `add` (in front) and `append`.

        A merge patch replaces `rules` as a whole. `If-Match` and errors are as for replacing it.
        """
        return await self._change(call, "patch", lambda document: patched(document, request.patch), request.if_match)

    @operation("POST /v1/egress/grants", scope="admin", decides=True)
    async def grant_access(self, request: GrantAccess, call: Call) -> GrantedAccess:
        """Allow or deny a destination for minutes, for a task, or for ever, in front of every other rule."""
        if request.task and request.duration != "task":
            raise InvalidArgument("task is for the duration 'task' alone", field="task")
        place = EgressDestination(host=request.host, port=request.port, protocol=request.protocol)
        granted = await self._answers.put(place, request.duration, call.caller.name, task=request.task, action=request.action)
        _, etag = await self._policy.read()
        return GrantedAccess(rule=granted.rule, grant=granted.grant, etag=etag)

    @operation("DELETE /v1/egress/grants/{id}", scope="admin", decides=True)
    async def revoke_access(self, request: GrantRef, call: Call) -> None:
        """Withdraw a temporary rule. Open connections that the policy denies without it are cut."""
        await self._grants.remove(request.id, call.caller.name)

    @operation("GET /v1/egress/proposal", scope="admin")
    async def get_egress_proposal(self) -> EgressProposal:
        """Return the policy that would allow what the mode `learn` has seen, and nothing else.

        Hosts of a named set become that set. Many names below one become a wildcard, unless anybody may register there.
        """
        document, _ = await self._policy.read()
        found = self._learned.all()
        since = min((each.first for each in found), default=None)
        return EgressProposal(policy=without_passwords(proposed(document, found)), destinations=found, since=since)

    @operation("DELETE /v1/egress/proposal", scope="admin")
    async def forget_egress_proposal(self) -> None:
        """Forget what was learned."""
        self._learned.forget()

    @operation("GET /v1/egress/tasks", scope="admin")
    async def list_egress_tasks(self) -> list[EgressTask]:
        """List the tasks that run. Rules with a `task` hold while it does."""
        return self._tasks.running()

    @operation("PUT /v1/egress/tasks/{task}", scope="admin", decides=True)
    async def run_egress_task(self, request: TaskLease) -> EgressTask:
        """Let a task run for some minutes, from now on. The claim `task` of a token does the same while it calls."""
        return await self._tasks.lease(request.task, 60 * request.minutes)

    @operation("DELETE /v1/egress/tasks/{task}", scope="admin", decides=True)
    async def end_egress_task(self, request: TaskRef) -> None:
        """End a task. Open connections that only its rules allow are cut."""
        await self._tasks.end(request.task)

    async def _change(self, call: Call, how: str, change: Change, if_match: str | None) -> Reply[EgressPolicyState]:
        version = asked_version(call.headers, if_match)
        document, etag, cut = await self._policy.change(call.caller.name, how, change, version)
        return Reply(self._state(document, etag, cut), headers={"ETag": etag})

    def _state(self, document: PolicyDocument, etag: str, cut: int = 0) -> EgressPolicyState:
        return EgressPolicyState(policy=without_passwords(document), etag=etag, grants=self._grants.all(), cut=cut)
