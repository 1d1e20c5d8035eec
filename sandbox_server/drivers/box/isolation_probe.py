"""Finds out whether this host allows a box, by making a small one and ending it."""

import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.box.box import BoxError, Tree, create
from sandbox_server.drivers.box.isolation import Storage
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.mount_plan import LayeredPart

PROCESSES = 16
_MAX_REASON = 1000
_NO_LAYERS = ("overlay", "tmpfs", "ramfs", "fuse")
"""Filesystems that cannot hold the upper layer, or that are memory anyway."""
_ANONYMOUS = re.compile(r"/volumes/[0-9a-f]{64}(/|$)")


def probe(store: str) -> str | None:
    """Give the reason why no box can be made whose files are in `store`; None where it can. Needs root."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(readable)
        _tell(writable, lambda: _try(store))
    os.close(writable)
    with open(readable, "rb") as answer:
        reason = answer.read(_MAX_REASON).decode("utf-8", "replace")
    os.waitpid(pid, 0)
    return None if reason == "made" else reason or "the probe died"


def _tell(fd: int, work: Callable[[], None]) -> None:
    try:
        work()
        os.write(fd, b"made")
    except (OSError, BoxError, StoreError) as error:
        os.write(fd, str(error).encode()[:_MAX_REASON])
    finally:
        os._exit(0)


def _try(store: str) -> None:
    os.makedirs(store, mode=0o700, exist_ok=True)
    namespaces.leave_user_namespace()
    if storage(store) == "memory":
        namespaces.mount_memory(store)
    folder = os.path.join(store, f"probe-{secrets.token_hex(4)}")
    try:
        BoxStore(store).reserve.make_room()
        tried = BoxStore(folder)
        tried.prepare()
        root = [LayeredPart("/", tried.make_base())]
        create(Tree(folder, root, tried.prepare_mounts(root), "/nonexistent", [], "/nonexistent", PROCESSES)).kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def storage(store: str) -> Storage:
    """What becomes of what is kept in a directory."""
    table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    rows = [line.split(" ") for line in table]
    inside = [row for row in rows if f"{store}/".startswith(row[4].rstrip("/") + "/")]
    row = max(inside, key=lambda found: len(found[4]))
    kind = row[row.index("-") + 1]
    if kind.startswith(_NO_LAYERS):
        return "memory"
    return "container" if row[4] == "/" or _ANONYMOUS.search(row[3]) else "volume"


def can_write_host_settings() -> bool:
    """Whether /proc/sys is writable here: then root could set the host's core pattern, which the host executes."""
    return not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY
