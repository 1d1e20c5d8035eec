"""Ports of the box's own network from outside, ports of the container from inside, and what the server fetches for the agent."""

import json
from collections.abc import Iterator
from functools import partial

import httpx
import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox, engine
from tests.image.sockets import connect
from tests.patience import until

SITE = """
import http.server, socket, threading
asked = []
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        said = " ".join(asked).encode() if self.path == "/asked" else b"the site"
        self.wfile.write(b"<h1>" + said + b"</h1>")
def be_asked():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("", 53))
    while True:
        question, who = sock.recvfrom(4096)
        length = question[12]
        asked.append(question[13 : 13 + length].decode("latin-1"))
        sock.sendto(question[:2] + bytes((0x81, 0x83)) + question[4:6] + bytes(6) + question[12:], who)
threading.Thread(target=be_asked, daemon=True).start()
http.server.ThreadingHTTPServer(("", 80), Answers).serve_forever()
"""
"""Two sites, and a nameserver that knows no name; `/asked` has the first label of each name that it was asked for."""
ECHO = """
import base64, hashlib, socket
server = socket.create_server(("127.0.0.1", 3005))
while True:
    client, _ = server.accept()
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        head += client.recv(1)
    key = [line.split(b": ")[1] for line in head.split(b"\\r\\n") if line.lower().startswith(b"sec-websocket-key")][0]
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    client.sendall(b"HTTP/1.1 101 X\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n")
    client.sendall(b"Sec-WebSocket-Accept: " + accept + b"\\r\\n\\r\\n")
    first = client.recv(4096)
    mask, content = first[2:6], first[6:6 + (first[1] & 127)]
    said = bytes(byte ^ mask[i % 4] for i, byte in enumerate(content))
    client.sendall(bytes([0x81, len(said)]) + said)
"""
MCP = """
import http.server, json
TOOL = {"name": "hello", "description": "Say hello.", "inputSchema": {"type": "object", "properties": {}}}
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_DELETE(self):
        self.do_GET()
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "own", "version": "1"}},
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "hello from the box"}]},
            "ping": {},
        }
        self.send_response(200 if "id" in asked else 202)
        answer = {"jsonrpc": "2.0", "id": asked.get("id")}
        found = known.get(asked["method"])
        answer |= {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
        body = json.dumps(answer).encode() if "id" in asked else b""
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", 3006), Server).serve_forever()
"""
POLICY = {
    "default": "deny",
    "rules": [
        {"name": "site", "action": "allow", "hosts": ["good.example", "unknown.example"]},
        {"name": "near", "action": "allow", "cidrs": ["172.16.0.0/12", "192.168.0.0/16", "10.0.0.0/8"], "ports": [80]},
    ],
}


@pytest.fixture(scope="module")
def boxed() -> Iterator[Sandbox]:
    """A sandbox with a published port, a forwarded port, and services in the container at that and another."""
    launcher = new_launcher("ports")
    try:
        made = launcher.start(env={"PUBLISHED_PORTS": "3001 3002", "BOX_FORWARD_PORTS": "9100"})
        for port in (9100, 9101):
            engine("exec", "--detach", "--user", "nobody", made.name, "sh", "-c", files(port, "of the container"))
        for port in (9100, 9101):
            until(partial(serves, made, port))
        yield made
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def denied() -> Iterator[Sandbox]:
    """A sandbox whose policy allows one site, beside a container that is that site and another."""
    launcher = new_launcher("fetches")
    try:
        site = launcher.beside(["python3", "-c", SITE])
        address = engine("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", site).stdout.strip()
        args = [f"--dns={address}", *(f"--add-host={name}.example:{address}" for name in ("good", "bad"))]
        yield launcher.start(env={"EGRESS_POLICY": json.dumps(POLICY), "FETCH_ALLOW": "good.example bad.example"}, args=args)
    finally:
        launcher.remove()


def serves(sandbox: Sandbox, port: int) -> bool:
    """Whether a service in the container answers."""
    return sandbox.exec("curl", "-sf", f"http://127.0.0.1:{port}/page").code == 0


def files(port: int, text: str) -> str:
    """A shell's command that serves one file."""
    folder = f"/tmp/{port}"
    return f"mkdir -p {folder} && cd {folder} && echo {text} >page && exec python3 -m http.server {port} --bind 127.0.0.1"


def serve(sandbox: Sandbox, port: int, program: str = "") -> str:
    """Have the agent listen on a port; returns the session that does."""
    command = files(port, "of the box")
    if program:
        sandbox.request("POST", "/v1/file/write", json={"file": f"/tmp/{port}.py", "content": program}).raise_for_status()
        command = f"exec python3 /tmp/{port}.py"
    started = sandbox.request("POST", "/v1/bash/exec", json={"command": command, "async_mode": True}).json()["data"]
    assert sandbox.request("GET", "/v1/ports", params={"wait": port}).json()["data"]["ready"]
    return str(started["session_id"])


def listed(sandbox: Sandbox) -> set[int]:
    return {each["port"] for each in sandbox.request("GET", "/v1/ports").json()["data"]["ports"]}


def converted(sandbox: Sandbox, uri: str) -> httpx.Response:
    return sandbox.request("POST", "/v1/util/convert_to_markdown", json={"uri": uri})


