"""Requests and results about ports."""

from pydantic import Field

from sandbox_server.core import Model

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
