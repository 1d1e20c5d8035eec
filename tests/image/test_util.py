"""Documents as Markdown, from outside: what is fetched, and what the server cannot be talked into fetching."""

import pytest

from tests.image.container import Sandbox
from tests.patience import until

URL = "/v1/util/convert_to_markdown"
NUMBERS = ("http://2130706433", "http://0x7f000001")
"""Hosts that resolvers of programs take for 127.0.0.1; here they are no names."""
SERVER = """
import http.server, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302 if self.path.startswith("/to/") else 200)
        self.send_header("Location", self.path[4:])
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Of the agent</h1>")
http.server.HTTPServer(("127.0.0.1", 3141), Answers).serve_forever()
"""


@pytest.fixture(scope="module")
def site(sandbox: Sandbox) -> str:
    """A web server of the agent's."""
    command = f"python3 -c '{SERVER}'"
    sandbox.request("POST", "/v1/bash/exec", json={"command": command, "async_mode": True})
    until(lambda: sandbox.run("curl", "-fs", "http://127.0.0.1:3141/").code == 0)
    return "http://127.0.0.1:3141"


def convert(sandbox: Sandbox, uri: str) -> tuple[int, str]:
    """Status, and the text or the message."""
    reply = sandbox.request("POST", URL, json={"uri": uri})
    return reply.status_code, str(reply.json()["data"] if reply.is_success else reply.json()["message"])


def test_a_page_that_the_agent_serves_is_converted(sandbox: Sandbox, site: str) -> None:
    assert convert(sandbox, site) == (200, "# Of the agent")


@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.1:8080/v1/sandbox", "http://localhost:8080/healthz", "http://[::1]:8080/healthz", "http://0.0.0.0:8080/healthz"),
        *("http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.100.100.200/", "http://168.63.129.16/"),
        *("http://2130706433:8080/healthz", "http://0x7f000001:8080/healthz", "http://[::ffff:127.0.0.1]:8080/healthz", "http://10.0.0.1/"),
    ],
)
def test_no_internal_address_is_fetched_from_at_first_or_by_redirect(sandbox: Sandbox, site: str, target: str) -> None:
    for uri in (target, f"{site}/to/{target}"):
        status, message = convert(sandbox, uri)
        said = "is no place to connect to" if target.startswith(NUMBERS) else "internal address"
        assert (status, said in message) == (403, True), message


def test_the_containers_own_address_is_internal(sandbox: Sandbox, site: str) -> None:
    address = sandbox.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")

    assert convert(sandbox, f"http://{address}:8080/healthz")[0] == 403


@pytest.mark.parametrize("target", ["file:///etc/passwd", "gopher://127.0.0.1:8080/"])
def test_a_redirect_reads_no_file(sandbox: Sandbox, site: str, target: str) -> None:
    assert convert(sandbox, f"{site}/to/{target}")[0] == 400


@pytest.mark.parametrize(
    "path", ["/run/sandbox/environ.json", "/run/sandbox-boot/environ.json", "/proc/1/environ", "/etc/shadow", "/run/sandbox/api.sock"]
)
def test_a_file_is_read_with_the_agents_rights(sandbox: Sandbox, path: str) -> None:
    status, message = convert(sandbox, f"file://{path}")

    assert status in (403, 404), message
    assert sandbox.api_key not in message


@pytest.mark.parametrize("name", ["sandbox_convert_to_markdown", "markitdown_convert_to_markdown"])
def test_converting_is_a_tool(sandbox: Sandbox, name: str) -> None:
    asked = {"name": name, "arguments": {"uri": "data:text/html,<h1>Head</h1>"}}
    reply = sandbox.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})

    assert "# Head" in reply.text
