"""The code interpreter at port 49999, on a sandbox's kernels and sessions of Node.js."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from tandem_fleet.e2b.code_context import CodeContext, language_of
from tandem_fleet.e2b.code_outputs import failure, line, messages
from tandem_fleet.e2b.connect_protocol import RPCError, parse, read_body
from tandem_fleet.e2b.context import resolve
from tandem_fleet.e2b.messages import Message, Path
from tandem_fleet.e2b.sandbox_calls import SandboxCalls

PORT = 49999
MAX_SECONDS = 300
"""How long code may run: the sandbox's own limit."""
SET = 'exec("import os\\nos._e2b = {{n: os.environ.get(n) for n in E}}\\nos.environ.update(E)", {{"E": {variables}}})'
RESTORE = 'exec("import os\\nfor n, v in os._e2b.items():\\n    os.environ.pop(n, None) if v is None else os.environ.update({n: v})", {})'
"""Python that gives one execution variables of its own, and leaves no names behind."""


class ExecuteRequest(Message):
    """Code to run."""

    model_config = ConfigDict(alias_generator=str)

    code: str = ""
    context_id: str | None = Field(default=None, max_length=512)
    language: str | None = Field(default=None, max_length=64)
    env_vars: dict[str, str] = Field(default_factory=dict)


class ContextRequest(Message):
    """A context to make."""

    language: str | None = Field(default=None, max_length=64)
    cwd: Path | None = None


@dataclass(frozen=True)
class CodeInterpreter:
    """The interpreter of one sandbox."""

    calls: SandboxCalls
    environment: Mapping[str, str]

    async def answer(self, request: Request) -> Response:
        """Answer a request. Errors are text, as its clients expect them."""
        words = request.url.path.strip("/").split("/")
        try:
            match request.method, words:
                case "GET", ["health"]:
                    return PlainTextResponse("OK")
                case "POST", ["execute"]:
                    return await self._execute(await _parsed(ExecuteRequest, request))
                case "GET", ["contexts"]:
                    return JSONResponse([context.content for context in await self._contexts()])
                case "POST", ["contexts"]:
                    return JSONResponse((await self._create(await _parsed(ContextRequest, request))).content)
                case "DELETE", ["contexts", name]:
                    await self._remove(CodeContext.parse(name))
                    return JSONResponse(None)
                case "POST", ["contexts", name, "restart"]:
                    await self._remove(CodeContext.parse(name))
                    await self._open(CodeContext.parse(name))
                    return JSONResponse(None)
        except RPCError as error:
            status = {"not_found": 404, "invalid_argument": 400, "unavailable": 502}.get(error.code, 500)
            return PlainTextResponse(str(error), status)
        return PlainTextResponse("Not Found", 404)

    async def _execute(self, request: ExecuteRequest) -> Response:
        if request.context_id and request.language:
            raise RPCError("invalid_argument", "Only one of context_id or language can be provided")
        known = await self._contexts()
        if request.context_id:
            context = CodeContext.parse(request.context_id)
            if context not in known:
                raise RPCError("not_found", f"Context {request.context_id} not found")
        else:
            context = CodeContext(language_of(request.language), await self.calls.home())
            if context not in known:
                await self._open(context)
        run = self._run_python if context.is_python else self._run_node
        return StreamingResponse(_lines(run(context, request)), media_type="application/json")

    async def _run_python(self, context: CodeContext, request: ExecuteRequest) -> AsyncIterator[dict[str, Any]]:
        if request.env_vars:
            await self._quietly(context, SET.format(variables=ascii(dict(request.env_vars))))
        ended = False
        try:
            fields = {"code": request.code, "session_id": context.id, "timeout": MAX_SECONDS}
            stream = self.calls.events("/v1/jupyter/execute", fields)
            async with aclosing(stream):  # type: ignore[type-var] # a generator
                async for name, data in stream:
                    if name == "output":
                        for message in messages(data):
                            yield message
                    elif name == "exit":
                        ended = True
                        for message in _ended(data):
                            yield message
        finally:
            if not ended:
                self.calls.later(self._leave(context, restore=bool(request.env_vars)))
        if request.env_vars:
            await self._quietly(context, RESTORE)

    async def _run_node(self, context: CodeContext, request: ExecuteRequest) -> AsyncIterator[dict[str, Any]]:
        code = request.code
        if request.env_vars:
            code = f"Object.assign(process.env, {json.dumps(request.env_vars)});\n{code}"
        fields = {"code": code, "session_id": context.id, "timeout": MAX_SECONDS, "language": context.language}
        done = await self.calls.call("POST", "/v1/nodejs/execute", fields)
        for output in done.get("outputs") or ():
            for message in messages(output):
                yield message
        for message in _ended(done):
            yield message

    async def _contexts(self) -> list[CodeContext]:
        found = []
        for kind in ("jupyter", "nodejs"):
            for name in (await self.calls.call("GET", f"/v1/{kind}/sessions"))["sessions"]:
                try:
                    found.append(CodeContext.parse(name))
                except RPCError:
                    continue  # a session that is not of this protocol
        return found

    async def _create(self, request: ContextRequest) -> CodeContext:
        context = CodeContext.new(language_of(request.language), resolve(request.cwd or "", await self.calls.home()))
        await self._open(context)
        return context

    async def _open(self, context: CodeContext) -> None:
        """Make the session of a context, with the sandbox's variables."""
        fields = {"session_id": context.id, "cwd": context.directory}
        if not context.is_python:
            await self.calls.call("POST", "/v1/nodejs/sessions", fields)
            if self.environment:
                code = f"Object.assign(process.env, {json.dumps(dict(self.environment))}); undefined"
                await self.calls.call("POST", "/v1/nodejs/execute", {"code": code, "session_id": context.id})
            return
        await self.calls.call("POST", "/v1/jupyter/sessions/create", fields)
        if self.environment:
            await self._quietly(context, SET.format(variables=ascii(dict(self.environment))))

    async def _remove(self, context: CodeContext) -> None:
        kind = "jupyter" if context.is_python else "nodejs"
        await self.calls.call("DELETE", f"/v1/{kind}/sessions/{context.id}")

    async def _quietly(self, context: CodeContext, code: str) -> None:
        await self.calls.call("POST", "/v1/jupyter/execute", {"code": code, "session_id": context.id})

    async def _leave(self, context: CodeContext, *, restore: bool) -> None:
        """End what a caller who left does not wait for."""
        await self.calls.call("POST", f"/v1/jupyter/sessions/{context.id}/interrupt")
        if restore:
            await self._quietly(context, RESTORE)


async def _parsed(kind: type[Any], request: Request) -> Any:
    return parse(kind, await read_body(request))


def _ended(ended: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said at the end of an execution."""
    said: list[dict[str, Any]] = []
    if ended.get("status") == "timeout":
        said.append(failure("TimeoutError", f"the code ran for more than {MAX_SECONDS} s"))
    if ended.get("execution_count") is not None:
        said.append({"type": "number_of_executions", "execution_count": ended["execution_count"]})
    return said


async def _lines(said: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    try:
        async with aclosing(said):  # type: ignore[type-var] # a generator
            async for message in said:
                yield line(message)
    except RPCError as error:
        yield line(failure("SandboxError", str(error)))
