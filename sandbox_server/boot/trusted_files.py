"""Files that the owner names and the control side trusts: the container does not start with one that the agent's programs could change."""

import os
import stat
from collections.abc import Iterator

from sandbox_server.settings import BadSettings, Settings

BOXS_OWN = "/run/"
"""The box has a directory of its own there, so that nothing below the container's is shared with it."""
MAX_LINKS = 40


def check(settings: Settings) -> None:
    """Check the files that the control side uses while the container runs. Raises BadSettings.

    Where server and agent are one user, nothing that the server may write is kept from the agent, its own files neither.
    """
    if os.geteuid() != 0:
        return
    for variable, path in _named(settings):
        require_unwritable(variable, path, settings)


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    named = {
        "JWT_JWKS_FILE": settings.auth.jwks_file,
        "APPROVALS": settings.approvals.policy,
        "HANDOFF_FILE": settings.handoff.file,
        "IDENTITY_KEY_FILE": settings.identity.key_file,
    }
    yield from ((variable, path) for variable, path in named.items() if path and path.startswith("/"))
    for name, each in settings.secrets.declared.items():
        source = each.get("source")
        if isinstance(source, dict) and isinstance(path := source.get("file"), str):
            yield f"SECRETS {name}", path


def require_unwritable(variable: str, path: str, settings: Settings) -> None:
    """Raise BadSettings where the agent's programs could write a file, or put another one in its place.

    The directories above a read-only mount do not matter: the engine mounts it again at each start.
    """
    *to_links, to_file = _ways(path)
    mounted = next((number for number, step in enumerate(to_file, 1) if _is_read_only(step)), 0)
    steps = [step for way in (*to_links, to_file[mounted:]) for step in way]
    if any(_is_writable(place, settings) for place in (*map(os.path.dirname, steps), to_file[-1])):
        raise BadSettings(
            f"{variable} names {path}, which programs in the box could change: mount it read-only, or below /run, for root or control alone"
        )


def _ways(path: str) -> list[list[str]]:
    """Return what leads to a file: from the root to each link on the way, and at last to the file, which need not be there."""
    found, left, ways = "/", os.path.normpath(path).split("/")[1:], [list[str]()]
    while left:
        found = os.path.join(found, left.pop(0))
        ways[-1].append(found)
        if os.path.islink(found) and len(ways) <= MAX_LINKS:
            target = os.path.normpath(os.path.join(os.path.dirname(found), os.readlink(found)))
            found, left = "/", [*target.split("/")[1:], *left]
            ways.append([])
    return ways


def _is_writable(path: str, settings: Settings) -> bool:
    """Whether the agent's programs may write a file or a directory: by its mode, or because the box shares it.

    The box shares what is mounted, and the workspace on request.
    """
    if not os.path.exists(path) or _is_read_only(path):
        return False
    workspace = os.path.realpath(settings.agent.workspace)
    shared = _mount_of(path) != "/" and not f"{path}/".startswith(BOXS_OWN)
    return shared or f"{path}/".startswith(f"{workspace}/") or (os.geteuid() == 0 and _is_permitted(path, settings))


def _is_read_only(path: str) -> bool:
    return os.path.exists(path) and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _is_permitted(path: str, settings: Settings) -> bool:
    """Whether the agent's user may write a file, or replace what others have in a directory."""
    found = os.stat(path)
    if found.st_uid == settings.agent.uid:
        return True
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    return bool(found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid == settings.agent.gid))


def _mount_of(path: str) -> str:
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path
