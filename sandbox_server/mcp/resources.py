"""The API's own MCP resources: the screen, the terminals, the downloads."""

import base64
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

import httpx2
from mcp_types import BlobResourceContents, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from sandbox_server.core.errors import Conflict, Failure, NotFound
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient

SCREEN = "sandbox://screen"
TERMINAL = "sandbox://terminal/"
DOWNLOAD = "sandbox://downloads/"
_TEMPLATES = {
    "shell": ResourceTemplate(
        uri_template=f"{TERMINAL}{{session}}", name="terminal", description="What a shell session shows.", mime_type="text/plain"
    ),
    "files": ResourceTemplate(uri_template=f"{DOWNLOAD}{{name}}", name="download", description="A file that the browser downloaded."),
}

type Headers = Mapping[str, str]


class ApiResources:
    """Lists and reads the API's resources. Every request carries the caller's headers and passes the API's guards."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    async def listed(self, tool_filter: ToolFilter, headers: Headers) -> list[Resource]:
        """The resources that the caller may read now. A component that is down has none."""
        found: list[Resource] = []
        if tool_filter.may_use("browser"):
            found.append(Resource(uri=SCREEN, name="screen", description="The desktop as it looks now.", mime_type="image/png"))
        if tool_filter.may_use("shell"):
            found += [_terminal(session) for session in (await self._data("/v1/shell/sessions", headers) or {}).get("sessions", ())]
        if tool_filter.may_use("browser") and tool_filter.may_use("files"):
            found += [_download(path) for path in await self._downloads(headers)]
        return found

    def templates(self, tool_filter: ToolFilter) -> list[ResourceTemplate]:
        """The resource templates that the caller may use."""
        return [template for scope, template in _TEMPLATES.items() if tool_filter.may_use(scope)]

    async def read(self, uri: str, headers: Headers) -> ReadResourceResult | None:
        """Read a resource; None for a URI that is not the API's. Raises NotFound, and Conflict with the API's message."""
        if uri == SCREEN:
            return _bytes(uri, await self._answer("GET", "/v1/screen/screenshot", headers, query={"format": "png"}))
        if uri.startswith(TERMINAL):
            session = unquote(uri.removeprefix(TERMINAL))
            shown = await self._answer("POST", "/v1/shell/view", headers, body={"id": session})
            text = TextResourceContents(uri=uri, text=shown.json()["data"]["output"], mime_type="text/plain")
            return ReadResourceResult(contents=[text])
        if uri.startswith(DOWNLOAD):
            name = unquote(uri.removeprefix(DOWNLOAD))
            for path in await self._downloads(headers):
                if PurePosixPath(path).name == name:
                    return _bytes(uri, await self._answer("GET", "/v1/file/download", headers, query={"path": path}))
            raise NotFound(f"no download {name!r}")
        return None

    async def _downloads(self, headers: Headers) -> list[str]:
        return [download["path"] for download in await self._data("/v1/browser/downloads", headers) or () if download["path"]]

    async def _data(self, path: str, headers: Headers) -> Any:
        try:
            return (await self._answer("GET", path, headers)).json()["data"]
        except Failure:
            return None

    async def _answer(self, verb: str, path: str, headers: Headers, **more: Any) -> httpx2.Response:
        answer = await self._api.send(verb, path, headers, **more)
        if answer.status_code != 200:
            error = answer.json() if answer.headers["content-type"].startswith("application/json") else {}
            raise Conflict(error.get("message") or f"the API answered {answer.status_code}", hint=error.get("hint"))
        return answer


def _terminal(session: str) -> Resource:
    return Resource(uri=f"{TERMINAL}{quote(session, safe='')}", name=f"terminal {session}", mime_type="text/plain")


def _download(path: str) -> Resource:
    name = PurePosixPath(path).name
    return Resource(uri=f"{DOWNLOAD}{quote(name, safe='')}", name=name, description=path)


def _bytes(uri: str, answer: httpx2.Response) -> ReadResourceResult:
    media_type = answer.headers["content-type"].partition(";")[0] or "application/octet-stream"
    blob = base64.b64encode(answer.content).decode()
    return ReadResourceResult(contents=[BlobResourceContents(uri=uri, blob=blob, mime_type=media_type)])
