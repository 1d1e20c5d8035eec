"""The network namespace of the box: no way leads out of it but the listeners that are made in it and held outside.

What is sent anywhere goes to a listener or is refused at once. The rules only choose which: without them nothing leaves
the namespace either, because its one device ends in itself. A socket that a program binds to a device is the exception:
it waits in vain, because Linux delivers to it only what comes in by that device, and no answer does. Root in the box has
no rights over the namespace, as it belongs to the user namespace above the box's.
"""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sandbox_server.drivers.egress.packet_log import GROUP, open_log
from sandbox_server.drivers.egress.socket_owner import open_owners
from sandbox_server.drivers.egress.synthetic_network import GATEWAY, NETWORK
from sandbox_server.drivers.fence.network import raise_loopback
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.timeouts import scaled

NFT, IP = "/usr/sbin/nft", "/usr/sbin/ip"
MAKE_SECONDS = scaled(30.0)
CONNECTIONS_PORT, DNS_PORT, PROXY_PORT = 15001, 15053, 15080
RESOLVER = "127.0.0.11"
"""The nameserver of the box's resolv.conf, which is also that of Docker's networks."""
GROUPS = ("connections", "packets", "queries", "forwarded", "proxies", "log", "owners")
"""The descriptors of an `EgressNamespace`, in the order in which they travel."""
MAX_FDS = 128
"""Limit of descriptors of one namespace; the kernel passes up to 253 at once (SCM_MAX_FD)."""
_BACKLOG = 4096
_MAX_SAID = 4096
_LOCAL6 = "fd53::1"
_SYSCTLS = {"ipv4/ip_unprivileged_port_start": "0", "ipv4/ping_group_range": "0 2147483647"}
"""What Docker sets in its own network namespaces."""

RULES = f"""
table inet egress {{
  chain out {{
    type nat hook output priority -100; policy accept;
    ip daddr {RESOLVER} meta l4proto {{ tcp, udp }} th dport 53 redirect to :{DNS_PORT}
    fib daddr type local return
    meta l4proto {{ tcp, udp }} th dport 53 redirect to :{DNS_PORT}
    meta l4proto tcp redirect to :{CONNECTIONS_PORT}
  }}
  chain last {{
    type filter hook output priority 10; policy drop;
    fib daddr type local accept
    limit rate 20/second burst 50 packets log group {GROUP}
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }}
}}
"""
DEVICES = f"""
link add eth0 type veth peer name eth0-
link set eth0- up
link set eth0 up
addr add {GATEWAY}/{NETWORK.prefixlen} dev eth0
route add default dev eth0 src {GATEWAY}
"""
DEVICES6 = f"""
addr add {_LOCAL6}/64 dev eth0 nodad
route add default dev eth0 src {_LOCAL6}
"""
"""Left out where the kernel has no IPv6: then nothing can be sent by it."""


class NetworkNamespaceError(Exception):
    """The namespace could not be made; the message is the kernel's reason."""


@dataclass(frozen=True)
class EgressNamespace:
    """A namespace, and what was made in it. All are descriptors, which the caller owns."""

    namespace: int
    connections: tuple[int, ...]
    """Listeners to which every TCP connection comes that is not for the namespace itself."""
    packets: tuple[int, ...]
    """UDP sockets to which DNS comes."""
    queries: tuple[int, ...]
    """Listeners to which DNS by TCP comes."""
    forwarded: tuple[int, ...] = ()
    """Listeners on the ports that lead to one service outside: for each port one on 127.0.0.1, then one on ::1 where there is IPv6."""
    proxies: tuple[int, ...] = ()
    """Listeners of the explicit proxy: the browser asks it for names, and programs do where nothing can be redirected."""
    log: tuple[int, ...] = ()
    """The log of refused packets, where the kernel has one."""
    owners: tuple[int, ...] = ()
    """A socket that knows the users of connections, where the kernel has one."""

    @classmethod
    def of(cls, counts: Mapping[str, int], fds: Sequence[int]) -> "EgressNamespace":
        """Put together what `counts` and `descriptors` say. Raises ValueError where they do not fit."""
        if set(counts) != set(GROUPS) or any(count < 0 for count in counts.values()) or len(fds) != 1 + sum(counts.values()):
            raise ValueError("the descriptors of a network namespace are incomplete")
        left = iter(fds)
        namespace = next(left)
        return cls(namespace, **{name: tuple(next(left) for _ in range(counts[name])) for name in GROUPS})

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind but the namespace."""
        return {name: len(getattr(self, name)) for name in GROUPS}

    @property
    def descriptors(self) -> list[int]:
        """All of them, in the order of `GROUPS` after the namespace."""
        return [self.namespace, *(fd for name in GROUPS for fd in getattr(self, name))]

    def close(self) -> None:
        """Close them."""
        descriptor_passing.close_all(self.descriptors)


def create(forwarded: Sequence[int] = ()) -> EgressNamespace:
    """Make a namespace. The caller is root of the user namespace that is to own it, and has one thread.

    `forwarded` are ports on its loopback for services outside. Raises NetworkNamespaceError.
    """
    return _made_elsewhere(lambda: _make(forwarded))


def create_closed(forwarded: Sequence[int] = ()) -> EgressNamespace:
    """Make a namespace with nothing but its loopback, for a kernel without what `create` needs: nothing leaves it.

    Raises NetworkNamespaceError.
    """

    def make() -> tuple[dict[str, int], list[int]]:
        _begin()
        return _listen(forwarded)

    return _made_elsewhere(make)


def take_over(namespace: int, forwarded: Sequence[int] = ()) -> EgressNamespace:
    """Make the listeners of a namespace anew, whose holders have all ended. The caller is as for `create`, and keeps `namespace`.

    Raises NetworkNamespaceError, also while somebody still holds the old ones.
    """

    def join() -> tuple[dict[str, int], list[int]]:
        os.setns(namespace, os.CLONE_NEWNET)
        return _listen(forwarded)

    return _made_elsewhere(join)


def _made_elsewhere(make: Callable[[], tuple[dict[str, int], list[int]]]) -> EgressNamespace:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            pid = os.fork()
            if pid == 0:
                _run(theirs, make)
        ours.settimeout(MAKE_SECONDS)
        try:
            return _learn(ours)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise NetworkNamespaceError(f"it was not made within {MAKE_SECONDS:g} s") from None
        finally:
            os.waitpid(pid, 0)


def _learn(sock: socket.socket) -> EgressNamespace:
    packet, fds, _ = descriptor_passing.receive_fds(sock, _MAX_SAID, MAX_FDS)
    said = json.loads(packet or b'{"error": "the process that made it died"}')
    if "error" in said:
        raise NetworkNamespaceError(str(said["error"]))
    return EgressNamespace.of(said, fds)


def _run(sock: socket.socket, make: Callable[[], tuple[dict[str, int], list[int]]]) -> NoReturn:
    """Tell the parent what was made; the descriptors stay open until it has them."""
    try:
        counts, fds = make()
        socket.send_fds(sock, [json.dumps(counts).encode()], fds)
    except BaseException as error:  # noqa: BLE001 - the top of a forked process: its parent is told
        sock.send(json.dumps({"error": f"{type(error).__name__}: {error}"[: _MAX_SAID // 2]}).encode())
    finally:
        os._exit(0)


def _make(forwarded: Sequence[int]) -> tuple[dict[str, int], list[int]]:
    """Make the namespace: the rules come before there is any device."""
    _begin()
    set_rules(RULES)
    _execute([IP, "-batch", "-"], DEVICES)
    if _has_ipv6():
        _execute([IP, "-6", "-batch", "-"], DEVICES6)
    return _listen(forwarded)


def _begin() -> None:
    os.unshare(os.CLONE_NEWNET)
    raise_loopback()
    for name, value in _SYSCTLS.items():
        with suppress(OSError):  # where /proc/sys is read-only
            Path("/proc/sys/net", name).write_text(value, encoding="ascii")


def set_rules(rules: str) -> None:
    """Set rules of this process's namespace, without a log where the kernel has none. Raises OSError."""
    try:
        _execute([NFT, "-f", "-"], rules)
    except OSError:
        _execute([NFT, "-f", "-"], "\n".join(line for line in rules.splitlines() if " log group " not in line))


