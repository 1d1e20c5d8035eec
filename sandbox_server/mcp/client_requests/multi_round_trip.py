"""Multi-round-trip calls (MCP 2026-07-28): the result of a call lists requests, and the client repeats the call with its answers.

The work continues between the requests. An upstream server of an older version waits for its answer on its own connection.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InputResponseRequestParams,
    LoggingMessageNotificationParams,
)

from sandbox_server.core.identity import CALLER
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.client_requests.capabilities import ClientAnswer, missing_capability, refused
from sandbox_server.mcp.notifications.log_levels import LogLevels, send_log
from sandbox_server.mcp.transport.request_context import RequestContext, http_request

RESUME_SECONDS = 3600.0
"""How long a suspended call waits for the client's answers."""
MAX_SUSPENDED = 64


class MultiRoundTripCall:
    """One call across all its requests: the CallingClient of its work."""

    waits_for_input = True

    def __init__(self, context: RequestContext, levels: LogLevels) -> None:
        self.caller = _caller_of(context)
        self.client = secrets.token_hex(16)
        self.context: RequestContext | None = context
        """The request that waits for the result; None while the call is suspended."""
        self.has_requests = asyncio.Event()
        self._capabilities = context.session.client_capabilities
        self._levels = levels
        self._requests: dict[str, tuple[InputRequest, asyncio.Future[InputResponse]]] = {}

    @property
    def requests(self) -> dict[str, InputRequest]:
        """The open requests by key."""
        return {key: request for key, (request, _) in self._requests.items()}

    def answer(self, context: RequestContext, answers: dict[str, InputResponse]) -> None:
        """Resume with the client's answers; unanswered requests are sent again."""
        self.context = context
        for key, answer in answers.items():
            if key in self._requests and not self._requests[key][1].done():
                self._requests[key][1].set_result(answer)
                del self._requests[key]
        if not self._requests:
            self.has_requests.clear()

    def refusal(self, request: InputRequest) -> str | None:
        """A capability that the client did not declare."""
        return missing_capability(request, self._capabilities)

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Add a request and wait for its answer. Cancelling this withdraws the request."""
        if reason := self.refusal(request):
            return refused(reason)
        key = secrets.token_hex(8)
        future: asyncio.Future[InputResponse] = asyncio.get_running_loop().create_future()
        self._requests[key] = (request, future)
        self.has_requests.set()
        try:
            return await future
        finally:
            self._requests.pop(key, None)
            if not self._requests:
                self.has_requests.clear()

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Send it on the stream of the waiting request."""
        if self.context:
            await send_log(self.context, self._levels, entry)

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send it on the stream of the waiting request."""
        if self.context:
            await self.context.session.report_progress(progress, total, message)


class MultiRoundTripCalls:
    """The running and suspended calls. `close` cancels the suspended ones."""

    def __init__(self, levels: LogLevels) -> None:
        self._levels = levels
        self._tasks = Tasks()
        self._suspended: dict[str, tuple[MultiRoundTripCall, asyncio.Task[object], asyncio.TimerHandle]] = {}

    async def close(self) -> None:
        """Cancel every suspended call."""
        for _, _, expiry in self._suspended.values():
            expiry.cancel()
        self._suspended.clear()
        await self._tasks.close()

    async def run[R](
        self, context: RequestContext, params: InputResponseRequestParams, work: Callable[[MultiRoundTripCall], Awaitable[R]]
    ) -> R | InputRequiredResult:
        """Start the work or resume it; the result may be a list of requests. Raises MCPError, and as the work does."""
        if params.request_state is not None:
            return await self._result_or_requests(*self._resume_call(context, params.request_state, params.input_responses or {}))  # type: ignore[return-value] # the same call's
        if len(self._suspended) >= MAX_SUSPENDED:
            raise MCPError(INVALID_PARAMS, f"{MAX_SUSPENDED} calls already wait for an answer of their clients")
        call = MultiRoundTripCall(context, self._levels)
        return await self._result_or_requests(call, self._tasks.start(_outcome(work(call)), name="multi-round-trip call"))  # type: ignore[return-value]

    def _resume_call(
        self, context: RequestContext, state: str, answers: dict[str, InputResponse]
    ) -> tuple[MultiRoundTripCall, asyncio.Task[object]]:
        found = self._suspended.get(state)
        if found is None or found[0].caller != _caller_of(context):
            raise MCPError(INVALID_PARAMS, "this call does not wait for an answer any more: call the tool anew")
        call, work, expiry = found
        del self._suspended[state]
        expiry.cancel()
        call.answer(context, answers)
        return call, work

    async def _result_or_requests(self, call: MultiRoundTripCall, work: asyncio.Task[object]) -> object:
        """Wait for the result or for requests to the client. A client that disconnects cancels the work."""
        while not work.done() and not call.requests:
            await self._first_of(work, call.has_requests)
        if work.done():
            result = work.result()
            if isinstance(result, Exception):
                raise result
            return result
        call.context = None
        state = secrets.token_urlsafe(24)
        expiry = asyncio.get_running_loop().call_later(RESUME_SECONDS, self._expire, state)
        self._suspended[state] = (call, work, expiry)
        return InputRequiredResult(input_requests=call.requests, request_state=state)

    async def _first_of(self, work: asyncio.Task[object], has_requests: asyncio.Event) -> None:
        waiting = self._tasks.start(has_requests.wait())
        try:
            await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            waiting.cancel()

    def _expire(self, state: str) -> None:
        found = self._suspended.pop(state, None)
        if found:
            found[1].cancel()


async def _outcome[R](work: Awaitable[R]) -> R | Exception:
    """The result or the exception, which the request re-raises instead of the background task."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - given as a value: the request that waits raises it
        return error


def _caller_of(context: RequestContext) -> str:
    return http_request(context).headers.get(CALLER, "")
