"""Runs a program of the control side in the box's network: what has to reach the agent's listeners, or be reached by its programs.

It joins the user namespace above the box and the box's network namespace, becomes an ordinary user there, and executes
the program, which is in the container in every other respect. The box does not see it. It ends, and its supervisor
starts it again, when the daemon is gone or makes another box, which may have another network.
"""

import argparse
import fcntl
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from sandbox_server.drivers.box.box import KINDS
from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn.child_setup import Account, let_open

RETRY_SECONDS = 0.05
BACKLOG = 511
_NETWORK = 2 + KINDS.index("ns/net")
"""Where it is among a box's descriptors: after the first process and the user namespace."""


def attach(path: str) -> tuple[socket.socket, int, int]:
    """Wait for a box; returns the connection to its daemon, and descriptors of its user and network namespaces."""
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with suppress(OSError):
            sock.connect(path)
            descriptor_passing.send_request(sock, {"op": "attach"})
            message, fds = descriptor_passing.receive(sock)
            if message is not None and fds:
                return sock, fds[1], fds[_NETWORK]
        sock.close()
        time.sleep(RETRY_SECONDS)


def bind(places: Sequence[str]) -> list[socket.socket]:
    """Listen on places such as `0.0.0.0:3000` and `[::]:3000` of the network that this process is still in."""
    return [_listener(*place.rsplit(":", 1)) for place in places]


def _listener(address: str, port: str) -> socket.socket:
    family = socket.AF_INET6 if address.startswith("[") else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((address.strip("[]"), int(port)))
    sock.listen(BACKLOG)
    return sock


def join(user: int, network: int) -> None:
    """Move this process into the namespaces. It has one thread."""
    os.setns(user, os.CLONE_NEWUSER)
    os.setns(network, os.CLONE_NEWNET)


def become(account: Account) -> None:
    """Become an ordinary user for good, without a capability."""
    landlock.forbid_new_rights()
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def end_with(daemon: socket.socket) -> None:
    """Have the kernel end this process, and what it executes, when the daemon says anything more or hangs up (fcntl(2), F_SETSIG)."""
    daemon.set_inheritable(True)
    fd = daemon.fileno()
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    said = select.poll()
    said.register(fd, select.POLLIN)
    if said.poll(0):  # before the kernel was asked to tell
        raise SystemExit("the box was made anew meanwhile")


def run(arguments: Sequence[str]) -> NoReturn:
    """Run the program that the command line names."""
    options = _parse(arguments)
    account = Account.named(options.user)
    listeners = bind(options.listen)
    let_open((1, 2), account)
    daemon, user, network = attach(options.box)
    join(user, network)
    become(account)
    end_with(daemon)
    for sock in listeners:
        sock.set_inheritable(True)
    inherited = {"NGINX": "".join(f"{sock.fileno()};" for sock in listeners)} if listeners else {}
    os.execve(options.argv[0], options.argv, {**os.environ, **inherited})


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("sandbox_server box-network", description="Run a program in the box's network.")
    parser.add_argument("--box", required=True, help="socket of the box daemon")
    parser.add_argument("--user", required=True, help="user that the program runs as")
    parser.add_argument("--listen", action="append", default=[], help="where nginx accepts connections in the container's network")
    parser.add_argument("argv", nargs="+", help="the program and its arguments")
    return parser.parse_args(arguments)
