"""A site outside of the sandbox, for what its programs connect to, and policies that name it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.image.container import Sandbox

PRIVATE = {"name": "private", "action": "allow", "cidrs": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]}
"""The network of the tests, which a policy has to name."""
SLOW = "slow"
"""The path of a page that is answered once its program was seen: it is looked up while it is there, on a busy machine late."""
SLOW_SECONDS = 60.0
"""The page waits no longer."""
EVERY_VERSION = {"If-Match": "*"}


@dataclass
class Site:
    """A site on the network of this run, which says so to whoever comes."""

    host: str
    port: int
    visits: list[str] = field(default_factory=list)
    """The paths that were asked for."""
    seen: threading.Event = field(default_factory=threading.Event)
    """Has the slow page be answered."""

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/"

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"


@contextmanager
def serve_site() -> Iterator[Site]:
    """Serve it from this process, by the name that this container has on the network."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with a page."""
            site.visits.append(self.path)
            if self.path == f"/{SLOW}":
                site.seen.wait(SLOW_SECONDS)
            body = b"<title>outside</title>you are outside"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("0.0.0.0", 0), Page)  # the sandbox is another host
    site = Site(os.environ["TANDEM_RUN"], server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        site.seen.set()
        server.shutdown()
        server.server_close()


def egress(sandbox: Sandbox, method: str, path: str, **more: Any) -> Any:
    """Call an egress operation; its data."""
    reply = sandbox.request(method, f"/v1/egress/{path}", **more)
    assert reply.is_success, reply.text
    return reply.json()["data"]


def policy_of(sandbox: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = egress(sandbox, "GET", "policy")["policy"]
    return found


def put_policy(sandbox: Sandbox, *rules: dict[str, Any], default: str = "deny", mode: str = "enforce") -> None:
    """Replace the policy."""
    document = {"default": default, "mode": mode, "rules": [*rules, PRIVATE]}
    egress(sandbox, "PUT", "policy", json=document, headers=EVERY_VERSION)


@contextmanager
def policy_kept(sandbox: Sandbox) -> Iterator[None]:
    """Put the policy back as it was, without temporary rules and without what was learned."""
    before = policy_of(sandbox)
    try:
        yield
    finally:
        egress(sandbox, "PUT", "policy", json=before, headers=EVERY_VERSION)
        for grant in egress(sandbox, "GET", "policy")["grants"]:
            egress(sandbox, "DELETE", f"grants/{grant['id']}")
        egress(sandbox, "DELETE", "proposal")
