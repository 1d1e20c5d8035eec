"""Information about the computer: its system, the installed tools, and a description for agents."""

import asyncio
import platform
from typing import Literal

from pydantic import Field

from sandbox_server.core import Blob, Failure, Model, Reply, operation
from sandbox_server.drivers.stats import system
from sandbox_server.drivers.stats.toolbox import Interpreter, Toolbox
from sandbox_server.drivers.workload_identity.binding import BindingStore
from sandbox_server.settings import AgentSettings

MENDED = (
    "Runtimes and tools are not known: nothing starts in the box. POST /v1/checkpoints/image/restore goes back to the image, "
    "POST /v1/checkpoints/{checkpoint_id}/restore to another state."
)
PYTHONS = ("python3", "python3.10", "python3.11", "python3.12", "python3.13", "python")
NODES = ("node", "node20", "node22", "node24")

TOOLS: dict[str, dict[str, str]] = {
    "Shell": {"bash": "Shell", "tmux": "Terminal multiplexer", "sudo": "Run a command as root"},
    "Text editors": {"vim": "Editor", "vi": "Editor", "nano": "Editor"},
    "File operations": {
        "curl": "Transfer a URL",
        "wget": "Download a URL",
        "tar": "Archives",
        "zip": "Zip archives",
        "unzip": "Unpack zip archives",
        "tree": "Draw a directory",
        "rsync": "Copy and synchronise",
    },
    "Text processing": {
        "rg": "Search in files",
        "grep": "Search in text",
        "sed": "Edit a stream",
        "awk": "Process fields",
        "jq": "Query JSON",
    },
    "Development": {
        "git": "Version control",
        "gh": "GitHub",
        "python3": "Python",
        "pip3": "Python packages",
        "uv": "Python packages and environments",
        "node": "JavaScript",
        "npm": "JavaScript packages",
        "gcc": "C compiler",
        "make": "Build tool",
    },
    "Network": {"ssh": "Remote shell", "ping": "Reachability", "nc": "Sockets"},
    "System": {"ps": "Processes", "top": "Processes, live", "htop": "Processes, live"},
}
"""Tools by category. Only installed ones are listed."""


class ToolSpec(Model):
    ver: str | None = None
    """Version."""
    bin: str | None = None
    """Absolute path of the program."""
    alias: list[str] = Field(default_factory=list)
    """Commands that start it."""


class SystemEnv(Model):
    os: str
    os_version: str
    arch: str
    user: str
    """The agent's user."""
    home_dir: str
    workspace: str | None = None
    timezone: str
    occupied_ports: list[str]
    """TCP ports with a listener."""


class RuntimeEnv(Model):
    python: list[ToolSpec]
    nodejs: list[ToolSpec]


class AvailableTool(Model):
    name: str
    description: str | None = None


class ToolCategory(Model):
    category: str
    tools: list[AvailableTool]


class SandboxDetail(Model):
    system: SystemEnv
    runtime: RuntimeEnv
    utils: list[ToolCategory]


class BindingDetail(Model):
    """Which sandbox it is, and whom it works for."""

    sandbox_id: str
    tenant: str | None = None
    task: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)


class SandboxResponse(Model):
    """An answer with more keys than the envelope's."""

    success: bool = True
    message: str | None = "Environment information retrieved"
    data: str | None = None
    """The same in prose, for a model to read."""
    hint: str | None = None
    home_dir: str
    workspace: str | None = None
    version: str
    detail: SandboxDetail
    binding: BindingDetail | None = None


class Package(Model):
    name: str
    version: str


class PackagesRequest(Model):
    language: Literal["python", "py", "nodejs", "node"] | None = None
    """The language of the packages; both if absent."""


