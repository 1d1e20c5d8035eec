"""Measures TLS inside a container of the tests: direct, passed through the policy, and opened for a secret, in turn in every round."""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median

from benchmarks.egress.measure import OUTSIDE, Egress, wait_for_port
from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from tests.egress_namespaces import NetworkBox

PORT, CONNECTIONS, REQUESTS = 9443, 50, 200
AGENT, BROWSER = 1000, 991
"""Users: of the program in the box, and of nobody here."""
PASSED, OPENED = "passed.example", "opened.example"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CLIENT = """
import json, socket, ssl, sys, time
name, address, port, authorities, connections, requests = sys.argv[1:7]
context = ssl.create_default_context(cafile=authorities)
ask = f"GET / HTTP/1.1\\r\\nHost: {name}\\r\\nAuthorization: Bearer {sys.argv[7]}\\r\\n\\r\\n".encode()
def hear(sock):
    said = b""
    while not said.endswith(b"ok"):
        piece = sock.recv(4096)
        if not piece:
            raise SystemExit(f"ended: {said!r}")
        said += piece
def connect():
    sock = context.wrap_socket(socket.create_connection((address, int(port)), 30), server_hostname=name)
    sock.sendall(ask)
    hear(sock)
    return sock
took = []
for _ in range(int(connections)):
    begin = time.perf_counter()
    connect().close()
    took.append((time.perf_counter() - begin) * 1000)
sock, again = connect(), []
for _ in range(int(requests)):
    begin = time.perf_counter()
    sock.sendall(ask)
    hear(sock)
    again.append((time.perf_counter() - begin) * 1000)
first, took, again = took[0], sorted(took), sorted(again)
print(json.dumps({"first": first, "connect_p50": took[len(took) // 2], "request_p50": again[len(again) // 2]}))
"""


def serve(authority: CertificateAuthority) -> None:
    """Answer requests over TLS for both names."""
    contexts = {name: authority.context(name) for name in (PASSED, OPENED)}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda sock, name, _: setattr(sock, "context", contexts[str(name)])
    listener = socket.create_server((OUTSIDE, PORT), backlog=256)

    def attend(plain: socket.socket) -> None:
        try:
            with context.wrap_socket(plain, server_side=True) as sock:
                while sock.recv(4096):
                    sock.sendall(ANSWER)
        except OSError:
            return

    while True:
        accepted, _ = listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=attend, args=(accepted,), daemon=True).start()


def main(rounds: int = 5) -> None:
    """Print every round, then the medians and the memory as one JSON object."""
    authority = CertificateAuthority()
    threading.Thread(target=serve, args=(authority,), daemon=True).start()
    wait_for_port(PORT)
    found: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        outside, inside = Path(folder, "outside.pem"), Path(folder, "inside.pem")
        outside.write_text(authority.pem)
        os.environ["SSL_CERT_FILE"] = str(outside)
        Path(folder).chmod(0o755)
        for _ in range(rounds):
            found.append(measure(Path(folder), outside, inside))
            sys.stdout.write(f"load {os.getloadavg()[0]:.1f}: {json.dumps(found[-1])}\n")
    places = found[0].items()
    medians = {place: {name: round(median(each[place][name] for each in found), 2) for name in figures} for place, figures in places}
    sys.stdout.write(json.dumps(medians | {"load": os.getloadavg()[0]}) + "\n")


def measure(folder: Path, outside: Path, inside: Path) -> dict[str, dict[str, float]]:
    """One round, with a process that has opened nothing yet."""
    box = NetworkBox(folder)
    egress = Egress(folder, box, SSL_CERT_FILE=str(outside))
    amounts = (str(CONNECTIONS), str(REQUESTS))
    try:
        allowed = {"action": "allow", "hosts": [PASSED, OPENED], "protocols": ["tls"]}
        egress.ask("policy", policy=json.dumps({"rules": [allowed, {"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["tls"]}]}))
        direct = [sys.executable, "-c", CLIENT, PASSED, OUTSIDE, str(PORT), str(outside), *amounts, "x"]
        figures = {"direct": json.loads(subprocess.run(direct, stdout=subprocess.PIPE, check=True, timeout=600).stdout)}
        figures["passed"] = json.loads(box.python(CLIENT, PASSED, PASSED, str(PORT), str(outside), *amounts, "x"))
        before = egress.memory
        bound = {"hosts": [f"{OPENED}:{PORT}"]}
        secret = {"name": "T", "placeholder": "tandem_T_0000000000", "value": "a-secret-value", "bindings": [bound]}
        egress.ask("secrets", secrets=[secret], users={"programs": [AGENT], "browser": BROWSER})
        inside.write_text(egress.ask("authority")["authority"])
        inside.chmod(0o644)
        figures["opened"] = json.loads(box.python(CLIENT, OPENED, OPENED, str(PORT), str(inside), *amounts, "tandem_T_0000000000"))
        figures["memory"] = {"before": before["rss"], "before_anonymous": before["anonymous"]}
        figures["memory"] |= {"with_a_secret": egress.memory["rss"], "with_a_secret_anonymous": egress.memory["anonymous"]}
    finally:
        egress.end()
        box.close()
    return figures


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
