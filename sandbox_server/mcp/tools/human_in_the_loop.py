"""Human-in-the-loop tools: the client's user may answer `request_human` by elicitation, beside the people on `/view`.

The first answer wins, and the other request is withdrawn.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitResult
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.client_requests.clients import CallingClient
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.api_tools import ApiTools
from sandbox_server.mcp.tools.catalog import ApiTool
from sandbox_server.mcp.transport.request_context import identity_headers

REQUEST, WAIT = "request_human", "wait_for_human"
MAX_SECONDS = 3600.0
"""The longest wait of these tools; they refuse longer ones themselves."""
OUTCOMES = ("done", "partly", "cannot", "instead")
MAX_TEXT = 4000
_FIELD = "field_"

_log = logging.getLogger(__name__)


class HumanInTheLoop:
    """Calls `request_human` and `wait_for_human`."""

    def __init__(self, own: ApiTools, api: ApiClient) -> None:
        self._own = own
        self._api = api

    async def call(
        self, request: Request, tool: ApiTool, arguments: Mapping[str, Any], tool_filter: ToolFilter, calling_client: CallingClient
    ) -> CallToolResult:
        """Call one of the tools. Every failure is an error result that the agent can read.

        The client's user is not asked if the token lists its tools, because it may not call the reply operation.
        """
        seconds, waits = arguments.get("wait"), await self._own.find(WAIT, ToolFilter(tool_filter.scopes))
        may_wait = isinstance(seconds, int | float) and 0 < seconds <= MAX_SECONDS
        if waits is None or not may_wait or tool_filter.allowed is not None or calling_client.refusal(elicitation_of({})):
            return await self._own.call(request, tool, arguments)
        asked = await self._own.call(request, tool, {**arguments, "wait": 0})
        handoff = asked.structured_content or {}
        if asked.is_error or handoff.get("status") not in ("open", "claimed") or has_secrets(handoff):
            return asked
        return await self._first_answer(request, waits, handoff, seconds or 0, calling_client)

    async def _first_answer(
        self, request: Request, waits: ApiTool, handoff: dict[str, Any], seconds: float, calling_client: CallingClient
    ) -> CallToolResult:
        """Wait for the first answer, of a person or of the client's user."""
        async with Tasks() as tasks:
            asking = tasks.start(self._ask(request, handoff, calling_client), name="ask the client's user")
            found = await self._own.call(request, waits, {"id": handoff["id"], "wait": seconds})
            if (found.structured_content or {}).get("status") != "closed" and calling_client.waits_for_input and not asking.done():
                await asyncio.wait([asking])  # the client shows its user the form, and sends no other call until then
                return await self._own.call(request, waits, {"id": handoff["id"], "wait": 0})
            return found

    async def _ask(self, request: Request, handoff: dict[str, Any], calling_client: CallingClient) -> None:
        """Ask the client's user and forward the answer. A cancelled form leaves the request open."""
        answer = await calling_client.ask(elicitation_of(handoff))
        if not isinstance(answer, ElicitResult) or answer.action == "cancel":
            return
        declined = {"outcome": "cannot", "note": "The user of the agent's client declined."}
        body = reply_of(handoff, answer.content or {}) if answer.action == "accept" else declined
        try:
            path = f"/v1/handoffs/{handoff['id']}/reply"
            reply = await self._api.send("POST", path, identity_headers(request), body=body, what=REQUEST)
        except Failure as failure:
            _log.warning("the answer of the client's user is lost: %s", failure.message)
            return
        if reply.status_code != 200:  # somebody else answered first, or the answer does not match the form
            _log.info("the answer of the client's user to %s is refused: %d", handoff["id"], reply.status_code)


def has_secrets(handoff: Mapping[str, Any]) -> bool:
    """Whether a handoff has secret fields, which no client may ask its user for."""
    return any(field["secret"] for field in handoff.get("fields", ()))


def elicitation_of(handoff: Mapping[str, Any]) -> ElicitRequest:
    """A handoff as an elicitation form for the client's user."""
    texts = (handoff.get("reason"), handoff.get("instructions"), handoff.get("url"))
    message = "\n\n".join([*filter(None, texts), "A person who watches the computer may answer this too."])
    schema = {"type": "object", "properties": _properties(handoff), "required": _required(handoff)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def reply_of(handoff: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A submitted form as the reply to the handoff."""
    names = [field["name"] for field in handoff.get("fields", ()) if content.get(f"{_FIELD}{field['name']}") is not None]
    return {
        "outcome": content.get("outcome") or "done",
        "note": content.get("note") or "",
        "choice": content.get("choice") or None,
        "values": {name: str(content[f"{_FIELD}{name}"]) for name in names},
    }


def _properties(handoff: Mapping[str, Any]) -> dict[str, Any]:
    text = {"type": "string", "maxLength": MAX_TEXT}
    found: dict[str, Any] = {f"{_FIELD}{field['name']}": {**text, "title": field["label"]} for field in handoff.get("fields", ())}
    if choices := handoff.get("choices"):
        found["choice"] = {"type": "string", "title": "Choice", "enum": choices}
    else:
        found["outcome"] = {"type": "string", "title": "Outcome", "enum": list(OUTCOMES), "default": "done"}
    return {**found, "note": {**text, "title": "Note for the agent"}}


def _required(handoff: Mapping[str, Any]) -> list[str]:
    return [name for name in _properties(handoff) if name != "note"]
