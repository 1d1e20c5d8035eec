"""Prepares the forward proxy: a directory that control can write, and the pipe at which it waits for a configuration."""

import os
from contextlib import suppress

from sandbox_server.boot import places
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
