"""The methods of tasks: `tasks/get`, `tasks/result`, `tasks/list`, `tasks/cancel` and `tasks/update`.

A task belongs to the caller who started it. A caller who may not use its tool does not find it either.
"""

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CancelTaskRequestParams,
    CancelTaskResult,
    CreateTaskResult,
    ErrorData,
    GetTaskRequestParams,
    GetTaskResult,
    ListTasksResult,
    PaginatedRequestParams,
    ServerTasksCapability,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sandbox_server.core.errors import Failure
from sandbox_server.core.identity import Caller
from sandbox_server.mcp.tasks.store import TaskStore
from sandbox_server.mcp.tasks.task import EXTENSION, ToolTask
from sandbox_server.mcp.tasks.waiting_calls import KEPT_SECONDS, WaitingCalls, seconds_of, waits_long
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.catalog import ApiTool
from sandbox_server.mcp.tools.results import failed_result, failure_text
from sandbox_server.mcp.transport.request_context import RequestContext, http_request

PAGE = 50
MAX_TTL = 10**9
"""In milliseconds; the store's limit is lower."""
CAPABILITY = ServerTasksCapability.model_validate({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
"""What versions with a handshake declare."""


class TaskMethods:
    """Starts tasks and answers what clients ask of them."""

    def __init__(self, store: TaskStore, calls: WaitingCalls) -> None:
        self._store = store
        self._calls = calls

    def register(self, server: Server[Any]) -> None:
        """Add the methods, and tasks in place of results, to a server."""
        server.middleware.append(self.augmented_call)
        server.add_request_handler("tasks/get", GetTaskRequestParams, self.get)
        server.add_request_handler("tasks/result", GetTaskRequestParams, self.result)
        server.add_request_handler("tasks/cancel", CancelTaskRequestParams, self.cancel)
        server.add_request_handler("tasks/list", PaginatedRequestParams, self.list)
        server.add_request_handler("tasks/update", GetTaskRequestParams, self.update)

    async def augmented_call(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a `tools/call` that asks for a task by its field `task`. Versions without that field ignore it."""
        if ctx.method != "tools/call" or _modern(ctx) or not isinstance((ctx.params or {}).get("task"), dict):
            return await call_next(ctx)
        params = CallToolRequestParams.model_validate(ctx.params, by_name=False)
        found = await self._taskable(ctx, params.name)
        if found is None:
            raise MCPError(METHOD_NOT_FOUND, f"{params.name} cannot be called as a task")
        ttl = params.task.ttl if params.task else None
        try:
            return CreateTaskResult(task=self._start(ctx, found, params, ttl).described())
        except Failure as failure:
            return failed_result(failure_text(failure))

    async def instead_of_result(self, context: RequestContext, params: CallToolRequestParams) -> dict[str, Any] | None:
        """The task in place of a result, for a client of the extension whose call waits long; None otherwise. Raises Failure."""
        if not _modern(context) or not _declares(context) or not waits_long(params.name, params.arguments or {}):
            return None
        found = await self._taskable(context, params.name)
        return {"resultType": "task", **self._start(context, found, params, None).extension_fields()} if found else None

    async def get(self, context: RequestContext, params: GetTaskRequestParams) -> GetTaskResult | dict[str, Any]:
        """Describe a task; in the extension with its result."""
        task = await self._own(context, params.task_id)
        return task.extension_fields() if _modern(context) else GetTaskResult.model_validate(task.described().model_dump())

    async def result(self, context: RequestContext, params: GetTaskRequestParams) -> dict[str, Any] | ErrorData:
        """Wait for the end of a task, and answer as its call would have."""
        _only_handshake(context)
        task = await self._own(context, params.task_id)
        await task.ended.wait()
        return task.outcome()

    async def cancel(self, context: RequestContext, params: CancelTaskRequestParams) -> CancelTaskResult | dict[str, Any]:
        """Cancel a task, and what it began."""
        task = await self._own(context, params.task_id)
        if not task.ended.is_set():
            await self._store.cancel(task)
        elif not _modern(context):
            raise MCPError(INVALID_PARAMS, f"the task has ended already: it is {task.status(modern=False)}")
        return {} if _modern(context) else CancelTaskResult.model_validate(task.described().model_dump())

    async def list(self, context: RequestContext, params: PaginatedRequestParams) -> ListTasksResult:
        """List the caller's tasks by pages, oldest first. A cursor is the id of the last task of a page."""
        _only_handshake(context)
        own = [task for task in self._store.listed(_caller(context).name) if await self._may_use(context, task)]
        ids = [task.id for task in own]
        if params.cursor is not None and params.cursor not in ids:
            raise MCPError(INVALID_PARAMS, "this cursor is not known any more: list from the beginning")
        left = own[ids.index(params.cursor) + 1 :] if params.cursor is not None else own
        page = left[:PAGE]
        return ListTasksResult(tasks=[task.described() for task in page], next_cursor=page[-1].id if len(left) > PAGE else None)

    async def update(self, context: RequestContext, params: GetTaskRequestParams) -> dict[str, Any]:
        """Acknowledge answers to a task's questions. Tasks ask nothing here: people answer on the sandbox's own pages."""
        if not _modern(context):
            raise MCPError(METHOD_NOT_FOUND, "Method not found")
        await self._own(context, params.task_id)
        return {}

    async def _taskable(self, context: RequestContext, name: str) -> ApiTool | None:
        tool_filter = filter_of(http_request(context))
        tool = await self._calls.own.find(name, tool_filter)
        return tool if tool and await self._calls.may_run(tool, tool_filter) else None

    def _start(self, context: RequestContext, tool: ApiTool, params: CallToolRequestParams, ttl: int | None) -> ToolTask:
        request, arguments = http_request(context), params.arguments or {}
        seconds = seconds_of(tool.name, arguments) + KEPT_SECONDS if ttl is None else min(max(0, ttl), MAX_TTL) / 1000
        return self._store.start(_caller(context), tool.name, seconds, lambda note: self._calls.run(request, tool, arguments, note))

    async def _own(self, context: RequestContext, task_id: str) -> ToolTask:
        if _modern(context) and not _declares(context):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client does not declare {EXTENSION}", data=needed)
        task = self._store.find(task_id, _caller(context).name)
        if task is None or not await self._may_use(context, task):
            raise MCPError(INVALID_PARAMS, "there is no such task, or its time has passed")
        return task

    async def _may_use(self, context: RequestContext, task: ToolTask) -> bool:
        """Whether the request's credential may use the task's tool, whatever its URL asks for."""
        asked = filter_of(http_request(context))
        return await self._calls.own.find(task.tool, ToolFilter(asked.scopes, allowed=asked.allowed)) is not None


def _caller(context: RequestContext) -> Caller:
    caller = Caller.from_headers(http_request(context).headers)
    if caller is None:
        raise MCPError(INVALID_PARAMS, "the request names no caller")
    return caller


def _modern(context: RequestContext) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _declares(context: RequestContext) -> bool:
    capabilities = context.session.client_capabilities
    return bool(capabilities and capabilities.extensions and EXTENSION in capabilities.extensions)


def _only_handshake(context: RequestContext) -> None:
    if _modern(context):
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
