"""Hosts on the network of the tests: one that a policy allows, and a witness that none allows. Each writes down what it hears.

They are containers of the image itself, which runs `SERVER` in the sandbox's place: HTTP, TLS with certificates of an
authority of their own, git over HTTP, a protocol whose server speaks first, and UDP, by IPv4 and IPv6.
"""

import json
from dataclasses import dataclass

from tests.image.container import Launcher, Sandbox, engine
from tests.patience import until
from tests.refusals import assert_not_timed_out

POLICY_FILE = "/etc/egress-policy.json"
SERVER = """
import http.server, os, resource, selectors, socket, ssl, subprocess, sys, threading

name, names, log = sys.argv[1], sys.argv[2:], "/tmp/heard"
folder = "/tmp/served"
os.makedirs(folder, exist_ok=True)

def hear(what):
    with open(log, "a") as file:
        file.write(what + chr(10))

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *given):
        super().__init__(*given, directory=folder)

    def do_GET(self):
        hear(f"{self.command} {self.headers.get('Host')} {self.path}")
        if self.path.startswith("/git/"):
            return self.git()
        if self.path.startswith("/redirect/"):
            return self.redirect("http://" + self.path.removeprefix("/redirect/"))
        if self.path != "/":
            return super().do_GET()
        said = f"served by {name}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def redirect(self, url):
        self.send_response(302)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def git(self):
        place, _, query = self.path.removeprefix("/git").partition("?")
        said = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = {"GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "somebody", "REQUEST_METHOD": self.command}
        given |= {"PATH_INFO": place, "QUERY_STRING": query, "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        given |= {"CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(said))}
        given |= {"HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        done = subprocess.run(["git", "http-backend"], input=said, env=os.environ | given, capture_output=True)
        head, _, body = done.stdout.partition(b"\\r\\n\\r\\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for field, value in fields.items():
            self.send_header(field, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if self.path.startswith("/git/"):
            hear(f"POST {self.headers.get('Host')} {self.path}")
            return self.git()
        hear("POST " + self.rfile.read(int(self.headers.get("Content-Length", 0)))[:200].decode(errors="replace"))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    request_queue_size = 512

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request, address):
        hear(f"connection to {self.server_address[1]}")
        super().process_request(request, address)

def greet():
    listener = socket.create_server(("", 2222))
    while True:
        sock, _ = listener.accept()
        hear("connection to 2222")
        sock.sendall(b"SSH-2.0-peer" + b"\\r\\n")
        threading.Timer(5, sock.close).start()

def hold():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listener, open_ones = socket.create_server(("", 2300), backlog=4096), selectors.DefaultSelector()
    open_ones.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in open_ones.select():
            try:
                if key.fileobj is listener:
                    sock, _ = listener.accept()
                    open_ones.register(sock, selectors.EVENT_READ)
                    sock.sendall(b"held")
                elif key.fileobj.recv(1000):
                    continue
            except OSError:
                pass
            if key.fileobj is not listener:
                open_ones.unregister(key.fileobj)
                key.fileobj.close()

def packets(port):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("", port))
    while True:
        said, _ = sock.recvfrom(2000)
        hear(f"packet to {port}")

def certify(*more):
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subprocess.run([*command.split(), *more], check=True, capture_output=True)

usage = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
certify("-subj", f"/CN=authority of {name}", "-keyout", "/tmp/authority.key", "-out", "/tmp/authority.pem", *usage)
alternatives = ",".join(f"DNS:{each}" for each in names or [name])
usage = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={alternatives}"]
usage += ["-addext", "extendedKeyUsage=serverAuth", "-CA", "/tmp/authority.pem", "-CAkey", "/tmp/authority.key"]
certify("-subj", f"/CN={name}", "-keyout", "/tmp/key.pem", "-out", "/tmp/cert.pem", *usage)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tmp/cert.pem", "/tmp/key.pem")
secure = Server(("", 443), Handler)
secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
for serve in (greet, hold, secure.serve_forever, Server(("", 8080), Handler).serve_forever):
    threading.Thread(target=serve, daemon=True).start()
for port in (53, 123, 443):
    threading.Thread(target=packets, args=(port,), daemon=True).start()
plain = Server(("", 80), Handler)
open("/tmp/ready", "w").close()
plain.serve_forever()
"""


