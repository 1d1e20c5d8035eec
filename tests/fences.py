"""Isolated processes of a real spawner, for tests of what they cannot do: in a box, and as an ordinary user of the container."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import Message
from tests.refusals import assert_refused

SECONDS = 30.0


@dataclass(frozen=True)
class Ended:
    """What a process wrote, its errors too, and how it ended; `refusal` where it never ran."""

    output: str
    code: int | None
    refusal: Message | None = None


@dataclass(frozen=True)
class Fences:
    """Runs programs of the agent through the spawner that listens on `path`; `private` is what no isolated one may see."""

    path: str
    private: str

    def run(self, script: str, isolation: Message | None = None, **more: Any) -> Ended:
        """Run a shell script to its end."""
        readable, writable = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock, open(readable, "rb") as output:
            sock.settimeout(SECONDS)
            sock.connect(self.path)
            request = {"argv": ["bash", "-c", script], "fds": ["stdout", "stderr"], "isolation": isolation, **more}
            descriptor_passing.send_request(sock, request, [writable, writable])
            os.close(writable)
            reply, _ = descriptor_passing.receive(sock)
            assert reply is not None
            if "error" in reply:
                return Ended("", None, reply)
            text = output.read().decode()
            ended, _ = descriptor_passing.receive(sock)
        assert ended is not None
        return Ended(text, ended.get("exit"))

    def out(self, script: str, isolation: Message | None = None, **more: Any) -> str:
        """What a script says that ends well."""
        ended = self.run(script, isolation, **more)
        assert ended.code == 0, ended
        return ended.output.strip()

    def refuses(self, script: str, isolation: Message) -> None:
        """Run a script that the isolation refuses."""
        ended = self.run(script, isolation)
        assert ended.refusal is None, (script, ended.refusal)
        assert_refused(ended.code, f"{script}: {ended.output}")

    @contextmanager
    def background(self, script: str) -> Iterator[str]:
        """Let a script run meanwhile that is not isolated; gives its first line."""
        readable, writable = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock, open(readable) as output:
            sock.settimeout(SECONDS)
            sock.connect(self.path)
            descriptor_passing.send_request(sock, {"argv": ["bash", "-c", script], "fds": ["stdout"]}, [writable])
            os.close(writable)
            yield output.readline().strip()
