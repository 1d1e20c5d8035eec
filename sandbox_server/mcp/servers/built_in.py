"""The built-in upstream server: chrome-devtools-mcp, for agents that debug pages."""

import json
import logging
import os

from mcp_types import ListToolsResult, Tool

from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.settings import Settings

DEVTOOLS = "chrome_devtools"
PACKAGES = "/opt/chrome-devtools"
RECORD = f"{PACKAGES}/tools.json"
"""Its tool list, recorded when the image was built, so that `tools/list` does not start it."""

_log = logging.getLogger(__name__)


def built_in(settings: Settings) -> dict[str, ServerConfig]:
    """The built-in servers, unless the settings disable them or the browser."""
    left_out = settings.components.left_out
    if "browser" in left_out or "chrome-devtools" in left_out or not os.path.isdir(PACKAGES):
        return {}
    launcher = f"{settings.paths.code}/sandbox_server/mcp/servers/chrome-devtools.mjs"
    arguments = (launcher, PACKAGES, str(settings.gateway.port), f"{settings.paths.agent_run}/token", settings.agent.home)
    quiet = {"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"}
    return {DEVTOOLS: ServerConfig(command="node", args=arguments, env=quiet, scope="browser", tags=("browser",))}


def recorded_tools() -> dict[str, list[Tool]]:
    """The tool lists that were recorded when the image was built."""
    try:
        with open(RECORD, encoding="utf-8") as file:
            return {DEVTOOLS: ListToolsResult.model_validate(json.load(file), by_name=False).tools}
    except (OSError, ValueError) as error:
        _log.info("the tools of %s are not recorded: %s", DEVTOOLS, error)
        return {}