class Sandbox:
    """Describes the computer. `root`: whether the agent's `sudo` works."""

    tag = "sandbox"

    def __init__(
        self, toolbox: Toolbox, agent: AgentSettings, version: str, *, root: bool = False, bindings: BindingStore | None = None
    ) -> None:
        self._toolbox = toolbox
        self._agent = agent
        self._version = four_numbers(version)
        self._root = root
        self._bindings = bindings

    @operation("GET /v1/sandbox", scope="view", tool="sandbox_get_context", envelope=False)
    async def get_context(self) -> SandboxResponse:
        """Describe the computer: system, runtimes, tools and the workspace."""
        (runtime, utilities), missing = await self._probe_box()
        detail = SandboxDetail(system=self._system(), runtime=runtime, utils=utilities)
        return SandboxResponse(
            data=prose(detail, self._version, root=self._root, online=system.has_route()),
            hint=missing,
            home_dir=self._agent.home,
            workspace=self._agent.workspace,
            version=self._version,
            detail=detail,
            binding=self._binding(),
        )

    def _binding(self) -> BindingDetail | None:
        if self._bindings is None:
            return None
        bound = self._bindings.current
        return BindingDetail(sandbox_id=self._bindings.sandbox_id, tenant=bound.tenant, task=bound.task, labels=dict(bound.labels))

    async def _probe_box(self) -> tuple[tuple[RuntimeEnv, list[ToolCategory]], str | None]:
        """Return what programs in the box report; nothing and the reason if no process can start in it."""
        try:
            return await asyncio.gather(self._runtime(), self._utilities()), None
        except Failure as failure:
            return (RuntimeEnv(python=[], nodejs=[]), []), f"{MENDED} ({failure.message})"

    @operation("GET /llms.txt", scope="view", media_type="text/plain")
    async def llms_txt(self) -> Blob:
        """Describe the computer in prose."""
        context = await self.get_context()
        return Blob((context.data or "").encode(), "text/plain; charset=utf-8")

    @operation("GET /v1/sandbox/packages/python", scope="view")
    async def get_python_packages(self) -> list[Package]:
        """List the Python packages that the agent's interpreter sees."""
        return [Package(name=name, version=version) for name, version in await self._toolbox.python_packages()]

    @operation("GET /v1/sandbox/packages/nodejs", scope="view")
    async def get_nodejs_packages(self) -> list[Package]:
        """List the Node.js packages that are installed globally."""
        return [Package(name=name, version=version) for name, version in await self._toolbox.node_packages()]

    @operation("GET /v1/sandbox/packages", scope="view", tool="sandbox_get_packages")
    async def get_packages(self, request: PackagesRequest) -> Reply[str]:
        """List installed packages as text, one `  - name==version` a line."""
        wanted = {"py": "python", "node": "nodejs"}.get(request.language or "", request.language)
        sections = []
        if wanted != "nodejs":
            sections.append(_listing("Python Packages:", await self._toolbox.python_packages()))
        if wanted != "python":
            sections.append(_listing("Node.js Packages:", await self._toolbox.node_packages()))
        return Reply("\n".join(sections))

    def _system(self) -> SystemEnv:
        release = system.release()
        return SystemEnv(
            os=release.name,
            os_version=release.version,
            arch=platform.machine(),
            user=self._agent.user,
            home_dir=self._agent.home,
            workspace=self._agent.workspace,
            timezone=system.timezone(),
            occupied_ports=[str(port) for port in system.listening_ports()],
        )

    async def _runtime(self) -> RuntimeEnv:
        pythons, nodes = await asyncio.gather(
            self._toolbox.interpreters("python", PYTHONS),
            self._toolbox.interpreters("nodejs", NODES),
        )
        return RuntimeEnv(python=[_tool(found) for found in pythons], nodejs=[_tool(found) for found in nodes])

    async def _utilities(self) -> list[ToolCategory]:
        present = await self._toolbox.present([name for tools in TOOLS.values() for name in tools])
        categories = {
            category: [AvailableTool(name=name, description=text) for name, text in tools.items() if name in present]
            for category, tools in TOOLS.items()
        }
        return [ToolCategory(category=category, tools=tools) for category, tools in categories.items() if tools]


def prose(detail: SandboxDetail, version: str, *, root: bool, online: bool) -> str:
    """Format the description for a model: short lines under three headings, and where to read more."""
    env = detail.system
    lines = [
        f"System Environment (v{version}):",
        f"- {env.os} {env.os_version} ({env.arch}), {'with' if online else 'without'} internet access",
        f"- User: {env.user}, {'with' if root else 'without'} sudo privileges",
        f"- Home directory: {env.home_dir}",
        f"- Workspace: {env.workspace}",
        f"- Timezone: {env.timezone}",
        f"- Occupied Ports: {','.join(env.occupied_ports) or 'none'}",
        "",
        "Development Environment:",
        *(f"- Python {tool.ver} (commands: {', '.join(tool.alias)})" for tool in detail.runtime.python),
        *(f"- Node.js {tool.ver} (commands: {', '.join(tool.alias)})" for tool in detail.runtime.nodejs),
        "",
        "Available Tools:",
        *(f"- {found.category}: {', '.join(tool.name for tool in found.tools)}" for found in detail.utils),
        "",
        "Documentation:",
        "- API: /v1/docs, as OpenAPI /v1/openapi.json",
        "- MCP: /mcp",
    ]
    return "\n".join(lines)


def four_numbers(version: str) -> str:
    """Return a version with the four numbers that clients of the contract expect."""
    return ".".join([*version.split("."), "0", "0", "0"][:4])


def _tool(found: Interpreter) -> ToolSpec:
    return ToolSpec(ver=found.version, bin=found.path, alias=list(found.commands))


def _listing(title: str, packages: list[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"  - {name}=={version}" for name, version in packages)])
