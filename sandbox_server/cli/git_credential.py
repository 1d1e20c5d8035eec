"""git's credential helper (gitcredentials(7)): asks the identity's socket, which decides by protocol and host."""

import json
import socket
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from typing import TextIO
from urllib.parse import urlencode

SOCKET = "/run/sandbox-agent/identity/identity.sock"
TIMEOUT = 20.0
"""Seconds for an answer; a token endpoint outside has ten of them."""
MAX_INPUT = 64 << 10
"""Characters that git writes at most."""


class _SocketConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def main(arguments: Sequence[str], asked: TextIO, answer: TextIO, path: str = SOCKET) -> None:
    """Answer `get`; there is nothing to `store` or `erase`. Without a credential nothing is written, and git asks elsewhere."""
    if list(arguments) != ["get"]:
        return
    request = dict(line.split("=", 1) for line in asked.read(MAX_INPUT).split("\n") if "=" in line)
    if request.get("protocol") != "https" or not request.get("host"):
        return
    found = _found(path, {"protocol": request["protocol"], "host": request["host"]})
    if found is None or not _is_plain(found.get("username")) or not _is_plain(found.get("password")):
        return
    if request.get("username") not in (None, "", found["username"]):
        return
    answer.write(f"username={found['username']}\npassword={found['password']}\n")
    if isinstance(ends := found.get("expires_at"), int | float):
        answer.write(f"password_expiry_utc={int(ends)}\n")


def _found(path: str, query: Mapping[str, str]) -> dict[str, object] | None:
    connection = _SocketConnection(path)
    try:
        connection.request("GET", f"/git-credential?{urlencode(query)}")
        response = connection.getresponse()
        found = json.loads(response.read(MAX_INPUT))
    except (OSError, HTTPException, ValueError) as error:
        sys.stderr.write(f"git-credential-tandem: the identity's socket does not answer: {type(error).__name__}\n")
        return None
    finally:
        connection.close()
    if response.status not in (200, 404):
        sys.stderr.write(f"git-credential-tandem: {found.get('message')}\n")
    return found if response.status == 200 else None


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value)


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdin, sys.stdout)
