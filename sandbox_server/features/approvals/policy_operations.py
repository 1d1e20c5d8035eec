"""The operations on the policy of approvals, and the question of the MCP process."""

from typing import Annotated, Any

from pydantic import Field, ValidationError

from sandbox_server.core import Call, Model, PermissionDenied, Reply, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.entity_tags import asked_version, is_not_modified
from sandbox_server.core.identity import SERVER
from sandbox_server.features.approvals.approval_guard import named_tool_act
from sandbox_server.features.approvals.gate import ApprovalGate
from sandbox_server.features.approvals.policy import MAX_BYTES, ApprovalPolicy, ApprovalPolicyDocument
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore


class ReplaceApprovalPolicy(Model):
    policy: dict[str, Any]
    """The whole document: `rules`, in their order."""
    if_match: Annotated[str, Field(max_length=1000)] | None = None
    """The ETag of the document that it replaces, for clients that cannot send the header `If-Match`."""


class ApprovalPolicyState(Model):
    policy: ApprovalPolicyDocument
    etag: str
    """Its version, as in the header `ETag`."""


class AskToolApproval(Model):
    server: Annotated[str, Field(min_length=1, max_length=200)]
    """The MCP server."""
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    """Its tool, by the server's own name for it."""
    name: Annotated[str, Field(min_length=1, max_length=500)]
    """The tool's name at `/mcp`."""
    arguments: dict[str, Any] = Field(default_factory=dict)


class ApprovalPolicyOperations:
    """Reads and replaces the policy."""

    tag = "approvals"

    def __init__(self, store: ApprovalPolicyStore, gate: ApprovalGate) -> None:
        self._store = store
        self._gate = gate

    @operation("GET /v1/approvals/policy", scope="admin")
    async def get_approval_policy(self, call: Call) -> Reply[ApprovalPolicyState]:
        """Return the policy in force, with its version as `ETag`. With `If-None-Match`, 304 if it is still that one."""
        reply = _state(self._store.policy)
        known = is_not_modified(call.headers, self._store.policy.etag)
        return Reply(reply.data, status=304, headers=reply.headers) if known else reply

    @operation("PUT /v1/approvals/policy", scope="admin", decides=True, whole_body="policy", query=("if_match",), max_body=MAX_BYTES)
    async def replace_approval_policy(self, request: ReplaceApprovalPolicy, call: Call) -> Reply[ApprovalPolicyState]:
        """Replace the policy. It holds at once for every act that begins; what was allowed for a task is forgotten.

        Needs `If-Match` with the ETag of the policy that it replaces: 428 without, 412 if it was changed since. 422 names
        each field that is wrong, and the old policy stands.
        """
        document = _document(request.policy)
        version = asked_version(call.headers, request.if_match)
        return _state(await self._store.replace(document, version))

    @operation("POST /v1/approvals/tool", scope="any", ends_with_client=True)
    async def ask_tool_approval(self, request: AskToolApproval, call: Call) -> None:
        """Wait until a tool of an MCP server may be called. Only the MCP process calls this. 403 `approval_denied` says that it may not."""
        if not call.caller.may(SERVER):
            raise PermissionDenied("only the MCP process asks this")
        names = [request.name, f"{request.server}.{request.tool}"]
        await self._gate.admit(named_tool_act(names, request.arguments, call.caller.name))


def _document(policy: dict[str, Any]) -> ApprovalPolicyDocument:
    try:
        return ApprovalPolicyDocument.model_validate(policy)
    except ValidationError as error:
        problems = [{"loc": each["loc"], "msg": each["msg"], "type": each["type"]} for each in error.errors(include_url=False)]
        raise InvalidFields(problems) from None


def _state(policy: ApprovalPolicy) -> Reply[ApprovalPolicyState]:
    return Reply(ApprovalPolicyState(policy=policy.document, etag=policy.etag), headers={"ETag": policy.etag})
