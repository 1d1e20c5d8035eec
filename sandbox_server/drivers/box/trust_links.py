"""Links in the box's /etc by which its programs trust the sandbox's own authority, which is made after the box."""

import os
from collections.abc import Sequence
from contextlib import suppress

from sandbox_server.drivers.box.mount_plan import LayeredPart, Part
from sandbox_server.drivers.secrets.trust_files import AUTHORITY, BUNDLE, SYSTEM_BUNDLE
from sandbox_server.settings.paths import Paths

HOOK = "ca-certificates/update.d/tandem"
_SCRIPT = """\
#!/bin/sh
# update-ca-certificates has made the bundle anew: it gets the sandbox's authority again.
[ ! -s {authority} ] || cat {authority} >> {bundle}
"""


def link(parts: Sequence[Part], folder: str | None = None) -> None:
    """Have the bundle of the box's /etc be the one in `folder`, unless something of the container's user is mounted there."""
    folder = folder or Paths().trust
    etc = next((part for part in parts if part.path == "/etc"), None)
    mounted = any(part.path.startswith("/etc/ssl") for part in parts)
    if not isinstance(etc, LayeredPart) or mounted or not os.path.exists(etc.lower + SYSTEM_BUNDLE.removeprefix("/etc")):
        return
    bundle, hook = etc.lower + SYSTEM_BUNDLE.removeprefix("/etc"), f"{etc.lower}/{HOOK}"
    os.unlink(bundle)
    os.symlink(f"{folder}/{BUNDLE}", bundle)
    os.makedirs(os.path.dirname(hook), exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(hook)
    with open(hook, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o755)
        file.write(_SCRIPT.format(authority=f"{folder}/{AUTHORITY}", bundle=SYSTEM_BUNDLE))
