"""The operations on code in any language."""

from typing import Any

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.nodes.nodes import STRIPS_TYPES, Nodes
from sandbox_server.features.code.execution import (
    DEFAULT_TIMEOUT,
    MAX_TIMEOUT,
    BashRunner,
    CodeExecuteRequest,
    CodeExecuteResponse,
    Language,
    NodeRunner,
    PythonRunner,
)


class CodeLanguage(Model):
    """One language."""

    language: Language
    description: str
    runtime_version: str | None = None
    default_timeout: int = Field(default=DEFAULT_TIMEOUT, ge=1, le=MAX_TIMEOUT)
    max_timeout: int = Field(default=MAX_TIMEOUT, ge=1, le=MAX_TIMEOUT)
    details: dict[str, Any] = Field(default_factory=dict)


class CodeInfoResponse(Model):
    """The available languages."""

    languages: list[CodeLanguage]


class Code:
    """Runs code by its language."""

    tag = "code"

    def __init__(self, kernels: Kernels, nodes: Nodes, python: PythonRunner, node: NodeRunner, bash: BashRunner) -> None:
        self._kernels = kernels
        self._nodes = nodes
        self._runners: dict[Language, PythonRunner | NodeRunner | BashRunner] = {
            "python": python,
            "javascript": node,
            "typescript": node,
            "bash": bash,
        }

    @operation("POST /v1/code/execute", scope="code", tool="sandbox_execute_code", destructive=True, acts="shell")
    async def execute_code(self, request: CodeExecuteRequest) -> Reply[CodeExecuteResponse]:
        """Run code and return its output, its result and how it ended.

        Python runs as in a notebook: the value of a last expression, plots and tables are outputs. JavaScript and
        TypeScript run as a program, or with `stateful` as in a console. No state is kept unless `stateful` is set.
        """
        if request.cwd and not request.cwd.startswith("/"):
            raise InvalidArgument(f"cwd {request.cwd!r} is not an absolute path", field="cwd")
        return await self._runners[request.language].run(request)

    @operation("GET /v1/code/info", scope="view")
    async def get_info(self) -> CodeInfoResponse:
        """List the available languages with their versions."""
        pythons, nodes = await self._kernels.pythons.all(), await self._nodes.all()
        languages = [CodeLanguage(language="bash", description="A script in a process of its own")]
        if nodes:
            node = await self._nodes.get(None)
            details = {"available_versions": list(nodes)}
            program = "A program in Node.js, or with `stateful` a session that remembers"
            languages.insert(0, CodeLanguage(language="javascript", description=program, runtime_version=node.version, details=details))
            if node.major >= STRIPS_TYPES:
                typed = "JavaScript with types, which are stripped and not checked"
                languages.insert(1, CodeLanguage(language="typescript", description=typed, runtime_version=node.version, details=details))
        if python := pythons.get(self._kernels.default):
            known = {"kernel_name": self._kernels.default, "available_kernels": list(pythons)}
            cell = "A notebook's cell, with `stateful` in a session that remembers"
            languages.insert(0, CodeLanguage(language="python", description=cell, runtime_version=python.version, details=known))
        return CodeInfoResponse(languages=languages)