def test_a_program_of_the_box_comes_and_goes_among_the_ports(boxed: Sandbox) -> None:
    session = serve(boxed, 3000)
    assert 3000 in listed(boxed)
    assert boxed.request("GET", "/proxy/3000/page").text == "of the box\n"
    boxed.request("POST", "/v1/bash/kill", json={"session_id": session})
    until(lambda: 3000 not in listed(boxed))
    until(lambda: boxed.request("GET", "/proxy/3000/page").status_code == 502)


def test_a_websocket_goes_to_a_program_of_the_box(boxed: Sandbox) -> None:
    serve(boxed, 3005, ECHO)
    for path in ("/proxy/3005/", "/absproxy/3005/"):
        with connect(f"ws://{boxed.name}:{boxed.port}{path}", additional_headers=boxed.headers, proxy=None) as socket:
            socket.send("through the gateway")
            assert socket.recv(30) == "through the gateway"


def test_a_published_port_is_reached_without_a_key_and_no_other_is(boxed: Sandbox) -> None:
    serve(boxed, 3001)
    serve(boxed, 3003)
    assert boxed.http.get(f"http://{boxed.name}:3001/page").text == "of the box\n"
    with pytest.raises((httpx.NetworkError, httpx.RemoteProtocolError)):
        boxed.http.get(f"http://{boxed.name}:3002/")
    with pytest.raises(httpx.ConnectError):
        boxed.http.get(f"http://{boxed.name}:3003/")
    assert boxed.request("GET", "/v1/ports", params={"wait": 3002, "timeout": 0}).json()["data"]["ready"] is False


def test_a_forwarded_port_of_the_container_is_in_reach_and_nothing_else_of_its_loopback(boxed: Sandbox) -> None:
    fetch = ("curl", "-s", "-m", "10", "--noproxy", "*")
    assert boxed.run(*fetch, "http://127.0.0.1:9100/page").stdout == "of the container\n"
    for user in ("gem", "root"):
        assert boxed.run(*fetch, "http://127.0.0.1:9101/page", user=user).code == 7
    assert boxed.request("GET", "/proxy/9100/page").text == "of the container\n"
    assert boxed.request("GET", "/proxy/9101/page").text == "of the container\n", "an added service is previewed from the container"


def test_the_command_line_in_the_box_reaches_the_gateway(boxed: Sandbox) -> None:
    assert '"ports"' in boxed.run("sandbox", "ports", "list_ports").stdout


def test_an_mcp_server_at_a_url_on_localhost_is_the_boxes(boxed: Sandbox) -> None:
    serve(boxed, 3006, MCP)
    added = boxed.request("PUT", "/v1/mcp/servers/own", json={"url": "http://localhost:3006/mcp"})
    assert added.status_code == 200, added.text
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "own_hello", "arguments": {}}}
    assert "hello from the box" in boxed.request("POST", "/mcp", json=call).text


def test_a_document_of_a_program_in_the_box_is_fetched_there(boxed: Sandbox) -> None:
    serve(boxed, 3007)
    assert converted(boxed, "http://localhost:3007/page").json()["data"].strip() == "of the box"


@pytest.mark.slow
def test_everything_is_back_after_the_box_and_its_daemon_were_killed(boxed: Sandbox) -> None:
    boxed.exec("sh", "-c", "kill -9 $(pgrep -f 'sandbox_server box$')")
    boxed.wait_ready()
    until(lambda: boxed.request("POST", "/v1/bash/exec", json={"command": "true"}).status_code == 200, told=boxed.logs)
    serve(boxed, 3008)
    until(lambda: boxed.request("GET", "/proxy/3008/page").text == "of the box\n", told=boxed.logs)


def test_what_the_server_fetches_for_the_agent_obeys_the_policy(denied: Sandbox) -> None:
    good, bad = converted(denied, "http://good.example/"), converted(denied, "http://bad.example/")
    assert "# the site" in good.json()["data"]
    assert (bad.status_code, bad.json()["data"]["reason"]) == (403, "egress")
    assert "bad.example:80 is not allowed" in bad.json()["message"]


def test_a_name_that_the_policy_denies_is_not_looked_up_for_a_document(denied: Sandbox) -> None:
    answers = [converted(denied, f"{scheme}://{name}.example/") for name in ("unknown", "unasked") for scheme in ("http", "https")]
    assert [answer.status_code for answer in answers] == [409, 409, 403, 403]
    assert "has no address" in answers[0].json()["message"]
    asked = str(converted(denied, "http://good.example/asked").json()["data"])
    assert "unknown" in asked
    assert "unasked" not in asked


def test_a_document_of_the_sandbox_itself_is_not_fetched(denied: Sandbox) -> None:
    for uri in ("http://127.0.0.1:8080/v1/sandbox", "http://localhost:8118/", "http://169.254.169.254/", f"http://{denied.name}:8080/"):
        assert converted(denied, uri).status_code in (403, 409)


def test_an_mcp_server_elsewhere_needs_a_rule(denied: Sandbox) -> None:
    added = denied.request("PUT", "/v1/mcp/servers/far", json={"url": "http://bad.example/mcp"})
    assert added.status_code == 200, added.text
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "far_hello", "arguments": {}}}
    denied.request("POST", "/mcp", json=call)
    states = {each["name"]: each for each in denied.request("GET", "/v1/mcp/status").json()["data"]}
    assert states["far"]["state"] == "failed"
