"""A TCP flow beside the stream, over the same link: `flow.py send` serves it, `flow.py take HOST SECONDS` counts what comes."""

import socket
import sys
import time

PORT = 7900
CHUNK = bytes(64 * 1024)


def send() -> None:
    """Send until killed, as fast as TCP does."""
    listening = socket.create_server(("", PORT))
    while True:
        connection, _ = listening.accept()
        try:
            while True:
                connection.sendall(CHUNK)
        except OSError:
            connection.close()


def take(host: str, seconds: float) -> int:
    """Bytes that arrive in so many seconds."""
    with socket.create_connection((host, PORT)) as connection:
        connection.settimeout(seconds)
        end, taken = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            try:
                taken += len(connection.recv(1 << 16))
            except TimeoutError:
                break
        return taken


if sys.argv[1] == "send":
    send()
else:
    sys.stdout.write(f"{take(sys.argv[2], float(sys.argv[3]))}\n")
