"""Makes the directories that the container needs, each with its owner and mode."""

import os
import stat
import subprocess
import sys

from sandbox_server.drivers.storage.atomic_write import Owner
from sandbox_server.settings import Settings

SKELETON = "/etc/skel"


def prepare(settings: Settings, *, boxed: bool) -> None:
    """Make the directories of the sandbox and of the agent's account, who is `boxed` or not. As root, also set their owners."""
    agent = (settings.agent.uid, settings.agent.gid)
    control = (settings.users.control_uid, settings.users.control_uid)
    root = (os.geteuid(), settings.agent.gid)
    paths = settings.paths
    if os.geteuid() == 0:
        os.chmod(os.path.dirname(paths.run), 0o755)
    make_directory(paths.boot, 0o700, (os.geteuid(), os.getegid()))
    make_directory(paths.run, 0o700, control)
    make_directory(f"{paths.run}/nginx", 0o700, control)
    make_directory(paths.recorder, 0o700, control)
    if settings.folders.declared:
        make_directory(paths.folders, 0o700, control)
    make_directory(paths.agent_run, 0o751, root)
    make_directory(paths.shells, 0o700, agent)
    make_directory(paths.kernels, 0o700, agent)
    if boxed:  # what is not root's is the agent's own there
        make_directory(paths.identity, 0o775, (os.geteuid(), settings.users.control_uid))
    else:  # the mode keeps others from the socket where the kernel does not say who connects, as gVisor
        make_directory(paths.identity, 0o750, (settings.users.control_uid, settings.agent.gid))
    make_directory(settings.agent.home, 0o755, agent)
    make_agent_directory(settings.logs.directory, 0o755, agent)
    fill_home(settings.agent.home, SKELETON, agent)


class HomeNotWritableError(Exception):
    """The container was not started as root, and its user may not write the agent's home."""


def fill_home(home: str, skeleton: str, owner: Owner) -> None:
    """Copy the skeleton files of a new account (useradd(8)) into an empty home, as its owner. Raises HomeNotWritableError."""
    if os.listdir(home) or not os.path.isdir(skeleton):
        return
    if os.geteuid() != 0 and not os.access(home, os.W_OK | os.X_OK):
        found = os.stat(home)
        raise HomeNotWritableError(
            f"user {os.geteuid()} may not write the agent's home {home}, which is of user {found.st_uid} and group {found.st_gid}. "
            "Give its volume to the user or to a group of the container: on Kubernetes by fsGroup, on Docker by chown"
        )
    uid, gid = owner if os.geteuid() == 0 else (None, None)
    command = ["cp", "--recursive", "--no-dereference", f"{skeleton}/.", home]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, user=uid, group=gid, extra_groups=None if uid is None else [])


def prepare_workspace(settings: Settings) -> None:
    """Make the workspace and give it to the agent."""
    if settings.agent.workspace != settings.agent.home:
        make_agent_directory(settings.agent.workspace, None, (settings.agent.uid, settings.agent.gid))


def make_agent_directory(path: str, mode: int | None, owner: Owner) -> None:
    """Make a directory and set its owner as `make_directory` does, unless a symlink is on its path, which the agent could have made.

    What the agent may have put there does not stop the start: the path is left as it is, with a message.
    """
    if link := symlink_on_path(path):
        _say(f"{path} is left as it is: {link} is a link, and the agent could have made it")
        return
    try:
        make_directory(path, mode, owner)
    except (FileExistsError, NotADirectoryError) as error:
        _say(f"{path} is left as it is: {error.strerror}")


def symlink_on_path(path: str) -> str | None:
    """Return the first symlink on `path`, whoever owns it: root inside a box makes links that root owns on a volume."""
    parts = os.path.normpath(path).split("/")
    return next((step for depth in range(2, len(parts) + 1) if os.path.islink(step := "/".join(parts[:depth]))), None)


def make_directory(path: str, mode: int | None, owner: Owner) -> None:
    """Make a directory with its parents, set its mode and, as root, its owner. A symlink in its place is an error.

    With `mode` None an existing directory keeps its mode. What is right already is not changed.
    """
    os.makedirs(path, exist_ok=True)
    directory = os.open(path, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(directory)
        if os.geteuid() == 0 and (found.st_uid, found.st_gid) != owner:
            os.fchown(directory, *owner)
        if mode is not None and stat.S_IMODE(found.st_mode) != mode and found.st_uid in (0, os.geteuid(), owner[0]):
            _chmod(directory, mode)
    finally:
        os.close(directory)


def _chmod(directory: int, mode: int) -> None:
    try:
        os.fchmod(directory, mode)
    except PermissionError:
        if os.geteuid() == 0:
            raise


def _say(message: str) -> None:
    sys.stderr.write(f"boot: {message}\n")
