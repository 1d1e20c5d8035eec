"""Files without the agent's links, where there is no box: for Chromium, which shows the agent's files as a user that can read more.

A link that the agent makes in one of its directories, to Chromium's own profile say, leads nowhere then, by whatever way it is asked for.
With a box, `desk` does that.
"""

import os
from collections.abc import Sequence

from sandbox_server.drivers.box import desk, namespaces
from sandbox_server.drivers.box.host import look
from sandbox_server.drivers.box.plan import mount_points
from sandbox_server.drivers.fence.fence import own_namespace
from sandbox_server.drivers.isolation import read
from sandbox_server.paths import Paths


def follow_none(folders: Sequence[str] | None = None) -> bool:
    """Have this process, and what it starts, follow no link below `folders`, those that Chromium shows; False where the host refuses that.

    It moves to namespaces of its own, in which it has every capability until it executes a program. Before that it has become whoever is to
    be kept from following links: no right over the container is needed.
    """
    namespaces.forbid_tracing(forbidden=False)  # who has changed user may not write to its own /proc otherwise
    try:
        own_namespace()
        os.unshare(os.CLONE_NEWNS)
    except OSError:
        return False
    namespaces.keep_mounts_private()
    for folder in desk.viewable() if folders is None else folders:
        namespaces.bind(folder, folder)
        for point in mount_points():
            if f"{point}/".startswith(f"{folder}/"):
                desk.follow_no_links(point)
    return True


def viewable(isolation: str = Paths().isolation) -> tuple[str, ...]:
    """The directories whose files Chromium may show; none where nothing keeps it from following links there."""
    users = read(isolation).rung == "users"
    return () if users and look().namespaces else desk.viewable()