class Peer:
    """A host that serves on many ports; `names` are how the network of the tests calls it."""

    def __init__(self, launcher: Launcher, name: str, *names: str, network: str | None = None) -> None:
        aliases = [f"--network-alias={alias}" for alias in names]
        self.container = launcher.beside(["/usr/bin/python3", "-c", SERVER, name, *names], *aliases, network=network)
        until(
            lambda: engine("exec", self.container, "test", "-e", "/tmp/ready").code == 0, told=lambda: engine("logs", self.container).stderr
        )
        self.address = self._address("IPAddress")

    def _address(self, kind: str) -> str:
        template = f"{{{{range .NetworkSettings.Networks}}}}{{{{.{kind}}}}}{{{{end}}}}"
        return engine("inspect", "--format", template, self.container).stdout.strip()

    @property
    def address6(self) -> str:
        """Its IPv6 address, in a network that has such."""
        return self._address("GlobalIPv6Address")

    def read(self, path: str) -> str:
        """A file of its own."""
        done = engine("exec", self.container, "cat", path)
        assert done.code == 0, done.stderr
        return done.stdout

    def heard(self) -> list[str]:
        """What came, in order."""
        return engine("exec", self.container, "sh", "-c", "cat /tmp/heard 2>/dev/null; true").stdout.splitlines()

    def forget(self) -> None:
        """Empty what was heard."""
        engine("exec", self.container, "rm", "-f", "/tmp/heard")

    def put(self, path: str, content: str) -> None:
        """Serve a file."""
        script = f"mkdir -p \"$(dirname '/tmp/served/{path}')\" && cat > '/tmp/served/{path}'"
        done = engine("exec", "--interactive", self.container, "sh", "-c", script, stdin=content.encode())
        assert done.code == 0, done.stderr

    def shell(self, script: str) -> str:
        """Run a script where the files are served from."""
        done = engine("exec", "--workdir", "/tmp/served", self.container, "bash", "-ec", script)
        assert done.code == 0, done.stderr
        return done.stdout


@dataclass(frozen=True)
class EgressHosts:
    """A sandbox with a policy, the host that it allows, and one that it does not."""

    sandbox: Sandbox
    peer: Peer
    witness: Peer

    def run(self, script: str, user: str = "root") -> str:
        """What a script in the box says, errors too. None of it has waited for an answer that did not come."""
        assert_not_timed_out(said := self._said(script, user))
        return said

    def _said(self, script: str, user: str) -> str:
        done = self.sandbox.run("bash", "-c", f"cd /tmp; {script}", user=user)
        return done.stdout + done.stderr

    def denied(self, host: str) -> int:
        """How many connections to a host were denied so far, as the API lists them: a little behind the program."""
        listed = self.sandbox.request("GET", "/v1/egress/connections", params={"host": host, "action": "deny"})
        return sum(each["count"] for each in listed.json()["data"])

    def expect_refusal(self, attempt: str, user: str, refusal: str) -> None:
        """Run a script that is refused, and says so."""
        said = self.run(attempt, user)
        assert refusal in said, said
        assert "WENT THROUGH" not in said
        assert "served by" not in said

    def expect_silence(self, attempt: str, user: str) -> None:
        """Run a script that nothing and nobody can answer. What its packets did not reach must be shown beside."""
        said = self._said(attempt, user)
        assert said.startswith(("TimeoutError", "refused [Errno 113]")), said


def deny_all_but(peer: Peer) -> str:
    """A policy that allows one host and denies everything else."""
    named = ["allowed.example", "*.allowed.example", "tls.example"]
    rules = [
        {"name": "the web", "action": "allow", "hosts": named, "ports": [80, 443]},
        {"name": "ssh", "action": "allow", "hosts": ["ssh.example"], "ports": [2222, 2300]},
        {"name": "its address", "action": "allow", "cidrs": [f"{peer.address}/32"], "ports": [80, 443, 2222, 2300]},
    ]
    return json.dumps({"default": "deny", "rules": rules})


def start_hosts(launcher: Launcher) -> EgressHosts:
    """Start all three."""
    peer = Peer(launcher, "peer", "allowed.example", "tls.example", "ssh.example", "deep.allowed.example")
    witness = Peer(launcher, "witness", "evil.example", "rebound.allowed.example")
    sandbox = launcher.start(env={"EGRESS_POLICY": POLICY_FILE}, files={POLICY_FILE: deny_all_but(peer)})
    return EgressHosts(sandbox, peer, witness)
