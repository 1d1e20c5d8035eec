"""The agent's tools: skills, tools of other MCP servers, document conversion, and ports."""

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.clients.mcp_process import McpProcessClient
from sandbox_server.drivers.documents.markdown import Conversion
from sandbox_server.drivers.documents.web_markdown import Web
from sandbox_server.drivers.documents.web_reach import WebReach
from sandbox_server.drivers.ports.holders import PortHolders
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.markdown_conversion import MarkdownConversion
from sandbox_server.features.mcp.servers import McpServers
from sandbox_server.features.mcp.tools import McpTools
from sandbox_server.features.ports.ports import PortViews
from sandbox_server.features.skills.folders import SkillFolders
from sandbox_server.features.skills.skills import Skills

if TYPE_CHECKING:
    import httpx2


def build_ports(machine: MachineParts) -> PortViews:
    """Make what lists and shares ports."""
    settings = machine.settings
    holders = PortHolders(machine.processes, "root" if settings.agent.sudo else "agent")
    return PortViews(machine.ports, holders, machine.shares, settings.auth.preview_domain)


def build_agent_tools(machine: MachineParts, ports: PortViews, way: Callable[[str], str | None]) -> ProductPart:
    """Make them. `way` returns the proxy for a host, or None."""
    settings, processes, files, paths = machine.settings, machine.processes, machine.files, machine.settings.paths
    fetching = settings.fetching
    reach = WebReach(machine.ports, fetching.allow)
    network = agent_transport(machine) if machine.isolation.egress != "off" else None
    web = Web(reach, paths.spool, max_bytes=fetching.max_bytes, seconds=fetching.seconds, proxy=way, network=network)
    skills = Skills(files, SkillFolders(files, processes), JsonFile(f"{paths.run}/skills.json"), settings.skills.paths)
    mcp_process = McpProcessClient(paths.socket("mcp"))
    return ProductPart(
        (skills, McpServers(mcp_process), McpTools(mcp_process), MarkdownConversion(Conversion(processes), web, files, paths.spool), ports)
    )


def agent_transport(machine: MachineParts) -> "Callable[[ssl.SSLContext], httpx2.AsyncBaseTransport]":
    """Return what makes transports to where the agent's programs may connect."""
    paths, ports = machine.settings.paths, machine.ports

    def make(authorities: ssl.SSLContext) -> "httpx2.AsyncBaseTransport":
        from sandbox_server.drivers.clients.agent_network import AgentNetwork  # a slow import, which few calls need

        allowed = machine.settings.fetching.allow
        return AgentNetwork(paths.egress_socket("fetches"), paths.socket("box-dial"), ports, allowed).transport(authorities)

    return make
