"""An asynchronous sandbox whose server answers as a test says."""

import httpx
from tandem import AsyncSandbox

from tests.clients.python.conftest import Server

HELD = {"reason": "held_by_human", "holder": "Ann", "epoch": 3}
DONE = {"status": "completed", "exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def boxed(server: Server) -> AsyncSandbox:
    """The sandbox."""
    made = AsyncSandbox("http://box", "key")
    made._connection._http = httpx.AsyncClient(base_url="http://box", transport=httpx.MockTransport(server.take))
    return made
