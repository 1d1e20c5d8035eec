"""The tools that wait for a person: the user of the client that called may answer as well, where the client can ask its user.

Whichever answer comes first ends the wait, and the other question is withdrawn.
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
from sandbox_server.mcp.tools.api_tools import ApiTools, forwarded
from sandbox_server.mcp.tools.catalog import ApiTool

REQUEST, WAIT = "request_human", "wait_for_human"
MAX_SECONDS = 3600.0
"""How long these tools wait; what is not within it they refuse by themselves."""
OUTCOMES = ("done", "partly", "cannot", "instead")
MAX_TEXT = 4000
_FIELD = "field_"

_log = logging.getLogger(__name__)


class HumanInTheLoop:
    """Calls these tools."""

    def __init__(self, own: ApiTools, api: ApiClient) -> None:
        self._own = own
        self._api = api

    async def call(
        self, request: Request, tool: ApiTool, arguments: Mapping[str, Any], tool_filter: ToolFilter, calling_client: CallingClient
    ) -> CallToolResult:
        """Call one of them; whatever goes wrong is a result that the agent can read.

        With a token that names its tools nobody is asked but the people on `/view`, for it could not pass the answer on.
        """
        seconds, waits = arguments.get("wait"), await self._own.find(WAIT, ToolFilter(tool_filter.scopes))
        may_wait = isinstance(seconds, int | float) and 0 < seconds <= MAX_SECONDS
        if waits is None or not may_wait or tool_filter.allowed is not None or calling_client.refusal(question({})):
            return await self._own.call(request, tool, arguments)
        asked = await self._own.call(request, tool, {**arguments, "wait": 0})
        handoff = asked.structured_content or {}
        if asked.is_error or handoff.get("status") not in ("open", "claimed") or has_secrets(handoff):
            return asked
        return await self._either(request, waits, handoff, seconds or 0, calling_client)

    async def _either(
        self, request: Request, waits: ApiTool, handoff: dict[str, Any], seconds: float, calling_client: CallingClient
    ) -> CallToolResult:
        """Wait for whoever is first."""
        async with Tasks() as tasks:
            asking = tasks.start(self._ask(request, handoff, calling_client), name="ask the client's user")
            found = await self._own.call(request, waits, {"id": handoff["id"], "wait": seconds})
            if (found.structured_content or {}).get("status") != "closed" and calling_client.waits_for_input and not asking.done():
                await asyncio.wait([asking])  # its user has the form before them, and the client sends no other call until then
                return await self._own.call(request, waits, {"id": handoff["id"], "wait": 0})
            return found

    async def _ask(self, request: Request, handoff: dict[str, Any], calling_client: CallingClient) -> None:
        """Ask the user, and pass the answer on; one who looks away leaves it to the others."""
        answer = await calling_client.ask(question(handoff))
        if not isinstance(answer, ElicitResult) or answer.action == "cancel":
            return
        declined = {"outcome": "cannot", "note": "The user of the agent's client declined."}
        said = answered(handoff, answer.content or {}) if answer.action == "accept" else declined
        try:
            path = f"/v1/handoffs/{handoff['id']}/reply"
            reply = await self._api.send("POST", path, forwarded(request), body=said, what=REQUEST)
        except Failure as failure:
            _log.warning("the answer of a client's user is lost: %s", failure.message)
            return
        if reply.status_code != 200:  # somebody else was quicker, or the client does not keep to its form
            _log.info("the answer of a client's user to %s is not taken: %d", handoff["id"], reply.status_code)


def has_secrets(handoff: Mapping[str, Any]) -> bool:
    """Whether it asks for what no client may ask its user for."""
    return any(field["secret"] for field in handoff.get("fields", ()))


def question(handoff: Mapping[str, Any]) -> ElicitRequest:
    """The request as a form for the client's user."""
    texts = (handoff.get("reason"), handoff.get("instructions"), handoff.get("url"))
    message = "\n\n".join([*filter(None, texts), "A person who watches the computer may answer this too."])
    schema = {"type": "object", "properties": _properties(handoff), "required": _required(handoff)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def answered(handoff: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """What a filled-in form says, as the answer to the request."""
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
