"""The network policy's variables, a section of `settings`. Stdlib only, for the sake of boot."""

import ipaddress
from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, PORT, Kind, Secret, seconds, variable


def _read_source(text: str) -> Secret:
    """Take a JSON object or an absolute path; boot reads the policy."""
    if not text.lstrip().startswith("{") and (not text.startswith("/") or "\0" in text):
        raise ValueError("must be a JSON object, or the absolute path of a file that holds one")
    return Secret(text)


def _read_addresses(text: str) -> tuple[str, ...]:
    return tuple(str(ipaddress.ip_address(word)) for part in text.split(",") for word in part.split())


ADDRESSES: Kind[tuple[str, ...]] = Kind("list", _read_addresses)
SOURCE: Kind[Secret | None] = Kind("JSON or path", _read_source, secret=True)


@dataclass(frozen=True, slots=True)
class EgressSettings:
    """The network policy"""

    enabled: bool = variable(
        "EGRESS",
        BOOLEAN,
        True,
        "Let a policy decide on every connection that leaves the box. `false`: the box has the container's network.",
    )
    policy: Secret | None = variable(
        "EGRESS_POLICY",
        SOURCE,
        None,
        "The policy at the start: a JSON object, or the path of a file with one, as in [egress.md](egress.md). Unset: the internet and "
        "private networks are allowed.",
    )
    once: float = variable(
        "EGRESS_ONCE_SECONDS",
        seconds(10, 86400),
        300.0,
        "How long the answers `Once` and `Deny` hold for a connection. A program that tries again meanwhile is not asked about again.",
    )
    proxy_port: int = variable(
        "EGRESS_PROXY_PORT",
        PORT,
        8119,
        "Loopback port of the explicit proxy that asks the policy, where a policy is set and no box and no rules enforce it.",
    )
    nameservers: tuple[str, ...] = variable(
        "EGRESS_NAMESERVERS",
        ADDRESSES,
        (),
        "Nameservers that an egress container asks instead of its own: needed on Docker networks of your own (resolver 127.0.0.11).",
    )

    @property
    def proxy_address(self) -> str:
        """Host and port of that proxy."""
        return f"127.0.0.1:{self.proxy_port}"

    @property
    def proxy_environment(self) -> dict[str, str]:
        """The variables that point programs at it; it speaks HTTP to all of them."""
        url = f"http://{self.proxy_address}"
        pairs = {"http_proxy": url, "https_proxy": url, "all_proxy": url, "no_proxy": "localhost,127.0.0.1,::1"}
        return pairs | {name.upper(): value for name, value in pairs.items()} | {"NODE_USE_ENV_PROXY": "1"}
