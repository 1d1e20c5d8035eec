"""What a site keeps in the browser: removed by a hidden page, whose session has the commands for it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.devtools.connection import DevtoolsRefused, Object, connected
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.storage import Storage

_SITE = re.compile(r"[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]")
MAX_CLEARED = 200
"""Limit of the origins whose storage is cleared by one call."""


@dataclass(frozen=True, slots=True)
class ClearedSite:
    """What was removed."""

    cookies: int
    origins: tuple[str, ...]


def is_site(text: str) -> bool:
    """Whether a text is a host: a name in ASCII of more than one label, `localhost`, or an address."""
    host = text.lower()
    if not _SITE.fullmatch(host) or host[0] in ".-" or host[-1] in ".-" or ".." in host:
        return False
    return "." in host or host == "localhost" or host.startswith("[")


def belongs_to(host: str, site: str) -> bool:
    """Whether a host is the site's or below it. A cookie's domain may begin with a dot."""
    name = host.lower().lstrip(".")
    return name == site or name.endswith(f".{site}")


class SiteStorage:
    """Removes what sites keep in the browser."""

    def __init__(self, devtools: Devtools, storage: Storage) -> None:
        self._devtools = devtools
        self._storage = storage

    async def clear(self, site: str) -> ClearedSite:
        """Remove the cookies of a site and of the hosts below it, and the storage of their origins as far as they are known.

        Raises Unavailable without a browser, and Conflict if it refuses.
        """
        site = site.lower()
        cookies = (await self._devtools.command("Storage.getCookies"))["cookies"]
        gone = [cookie for cookie in cookies if belongs_to(cookie["domain"], site)]
        origins = _origins(site, (cookie["domain"].lstrip(".") for cookie in gone), await self._storage.origins())
        try:
            async with connected(self._devtools.socket, lambda *_: None) as connection:
                page = (await connection.command("Target.createTarget", {"url": "about:blank", "hidden": True}))["targetId"]
                self._devtools.hide(page)
                try:
                    session = (await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True}))["sessionId"]
                    for cookie in gone:
                        await connection.command("Network.deleteCookies", _named(cookie), session)
                    for origin in origins:
                        await connection.command("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}, session)
                finally:
                    connection.post("Target.closeTarget", {"targetId": page})
        except (DevtoolsRefused, TimeoutError) as error:
            raise Conflict(f"the browser does not forget {site}: {error}", site=site) from None
        return ClearedSite(len(gone), tuple(origins))


def _named(cookie: Object) -> Object:
    """Return what names a cookie to `Network.deleteCookies`."""
    return {name: cookie[name] for name in ("name", "domain", "path", "partitionKey") if name in cookie}


def _origins(site: str, hosts: Iterable[str], known: Iterable[str]) -> list[str]:
    visited = [origin for origin in known if belongs_to(urlsplit(origin).hostname or "", site)]
    of_hosts = [f"{scheme}://{host}" for host in (site, *hosts) for scheme in ("https", "http")]
    return list(dict.fromkeys((*visited, *of_hosts)))[:MAX_CLEARED]
