"""Where a browser sees a previewed page: never on the origin on which it is signed in.

A previewed page is the agent's. On our own origin its script could do whatever the session of the person who looks at it allows, and no
header tells its requests from those of our pages. Another host is another origin, to which the browser sends no cookie of ours.
"""

import re
from collections.abc import Callable, Iterable

from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.ports.preview_hosts import preview_host
from sandbox_server.features.auth.original import Original

_BELOW_PROXY = re.compile(r"/+proxy/+[0-9]{1,5}(?P<rest>/.*)$")


def shares_origin(original: Original, grants: Iterable[Grant]) -> bool:
    """Whether a preview by path would be on an origin where one of the grants allows more than that preview."""
    if original.port is None or original.headers.get("x-original-port"):
        return False
    bound = tuple(f"/{kind}/{original.port}/" for kind in ("proxy", "absproxy"))
    return any(not f"{grant.prefix}/".startswith(bound) for grant in grants)


def is_editor(path: str) -> bool:
    """Whether a path is of an editor: the agent's too, with a path of ours for programs that send a key."""
    return path.split("/")[1] in ("jupyter", "code-server")


def own_address(original: Original, domain: str | None, is_secret: Callable[[str, str], bool]) -> str | None:
    """The same page on a host of the preview's own, without our credentials; None where no such host is known."""
    if original.port is None or (host := preview_host(original.port, original.host, domain)) is None:
        return None
    uri = original.uri_without(is_secret)
    below = _BELOW_PROXY.match(uri)
    path = below["rest"] if below else uri
    return f"{'https' if original.is_encrypted else 'http'}://{host}/{path.lstrip('/')}"
