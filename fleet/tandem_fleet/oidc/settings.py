"""What the service is told of an OpenID provider by its environment."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tandem_fleet.errors import InvalidError
from tandem_fleet.oidc.roles import Rule, read_rules


@dataclass(frozen=True)
class ProviderSettings:
    """Each is a variable of the same name in capitals, behind `TANDEM_OIDC_`."""

    issuer: str
    """TANDEM_OIDC_ISSUER: the provider's issuer, as its discovery document has it. Without it nobody signs in by a provider."""
    client: str
    """TANDEM_OIDC_CLIENT_ID: the fleet's name at the provider."""
    secret: str
    """TANDEM_OIDC_CLIENT_SECRET: its secret; none for a public client."""
    url: str
    """TANDEM_OIDC_URL: scheme, host and port by which browsers reach the service. `/oidc/callback` below it is the redirect URI."""
    scopes: str
    """TANDEM_OIDC_SCOPES: what is asked of the provider, with spaces (openid email profile)."""
    claim: str
    """TANDEM_OIDC_CLAIM: the claim that the rules look at (groups); `a.b` is the claim `b` within `a`."""
    rules: tuple[Rule, ...]
    """TANDEM_OIDC_RULES: `VALUE=TENANT:ROLE`, with commas. The first whose value the claim has holds; `*` is everybody's."""

    @property
    def callback(self) -> str:
        """The redirect URI, which the provider has to know."""
        return f"{self.url}/oidc/callback"

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "ProviderSettings | None":
        """Read the variables; None where no issuer is named. Raises `InvalidError`."""
        issuer = environment.get("TANDEM_OIDC_ISSUER", "")
        if not issuer:
            return None
        client = environment.get("TANDEM_OIDC_CLIENT_ID", "")
        if not client:
            raise InvalidError("TANDEM_OIDC_ISSUER goes with TANDEM_OIDC_CLIENT_ID")
        scopes = environment.get("TANDEM_OIDC_SCOPES") or "openid email profile"
        if "openid" not in scopes.split():
            raise InvalidError("TANDEM_OIDC_SCOPES needs openid among its words")
        require_secure("TANDEM_OIDC_ISSUER", issuer)
        url = environment.get("TANDEM_OIDC_URL", "").rstrip("/")
        require_secure("TANDEM_OIDC_URL", url)
        if urlsplit(url).path:
            raise InvalidError("TANDEM_OIDC_URL has no path: scheme, host and perhaps a port")
        return cls(
            issuer=issuer,
            client=client,
            secret=environment.get("TANDEM_OIDC_CLIENT_SECRET", ""),
            url=url,
            scopes=" ".join(scopes.split()),
            claim=environment.get("TANDEM_OIDC_CLAIM") or "groups",
            rules=read_rules(environment.get("TANDEM_OIDC_RULES", "")),
        )


def require_secure(name: str, url: str) -> None:
    """Raise `InvalidError` unless a URL is https://, or http:// of this machine's loopback; `name` says what it is."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise InvalidError(f"{name} is no URL: {error}") from error
    if (
        parts.scheme not in ("https", "http")
        or not host
        or parts.username is not None
        or parts.query
        or parts.fragment
        or not url.isascii()
    ):
        raise InvalidError(f"{name} takes https:// with a host, without credentials, query and fragment")
    if parts.scheme == "http" and not _is_loopback(host):
        raise InvalidError(f"{name} takes https://; http:// is for loopback alone")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
