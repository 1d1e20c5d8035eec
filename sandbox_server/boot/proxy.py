"""Prepares the forward proxy: a directory that control can write, and the pipe at which it waits for a configuration."""

import json
import os
from contextlib import suppress

from sandbox_server.boot import places
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import Settings


def prepare(settings: Settings) -> None:
    """Make the directory and the pipe, and remove the configuration of an earlier start.

    The API writes the current one.
    """
    owner = (settings.users.control_uid, settings.users.proxy_gid)
    folder = settings.paths.proxy
    places.make_directory(folder, 0o2770, owner)
    with suppress(FileNotFoundError):
        os.unlink(f"{folder}/haproxy.cfg")
    pipe = f"{folder}/start"
    with suppress(FileExistsError):
        os.mkfifo(pipe)
    if os.geteuid() == 0:
        os.chown(pipe, *owner)
    os.chmod(pipe, 0o660)


def prepare_upstream(settings: Settings) -> None:
    """Have the egress process begin with the upstream of the variables, unless it or the API keeps another from before."""
    path = f"{settings.paths.egress}/upstream.json"
    if settings.proxy.server is None or os.path.exists(path) or os.path.exists(settings.paths.proxy_plan):
        return
    from sandbox_server.drivers.proxy.egress_upstream import request  # slow imports, which few starts need
    from sandbox_server.drivers.proxy.routing_plan import configured

    owner = (settings.users.egress_uid, settings.users.control_uid)
    atomic_write.replace(path, json.dumps(request(configured(settings.proxy))), mode=0o600, owner=owner)
