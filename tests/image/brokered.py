"""What tests of secrets in the running image have: a sandbox, a host that its secrets are bound to, and what came there."""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import httpx

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, engine
from tests.patience import until
from tests.refusals import assert_not_timed_out

HOST, OTHER = "api.example", "other.example"
VARIABLE = "API_TOKEN"
PLACES = ["header:Authorization", "basic", "header:X-Key"]
SERVER = """
import http.server, json, ssl, subprocess

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        said = {"path": self.path, "method": self.command, "headers": dict(self.headers), "body": body}
        with open("/tmp/heard", "a") as file:
            file.write(json.dumps(said) + chr(10))
        page = json.dumps(said).encode()
        if self.path == "/page":
            page = b"<title>page</title><form method=post action=/pages/signed>"
            page += b"<input id=pw name=password type=password><input id=user></form>"
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "authorization")
        self.send_header("Content-Type", "text/html" if self.path == "/page" else "application/json")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_PUT = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, *_):
        pass

command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=peer-ca"
command += " -addext subjectAltName=DNS:api.example,DNS:other.example"
subprocess.run([*command.split(), "-keyout", "/tmp/key.pem", "-out", "/tmp/cert.pem"], check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tmp/cert.pem", "/tmp/key.pem")
secure = http.server.ThreadingHTTPServer(("", 443), Handler)
secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
open("/tmp/ready", "w").close()
secure.serve_forever()
"""


@dataclass
class Brokered:
    """A sandbox, a host that its secrets are bound to, and the values."""

    launcher: Launcher
    sandbox: Sandbox
    peer: str
    token: str
    declared: str

    def heard(self) -> list[dict[str, object]]:
        """The requests that came to the host."""
        said = engine("exec", self.peer, "sh", "-c", "cat /tmp/heard 2>/dev/null; true").stdout
        return [json.loads(line) for line in said.splitlines()]

    def last(self) -> dict[str, object]:
        """The last one."""
        return self.heard()[-1]

    def run(self, script: str, user: str = "gem") -> str:
        """What a script in the box says, errors too. None of it has waited for an answer that did not come."""
        done = self.sandbox.run("bash", "-c", script, user=user)
        assert_not_timed_out(said := done.stdout + done.stderr)
        return said

    @cached_property
    def placeholder(self) -> str:
        """What programs have in the value's place."""
        return self.placeholder_of("TOKEN")

    def placeholder_of(self, name: str) -> str:
        """The placeholder of a secret."""
        return next(each["placeholder"] for each in self.listed() if each["name"] == name)

    def field(self, name: str) -> str:
        """A field of the last request."""
        fields = self.last()["headers"]
        assert isinstance(fields, dict)
        return str(fields[name])

    def listed(self) -> list[dict[str, str]]:
        """The secrets as the API tells them."""
        reply = self.sandbox.request("GET", "/v1/secrets")
        assert reply.status_code == 200, reply.text
        assert self.token not in reply.text
        found: list[dict[str, str]] = reply.json()["data"]
        return found

    def evaluate(self, expression: str) -> str:
        """What an expression is in the page in front."""
        reply = self.sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": expression})
        assert reply.status_code == 200, reply.text
        assert_not_timed_out(reply.text)
        return reply.text

    def fill(self, name: str, selector: str) -> httpx.Response:
        """What is answered where a secret is to be filled into a field of the page in front."""
        return self.sandbox.request("POST", "/v1/browser/page/fill_secret", json={"name": name, "selector": selector})

    def reasons(self, path: str) -> set[str]:
        """Why requests for a path got no value, once the record tells it."""
        found: set[str] = set()

        def recorded() -> bool:
            reply = self.sandbox.request("GET", "/v1/recorder/events", params={"kind": "egress", "limit": "500"})
            told = [each for each in reply.json()["data"]["events"] if each.get("event") == "secret" and each.get("path") == path]
            found.update(each.get("reason", "") for each in told)
            return bool(found)

        until(recorded, told=lambda: found)
        return found

    def put(self, name: str, **document: object) -> None:
        """Define a secret."""
        said = ""

        def is_put() -> bool:  # the egress process may have been started again just now
            nonlocal said
            reply = self.sandbox.request("PUT", f"/v1/secrets/{name}", json=document)
            said = reply.text
            assert reply.status_code in (200, 503), said
            return reply.status_code == 200

        until(is_put, told=lambda: said)


def brokered_sandbox(args: Sequence[str] = (), **env: str) -> Iterator[Brokered]:
    """A sandbox with two secrets: one that was put, and one of the container. There is one at a time, because its host's name is."""
    launcher = new_launcher("secrets")
    token, declared = f"tok_{secrets.token_urlsafe(24)}", f"env-{secrets.token_hex(16)}"
    try:
        peer = launcher.beside(["/usr/bin/python3", "-c", SERVER], f"--network-alias={HOST}", f"--network-alias={OTHER}")
        until(lambda: engine("exec", peer, "test", "-e", "/tmp/ready").code == 0, told=lambda: engine("logs", peer).stderr)
        bound = {
            "source": {"env": VARIABLE},
            "variable": VARIABLE,
            "bindings": [{"hosts": [HOST], "paths": ["/declared/**"], "places": PLACES}],
        }
        sandbox = launcher.start(env={"SECRETS": json.dumps({"DECLARED": bound}), VARIABLE: declared, **env}, args=args)
        authority = engine("exec", peer, "cat", "/tmp/cert.pem").stdout
        trusting = ("exec", "--interactive", sandbox.name, "sh", "-c", "cat >> /etc/ssl/certs/ca-certificates.crt")
        assert engine(*trusting, stdin=authority.encode()).code == 0
        assert (
            engine(
                "exec", sandbox.name, "/opt/venv/bin/supervisorctl", "-c", "/opt/tandem/supervisord/supervisord.conf", "restart", "egress"
            ).code
            == 0
        )
        found = Brokered(launcher, sandbox, peer, token, declared)
        bound = {"hosts": [HOST], "paths": ["/v1/**"], "places": PLACES}
        found.put("TOKEN", value=token, variable="TOKEN", bindings=[bound], fill=[f"https://{HOST}"])
        yield found
    finally:
        launcher.remove()
