"""Calls of clients of protocol 2026-07-28, which are asked by the answer to their call: they send it again with what they answer.

The work goes on in between, so that a server that waits for the answer on its own connection need not know of it.
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

from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.client_requests.clients import ClientAnswer, missing_capability, refused, send_log
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.tools.api_tools import Context, request_of

PARKED_SECONDS = 3600.0
"""How long a call waits for the client to come again with its answers."""
MAX_PARKED = 64


class MultiRoundTripCall:
    """One call, through all the requests that it takes; it is the work's way to ask."""

    waits_for_input = True

    def __init__(self, context: Context, levels: LogLevels) -> None:
        self.caller = _caller_of(context)
        self.client = secrets.token_hex(16)
        self.context: Context | None = context
        """The request that waits for it; None while the client answers."""
        self.asked = asyncio.Event()
        self._able = context.session.client_capabilities
        self._levels = levels
        self._questions: dict[str, tuple[InputRequest, asyncio.Future[InputResponse]]] = {}

    @property
    def questions(self) -> dict[str, InputRequest]:
        """What the client has to answer."""
        return {key: request for key, (request, _) in self._questions.items()}

    def answer(self, context: Context, answers: dict[str, InputResponse]) -> None:
        """Go on, for the request with the answers; what was asked and is not answered is asked again."""
        self.context = context
        for key, answer in answers.items():
            if key in self._questions and not self._questions[key][1].done():
                self._questions[key][1].set_result(answer)
                del self._questions[key]
        if not self._questions:
            self.asked.clear()

    def refusal(self, request: InputRequest) -> str | None:
        """What the call said of its client."""
        return missing_capability(request, self._able)

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Ask, and wait until the client comes again; a question that is withdrawn before it was sent is not asked."""
        if reason := self.refusal(request):
            return refused(reason)
        key = secrets.token_hex(8)
        future: asyncio.Future[InputResponse] = asyncio.get_running_loop().create_future()
        self._questions[key] = (request, future)
        self.asked.set()
        try:
            return await future
        finally:
            self._questions.pop(key, None)
            if not self._questions:
                self.asked.clear()

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Send it along with the request that waits."""
        if self.context:
            await send_log(self.context, self._levels, entry)

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send it along with the request that waits."""
        if self.context:
            await self.context.session.report_progress(progress, total, message)


class MultiRoundTripCalls:
    """The calls that wait for their clients' answers; end them with `close`."""

    def __init__(self, levels: LogLevels) -> None:
        self._levels = levels
        self._tasks = Tasks()
        self._parked: dict[str, tuple[MultiRoundTripCall, asyncio.Task[object], asyncio.TimerHandle]] = {}

    async def close(self) -> None:
        """End every call that still waits."""
        for _, _, expiry in self._parked.values():
            expiry.cancel()
        self._parked.clear()
        await self._tasks.close()

    async def serve[R](
        self, context: Context, params: InputResponseRequestParams, work: Callable[[MultiRoundTripCall], Awaitable[R]]
    ) -> R | InputRequiredResult:
        """Do the work, or go on with it; what has to be asked first is the result then. Raises MCPError, and as the work does."""
        if params.request_state is not None:
            return await self._next(*self._taken(context, params.request_state, params.input_responses or {}))  # type: ignore[return-value] # the same call's
        if len(self._parked) >= MAX_PARKED:
            raise MCPError(INVALID_PARAMS, f"{MAX_PARKED} calls wait for an answer of their clients already")
        begun = MultiRoundTripCall(context, self._levels)
        return await self._next(begun, self._tasks.start(_outcome(work(begun)), name="call in rounds"))  # type: ignore[return-value]

    def _taken(self, context: Context, state: str, answers: dict[str, InputResponse]) -> tuple[MultiRoundTripCall, asyncio.Task[object]]:
        found = self._parked.get(state)
        if found is None or found[0].caller != _caller_of(context):
            raise MCPError(INVALID_PARAMS, "this call does not wait for an answer any more: call the tool anew")
        parked, work, expiry = found
        del self._parked[state]
        expiry.cancel()
        parked.answer(context, answers)
        return parked, work

    async def _next(self, begun: MultiRoundTripCall, work: asyncio.Task[object]) -> object:
        """Wait for the result or for something to ask; a client that goes away meanwhile ends the work."""
        while not work.done() and not begun.questions:
            await self._either(work, begun.asked)
        if work.done():
            result = work.result()
            if isinstance(result, Exception):
                raise result
            return result
        begun.context = None
        state = secrets.token_urlsafe(24)
        expiry = asyncio.get_running_loop().call_later(PARKED_SECONDS, self._expire, state)
        self._parked[state] = (begun, work, expiry)
        return InputRequiredResult(input_requests=begun.questions, request_state=state)

    async def _either(self, work: asyncio.Task[object], asked: asyncio.Event) -> None:
        asking = self._tasks.start(asked.wait())
        try:
            await asyncio.wait([work, asking], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            asking.cancel()

    def _expire(self, state: str) -> None:
        found = self._parked.pop(state, None)
        if found:
            found[1].cancel()


async def _outcome[R](work: Awaitable[R]) -> R | Exception:
    """The result, or what was raised, which is then its request's to tell and no defect of a background task."""
    try:
        return await work
    except Exception as error:
        return error


def _caller_of(context: Context) -> str:
    return request_of(context).headers.get("x-sandbox-caller", "")
