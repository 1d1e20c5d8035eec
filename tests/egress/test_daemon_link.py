import os
import socket
import threading
from pathlib import Path

from sandbox_server.drivers.egress import namespace_handover
from sandbox_server.drivers.egress.network_namespace import EgressNamespace
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.egress.daemon_link import DaemonLink
from tests.patience import until

SECONDS = 20.0


class Daemon:
    """A daemon's end of the connection, which answers what a test says."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(SECONDS)

    def accept(self) -> tuple[socket.socket, EgressNamespace | None]:
        """The next connection, and what its client holds."""
        sock, _ = self._listener.accept()
        sock.settimeout(SECONDS)
        message, held = namespace_handover.receive(sock)
        assert message is not None
        return sock, held

    def close(self) -> None:
        self._listener.close()


def a_namespace() -> EgressNamespace:
    return EgressNamespace(os.open("/proc/self/ns/net", os.O_RDONLY), (), (), ())


def test_it_waits_for_the_daemon_and_asks_until_there_are_listeners(tmp_path: Path) -> None:
    path, found = tmp_path / "box.sock", []
    link = DaemonLink(str(path))
    asking = threading.Thread(target=lambda: found.append(link.obtain()))
    asking.start()
    daemon = Daemon(path)
    refused, _ = daemon.accept()
    descriptor_passing.send(refused, {"error": "in use"})
    refused.close()
    sock, held = daemon.accept()
    given = a_namespace()
    namespace_handover.send(sock, given, [8080])
    asking.join(SECONDS)
    assert held is None
    assert [(one.counts, list(ports)) for one, ports in found] == [(given.counts, [8080])]
    for one in (link, sock, daemon, given, found[0][0]):
        one.close()


def test_what_it_holds_goes_to_each_new_daemon_until_the_box_has_another_network(tmp_path: Path) -> None:
    path, changed, held = tmp_path / "box.sock", threading.Event(), a_namespace()
    first = Daemon(path)
    DaemonLink(str(path)).follow(held, changed.set)
    sock, given = first.accept()
    assert given is not None
    assert os.path.samestat(os.fstat(given.namespace), os.fstat(held.namespace))
    descriptor_passing.send(sock, {"kept": True})
    first.close()
    second = Daemon(path)
    sock.close()
    sock, given = second.accept()
    assert given is not None
    assert not changed.is_set()
    namespace_handover.send(sock, held)
    until(changed.is_set)
    sock.close()
    second.close()
