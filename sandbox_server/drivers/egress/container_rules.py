"""The rules for a container that has no box: in its own network namespace, by whoever holds CAP_NET_ADMIN while they are made.

Every connection goes to the egress process or is refused, but for those of the exempt. Who they are is the difference:

- `exempt_users`: the sandbox's own users, by the user of the socket. This holds as long as nobody else can become one of them.
- `exempt_mark`: sockets with a mark (SO_MARK), which only a process with CAP_NET_ADMIN or CAP_NET_RAW can set.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from ipaddress import ip_address

from sandbox_server.drivers.egress import network_namespace
from sandbox_server.drivers.egress.network_namespace import CONNECTIONS_PORT, DNS_PORT, RESOLVER, EgressNamespace, NetworkNamespaceError
from sandbox_server.drivers.egress.packet_log import GROUP
from sandbox_server.drivers.stats import system

_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP = 8, 24
_CAPABILITY_VERSION_3 = 0x20080522
_RIGHTS = ("NET_ADMIN", "NET_RAW")
"""What changes the rules, or goes past them with packets of its own."""
_libc = ctypes.CDLL(None, use_errno=True)

MARK = 0x54616E64
"""The mark of the egress process's own connections."""
TABLE = "tandem_egress"
_RULES = f"""
add table inet {TABLE}
delete table inet {TABLE}
table inet {TABLE} {{
  chain out {{
    type nat hook output priority -110; policy accept;
    %(returned)s
    meta l4proto {{ tcp, udp }} th dport 53 redirect to :{DNS_PORT}
    fib daddr type local return
    meta l4proto tcp redirect to :{CONNECTIONS_PORT}
  }}
  chain last {{
    type filter hook output priority 10; policy drop;
    %(accepted)s
    ct state established,related accept
    ip daddr {RESOLVER} reject with icmpx admin-prohibited
    fib daddr type local accept
    limit rate 20/second burst 50 packets log group {GROUP}
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }}
}}
"""
"""The chain `out` comes before that of Docker's resolver, whose own port on the loopback `last` closes."""


def exempt_users(uids: Iterable[int]) -> str:
    """Exempt users by their ids."""
    return f"meta skuid {{ {', '.join(map(str, sorted(uids)))} }}"


def exempt_mark(mark: int = MARK) -> str:
    """Exempt sockets with a mark."""
    return f"meta mark {mark:#x}"


def may_make() -> bool:
    """Whether this process may change the rules of its network namespace."""
    return os.geteuid() == 0 and system.effective_capability("NET_ADMIN")


def exempt_questions(uid: int, nameservers: Iterable[str]) -> list[str]:
    """Exempt a user's questions to the nameservers, which the resolver of the C library sends without a mark."""
    parsed = [ip_address(one.partition("%")[0]) for one in nameservers]
    families = {"ip": [str(one) for one in parsed if one.version == 4], "ip6": [str(one) for one in parsed if one.version == 6]}
    return [
        f"meta skuid {uid} {family} daddr {{ {', '.join(found)} }} meta l4proto {{ tcp, udp }} ct original proto-dst 53"
        for family, found in families.items()
        if found
    ]


def make(*exempt: str) -> EgressNamespace:
    """Make the listeners and then the rules, in the place of earlier ones. Raises NetworkNamespaceError, and then there are no rules."""
    try:
        made = network_namespace.listen_here()
    except OSError as error:
        raise NetworkNamespaceError(f"the listeners of the egress process cannot be made: {error.strerror}") from None
    try:
        returned, accepted = ("\n    ".join(f"{one} {verdict}" for one in exempt) for verdict in ("return", "accept"))
        network_namespace.set_rules(_RULES % {"returned": returned, "accepted": accepted})
    except OSError as error:
        made.close()
        raise NetworkNamespaceError(f"the kernel does not take the rules: {error}") from None
    return made


def give_up_rights() -> None:
    """Give up the rights over the rules, for this process and all that it starts, root's included. Raises OSError."""
    status = system.process_status()
    lost = [system.CAPABILITIES[name] for name in _RIGHTS]
    for number in lost:
        _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "PR_CAPBSET_DROP")
    kept = ~sum(1 << number for number in lost)
    effective, permitted, inheritable = (int(status[name], 16) & kept for name in ("CapEff", "CapPrm", "CapInh"))
    words = [one >> shift & 0xFFFFFFFF for shift in (0, 32) for one in (effective, permitted, inheritable)]
    _check(_libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), struct.pack("6I", *words)), "capset")


def become(uid: int) -> None:
    """Become a user who keeps one right, to mark sockets, and no other. Raises OSError."""
    _check(_libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "PR_SET_KEEPCAPS")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kept = 1 << system.CAPABILITIES["NET_ADMIN"]
    _check(_libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), struct.pack("6I", kept, kept, 0, 0, 0, 0)), "capset")


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), what)
