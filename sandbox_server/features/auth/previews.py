"""Origins of previews: never the origin on which the browser is signed in.

The agent controls a previewed page. On our own origin its script could use the session of the person who views it, and
no header tells its requests from those of our pages. Another host is another origin, to which the browser sends none of
our cookies.
"""

import re
from collections.abc import Callable, Iterable

from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.ports.preview_hosts import preview_host
from sandbox_server.features.auth.original import Original

_BELOW_PROXY = re.compile(r"/+proxy/+[0-9]{1,5}(?P<rest>/.*)$")


def shares_origin(original: Original, grants: Iterable[Grant]) -> bool:
    """Whether a preview by path would share an origin with a grant that allows more than that preview."""
    if original.port is None or original.headers.get("x-original-port"):
        return False
    bound = tuple(f"/{kind}/{original.port}/" for kind in ("proxy", "absproxy"))
    return any(not f"{grant.prefix}/".startswith(bound) for grant in grants)


def is_editor(path: str) -> bool:
    """Whether a path belongs to an editor. The agent controls its pages, too."""
    return path.split("/")[1] in ("jupyter", "code-server")


def own_address(original: Original, domain: str | None, is_secret: Callable[[str, str], bool]) -> str | None:
    """Return the page's URL on the preview's own host, without our credentials; None if no such host is known."""
    if original.port is None or (host := preview_host(original.port, original.host, domain)) is None:
        return None
    uri = original.uri_without(is_secret)
    below = _BELOW_PROXY.match(uri)
    path = below["rest"] if below else uri
    return f"{'https' if original.is_encrypted else 'http'}://{host}/{path.lstrip('/')}"
