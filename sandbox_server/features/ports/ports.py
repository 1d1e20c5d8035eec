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
    """A port to wait for, until somebody listens on it."""
    timeout: float = Field(default=30.0, ge=0, le=MAX_WAIT)
    """How long to wait, in seconds."""


class PortProcess(Model):
    pid: int
    """As the agent's shells show it."""
    command: str


class ListeningPort(Model):
    port: int
    address: str
    """What it listens on; unspecified addresses are every one of this machine."""
    process: PortProcess | None
    """Who listens; null where that cannot be seen."""
    url: str
    """Where a browser sees it that is signed in."""


class PortList(Model):
    ports: list[ListeningPort]
    """In the order of their numbers, without the sandbox's own."""
    ready: bool | None
    """Whether the port that was waited for is listened on; null where none was."""


class SharePort(Model):
    port: int = Field(ge=1, le=65535)
    ttl: float = Field(default=3600.0, ge=1, le=MAX_SHARE_SECONDS)
    """Seconds after which the link ends, 30 days at most."""
    note: str = Field(default="", max_length=200)
    """What it is for, for whoever looks at the list."""


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
    """Give it to whoever is to see the port. It is shown this once."""


class ShareRef(Model):
    share_id: str


class PortViews:
    """The ports that may be previewed; `domain` is the setting PREVIEW_DOMAIN."""

    tag = "ports"

    def __init__(self, ports: Ports, holders: PortHolders, shares: PortShares, domain: str | None) -> None:
        self._ports = ports
        self._holders = holders
        self._shares = shares
        self._domain = domain

    @operation("GET /v1/ports", scope="code", tool="sandbox_list_ports")
    async def list_ports(self, request: ListPorts, call: Call) -> PortList:
        """List the ports that programs of the agent listen on, with the program and the address at which a browser sees it; no editor's.

        With `wait`, answer as soon as somebody listens on that port; `ready` says whether somebody does.
        """
        ready = None if request.wait is None else await self._ports.wait(request.wait, request.timeout)
        listeners = await self._ports.open()
        holders = await self._holders.find() if listeners else {}
        return PortList(ports=[self._shown(port, found, holders, call) for port, found in sorted(_by_port(listeners).items())], ready=ready)

    @operation("POST /v1/ports/{port}/share", scope="code")
    async def share_port(self, request: SharePort, call: Call) -> NewShareLink:
        """Make a link with which anybody who can reach the gateway sees one port, and nothing else, until it ends or is revoked.

        The sandbox's own ports and the editors' are refused with 403.
        """
        self._ports.check_shareable(request.port)
        await self._ports.upstream(request.port)
        share, token = await asyncio.to_thread(self._shares.create, request.port, request.ttl, caller=call.caller.name, note=request.note)
        return NewShareLink(**_described(share), url=f"{self._url(request.port, call)}?share={token}")

    @operation("GET /v1/ports/shares", scope="code")
    async def list_shares(self) -> list[ShareLink]:
        """List the links that are in force."""
        return [ShareLink(**_described(share)) for share in self._shares.all()]

    @operation("DELETE /v1/ports/shares/{share_id}", scope="code")
    async def revoke_share(self, request: ShareRef) -> None:
        """Take a link back. Whoever came by it is out with the next request."""
        await asyncio.to_thread(self._shares.revoke, request.share_id)

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
