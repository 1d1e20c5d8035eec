"""A real server of S3 for tests: moto's, a process of its own."""

import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.patience import PATIENCE_SECONDS, until

PROGRAM = "/opt/s3/bin/moto_server"
BUCKET = "kept"
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=X/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}


def free_port() -> int:
    """A TCP port that nothing listens on."""
    with socket.socket() as bound:
        bound.bind(("", 0))
        port: int = bound.getsockname()[1]
    return port


@contextmanager
def s3_server(port: int, *, bucket: bool = True) -> Iterator[str]:
    """Run it on every address, with an empty bucket; yields its address on this machine. All that it has goes with it."""
    server = subprocess.Popen([PROGRAM, "-H", "0.0.0.0", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _answers(address))
        if bucket:
            request(address, "PUT", f"/{BUCKET}")
        yield address
    finally:
        server.kill()
        server.wait()


def request(address: str, method: str, path: str, content: bytes | None = None) -> bytes:
    """Ask it without a signature, which it does not check; the answer's content."""
    asked = urllib.request.Request(f"{address}{path}", method=method, data=content, headers=SIGNED)
    with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as answer:
        read: bytes = answer.read()
    return read


def _answers(address: str) -> bool:
    with suppress(OSError):
        return bool(request(address, "GET", "/moto-api/data.json"))
    return False
