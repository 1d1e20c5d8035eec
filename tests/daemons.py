"""Daemons of the product, as the fork server starts them."""

import os
import socket
from collections.abc import Sequence

from sandbox_server.drivers.box import main as box
from sandbox_server.drivers.files import worker
from sandbox_server.drivers.spawn.main import main, serve


def serve_spawner(arguments: Sequence[str], _: Sequence[int]) -> None:
    """Run a spawner whose file workers tell who they are."""
    serve(arguments, _tell_who)


def serve_spawner_of_box(arguments: Sequence[str], _: Sequence[int]) -> None:
    """Run a spawner as the product does."""
    main(arguments)


def serve_box(arguments: Sequence[str], _: Sequence[int]) -> None:
    """Run a box daemon."""
    box.serve(arguments)


def serve_files(_: Sequence[str], descriptors: Sequence[int]) -> None:
    """Run a file worker on a socket."""
    worker.serve(socket.socket(fileno=descriptors[0]))


def _tell_who(sock: socket.socket) -> None:
    while request := sock.recv(100):
        if request == b"exit":
            return
        sock.sendall(f"{os.getuid()} {os.getpid()} {len(os.listdir('/proc/self/fd'))}".encode())