def listen_here() -> EgressNamespace:
    """Make the listeners of this process's own namespace. Raises OSError."""
    return EgressNamespace.of(*_listen(()))


def listen_as_proxy(port: int) -> EgressNamespace:
    """Make the listener of the explicit proxy on the loopback, and nothing else. Raises OSError."""
    proxy, owners = _listener("127.0.0.1", port).detach(), [sock.detach() for sock in _opened(open_owners)]
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    return EgressNamespace(namespace, (), (), (), proxies=(proxy,), owners=tuple(owners))


def _has_ipv6() -> bool:
    return os.path.exists("/proc/self/net/if_inet6")


def _has_loopback6() -> bool:
    """Whether `::1` is there: an engine may have switched IPv6 off in its own namespaces."""
    with suppress(OSError):
        return any(line.endswith(" lo\n") for line in open("/proc/self/net/if_inet6", encoding="ascii"))
    return False


def _listen(forwarded: Sequence[int]) -> tuple[dict[str, int], list[int]]:
    """Make the listeners in this process's namespace; returns how many there are of each kind, and the descriptors."""
    families = ["127.0.0.1", "::1"] if _has_loopback6() else ["127.0.0.1"]
    groups: Mapping[str, list[socket.socket]] = {
        "connections": [_listener(address, CONNECTIONS_PORT) for address in families],
        "packets": [_bound(address, DNS_PORT, socket.SOCK_DGRAM) for address in families],
        "queries": [_listener(address, DNS_PORT) for address in families],
        "forwarded": [_listener(address, port) for port in forwarded for address in families],
        "proxies": [_listener("127.0.0.1", PROXY_PORT)],
        "log": list(_opened(open_log)),
        "owners": list(_opened(open_owners)),
    }
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    fds = [sock.detach() for name in GROUPS for sock in groups[name]]
    return {name: len(group) for name, group in groups.items()}, [namespace, *fds]


def _opened(open_it: Callable[[], socket.socket]) -> Iterator[socket.socket]:
    with suppress(OSError):  # a kernel without it
        yield open_it()


def _bound(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    if kind == socket.SOCK_STREAM:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of listeners before may still be closing
    if ":" in address:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((address, port))
    return sock


def _listener(address: str, port: int) -> socket.socket:
    sock = _bound(address, port, socket.SOCK_STREAM)
    sock.listen(_BACKLOG)
    return sock


def _execute(argv: Sequence[str], given: str) -> None:
    """Run a program of the image's own with a text as its standard input; what it complains of is the error."""
    standard_input, said = os.memfd_create("in"), os.memfd_create("out")
    try:
        os.write(standard_input, given.encode())
        os.lseek(standard_input, 0, os.SEEK_SET)
        moves = [(os.POSIX_SPAWN_DUP2, standard_input, 0), (os.POSIX_SPAWN_DUP2, said, 1), (os.POSIX_SPAWN_DUP2, said, 2)]
        pid = os.posix_spawn(argv[0], [*argv], {}, file_actions=moves)
        _, status = os.waitpid(pid, 0)
        if status:
            raise OSError(f"{argv[0]}: {os.pread(said, 400, 0).decode(errors='replace').strip()}")
    finally:
        os.close(standard_input)
        os.close(said)
