"""Ports that the agent's programs listen on: list them, wait for one, share one by a link."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from sandbox_server.core import Call, Model, operation
from sandbox_server.drivers.credentials.shares import PortShare, PortShares
from sandbox_server.drivers.ports.holders import Holder, PortHolders
from sandbox_server.drivers.ports.listening_ports import Listener, Ports
from sandbox_server.drivers.ports.preview_hosts import preview_host

MAX_WAIT = 300.0
MAX_SHARE_SECONDS = 30 * 86400.0


class ListPorts(Model):
    wait: int | None = Field(default=None, ge=1, le=65535)
    """A port to wait for, until a program listens on it."""
    timeout: float = Field(default=30.0, ge=0, le=MAX_WAIT)
    """Seconds to wait."""


class PortProcess(Model):
    pid: int
    """Process id as in the agent's shells."""
    command: str


class ListeningPort(Model):
    port: int
    address: str
    """The listening address; an unspecified address means every address of this machine."""
    process: PortProcess | None
    """The listening process; null if unknown."""
    url: str
    """Preview URL for a signed-in browser."""


class PortList(Model):
    ports: list[ListeningPort]
    """Ordered by number, without the sandbox's own."""
    ready: bool | None
    """Whether a program listens on the awaited port; null if none was given."""


class SharePort(Model):
    port: int = Field(ge=1, le=65535)
    ttl: float = Field(default=3600.0, ge=1, le=MAX_SHARE_SECONDS)
    """Seconds until the link expires, at most 30 days."""
    note: str = Field(default="", max_length=200)
    """A note for the list of links."""


class ShareLink(Model):
    share_id: str
    port: int
    created_at: float
    expires_at: float
    """Seconds since the epoch, as `created_at`."""
    created_by: str
    note: str


class NewShareLink(ShareLink):
    url: str
    """The link to share. It is shown only once."""


class ShareRef(Model):
    share_id: str


class PortViews:
    """The ports that may be previewed. `domain` is the setting PREVIEW_DOMAIN."""

    tag = "ports"

    def __init__(self, ports: Ports, holders: PortHolders, shares: PortShares, domain: str | None) -> None:
        self._ports = ports
        self._holders = holders
        self._shares = shares
        self._domain = domain

    @operation("GET /v1/ports", scope="code", tool="sandbox_list_ports")
    async def list_ports(self, request: ListPorts, call: Call) -> PortList:
        """List the ports that the agent's programs listen on, each with its program and preview URL. Editors are left out.

        With `wait`, answers as soon as a program listens on that port; `ready` says whether one does.
        """
        ready = None if request.wait is None else await self._ports.wait(request.wait, request.timeout)
        listeners = await self._ports.open()
        return PortList(ports=self.described(listeners, await self.holders_of(listeners), call), ready=ready)

    @operation("POST /v1/ports/{port}/share", scope="code")
    async def share_port(self, request: SharePort, call: Call) -> NewShareLink:
        """Make a link to one port, for anyone who can reach the gateway, until it expires or is revoked.

        The sandbox's own ports and the editors' are refused with 403.
        """
        self._ports.check_shareable(request.port)
        await self._ports.upstream(request.port)
        share, token = await asyncio.to_thread(self._shares.create, request.port, request.ttl, caller=call.caller.name, note=request.note)
        return NewShareLink(**_described(share), url=f"{self._url(request.port, call)}?share={token}")

    @operation("GET /v1/ports/shares", scope="code")
    async def list_shares(self) -> list[ShareLink]:
        """List the valid links."""
        return [ShareLink(**_described(share)) for share in self._shares.all()]

    @operation("DELETE /v1/ports/shares/{share_id}", scope="code")
    async def revoke_share(self, request: ShareRef) -> None:
        """Revoke a link. Its sessions are refused from the next request on."""
        await asyncio.to_thread(self._shares.revoke, request.share_id)

    async def holders_of(self, listeners: list[Listener]) -> Mapping[int, Holder]:
        """Find the processes that listen, by inode."""
        return await self._holders.find() if listeners else {}

    def described(self, listeners: list[Listener], holders: Mapping[int, Holder], call: Call) -> list[ListeningPort]:
        """Describe listeners to a caller, ordered by number."""
        return [self._shown(port, found, holders, call) for port, found in sorted(_by_port(listeners).items())]

    def _shown(self, port: int, found: list[Listener], holders: Mapping[int, Holder], call: Call) -> ListeningPort:
        holder = next((holders[listener.inode] for listener in found if listener.inode in holders), None)
        return ListeningPort(
            port=port,
            address=str(found[0].address),
            process=PortProcess(pid=holder.pid, command=holder.command) if holder else None,
            url=self._url(port, call),
        )

    def _url(self, port: int, call: Call) -> str:
        gateway = urlsplit(call.base_url)
        host = preview_host(port, gateway.netloc, self._domain)
        return f"{gateway.scheme}://{host}/" if host else f"{call.base_url}/proxy/{port}/"


def _by_port(listeners: list[Listener]) -> dict[int, list[Listener]]:
    found: dict[int, list[Listener]] = {}
    for listener in listeners:
        found.setdefault(listener.port, []).append(listener)
    return found


def _described(share: PortShare) -> dict[str, Any]:
    return {
        "share_id": share.id,
        "port": share.port,
        "created_at": share.created,
        "expires_at": share.expires,
        "created_by": share.caller,
        "note": share.note,
    }
