"""Hands the network namespace of the box from the box daemon to the egress process, and back to the daemon's successor.

Both sides hold all descriptors, so that either may end: the other gives them to whoever comes next. The messages on a
Unix SEQPACKET connection, each a JSON object:

| from | message | meaning |
|---|---|---|
| egress process | `{}` | it holds nothing |
| egress process | `{"counts"}` with descriptors | it holds these |
| daemon | `{"counts", "ports"}` with descriptors | serve these; `ports` are those of the forwarded listeners |
| daemon | `{"kept": true}` | what the egress process holds is the box's |
| daemon | `{"error"}` | there are no listeners yet; ask again |
"""

import socket
from collections.abc import Sequence

from sandbox_server.drivers.egress.network_namespace import MAX_FDS, EgressNamespace
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message


def send(sock: socket.socket, namespace: EgressNamespace | None, ports: Sequence[int] = ()) -> None:
    """Send a namespace, or that there is none. The caller keeps its own descriptors."""
    if namespace is None:
        descriptor_passing.send(sock, {})
    else:
        descriptor_passing.send(sock, {"counts": namespace.counts, "ports": list(ports)}, namespace.descriptors)


def receive(sock: socket.socket) -> tuple[Message | None, EgressNamespace | None]:
    """Receive one message, and the namespace with it, which the caller owns; None is the end of the connection.

    Raises MalformedMessageError.
    """
    message, fds = descriptor_passing.receive(sock, MAX_FDS)
    if message is not None and "counts" in message:
        try:
            return message, EgressNamespace.of({str(name): int(count) for name, count in message["counts"].items()}, fds)
        except (ValueError, TypeError, AttributeError) as error:
            descriptor_passing.close_all(fds)
            raise MalformedMessageError(str(error)) from error
    descriptor_passing.close_all(fds)
    return message, None
