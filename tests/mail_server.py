"""A mail server of a test's own: as much of SMTP as a client needs to hand over a mail."""

import socketserver
import threading
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from types import TracebackType
from typing import Self, cast

from tests.patience import PATIENCE_SECONDS


class _Handler(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        """Answer until the client is done."""
        box = cast("Mailbox", self.server.box)  # type: ignore[attr-defined]
        receivers: list[str] = []
        self._say("220 test")
        while line := self.rfile.readline().decode().strip():
            verb = line.upper()
            if verb.startswith("EHLO"):
                self._say("250-test", *(f"250-{extension}" for extension in box.extensions), "250 8BITMIME")
            elif verb.startswith("AUTH"):
                box.signed_in.append(line)
                self._say("235 ok" if box.accepts else "535 5.7.8 no")
            elif verb.startswith("RCPT"):
                receivers.append(line.partition("<")[2].partition(">")[0])
                self._say("250 ok" if box.accepts else "550 5.1.1 nobody")
            elif verb == "DATA":
                self._say("354 go on")
                box.received.append((receivers, self._mail()))
                self._say("250 taken")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _mail(self) -> EmailMessage:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        return message_from_bytes(b"".join(lines), policy=default)

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


class Mailbox:
    """The server while the context is open, and what it got; with `accepts` False it refuses."""

    def __init__(self, *extensions: str, accepts: bool = True, host: str = "127.0.0.1") -> None:
        self.extensions = extensions
        self.accepts = accepts
        self.received: list[tuple[list[str], EmailMessage]] = []
        self.signed_in: list[str] = []
        self._server = socketserver.ThreadingTCPServer((host, 0), _Handler)
        self._server.box = self  # type: ignore[attr-defined]
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE_SECONDS)
        self._server.server_close()
