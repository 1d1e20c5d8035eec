"""Starts from a fork of another sandbox (`SANDBOX_RESTORE`): all of it is there before a service starts, or the container does not start.

Each step is a process of its own with no more rights than it needs: `control` talks to the server and reads the archive, the box's own user
namespace takes in the files, `desktop` the profile. The volume's `restored.json` says that it was done, so that the next start of the
container goes on with what it has.
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NoReturn

from sandbox_server.boot.box_arguments import box_arguments
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import Settings

MARK = "restored.json"
FALLBACK = "restored"
"""The name of a profile that was the other sandbox's `default`, which ends with its container."""
MAX_ANSWER = 8 << 20
_GRACE_SECONDS = 5.0


class NotRestoredError(Exception):
    """The sandbox cannot start from the fork that it was given; the message says why."""


def restore(settings: Settings, chosen: Isolation) -> None:
    """Do it where `SANDBOX_RESTORE` asks for it. Raises NotRestoredError: another try then begins anew."""
    if settings.restore.source is None:
        return
    from sandbox_server.drivers.forks.download import ForkSource  # slow imports, for those alone who restore

    source = ForkSource(settings.restore.place, settings.restore.sha256)
    begun, mark = time.monotonic(), JsonFile(f"{settings.box.directory}/{MARK}")
    if not _is_due(settings, chosen, mark, source.sha256):
        _say(f"SANDBOX_RESTORE: {source.shown} was restored here before, and the box goes on")
        return
    mark.write({"sha256": source.sha256, "done": False})
    Restore(settings, source.sha256).run(lambda out: _download(settings, source, out))
    mark.write({"sha256": source.sha256, "done": True})
    _say(f"SANDBOX_RESTORE: {source.shown} was restored in {time.monotonic() - begun:.1f} s")


def _is_due(settings: Settings, chosen: Isolation, mark: JsonFile, digest: str) -> bool:
    from sandbox_server.drivers.box.layer_store import StoreError
    from sandbox_server.drivers.box.store_restore import has_checkpoints, has_run

    if chosen.level != "box":
        raise NotRestoredError(f"there is no box here to restore into: {chosen.reason}")
    if chosen.storage == "memory":
        raise NotRestoredError(f"the box would be in memory: mount a volume at {settings.box.directory}")
    try:
        told = mark.read() or {}
        if told.get("done") is True and told.get("sha256") == digest:
            return False
        unfinished = told.get("done") is False
        if not has_run(settings.box.directory) and (unfinished or not has_checkpoints(settings.box.directory)):
            return True
    except (OSError, ValueError, AttributeError, KeyError, TypeError, StoreError) as error:
        raise NotRestoredError(f"the volume cannot be used: {error}") from None
    raise NotRestoredError("the volume has another box already, which would be lost: give a new volume, or leave SANDBOX_RESTORE out")


class Restore:
    """One restore; files on the way have no name."""

    def __init__(self, settings: Settings, digest: str) -> None:
        self._settings = settings
        self._seconds = settings.restore.timeout
        self._who = f"fork {digest[:12]}"
        self._root = os.geteuid() == 0

    def run(self, download: Callable[[IO[bytes]], None]) -> None:
        """Do it. `download` writes the archive to a file."""
        from sandbox_server.drivers.forks.fork_archive import CHECKPOINT, PROFILE, STATE

        spool = self._settings.paths.spool
        with ExitStack() as opened:
            archive, *parts = (opened.enter_context(tempfile.TemporaryFile(dir=spool)) for _ in range(4))
            files: dict[str, IO[bytes]] = dict(zip((STATE, CHECKPOINT, PROFILE), parts, strict=True))
            told = self._in_child(lambda: self._fetch(download, archive, files), "the download and the check of the archive")
            self._in_child(lambda: self._take_in(files[CHECKPOINT].fileno()), "taking in the files")
            if profile := told["profile"]:
                self._take_profile(profile, files[PROFILE])
        _leave_state(self._settings, told["state"])

    def _fetch(self, download: Callable[[IO[bytes]], None], archive: IO[bytes], files: dict[str, IO[bytes]]) -> dict[str, Any]:
        from sandbox_server.drivers.forks import fork_archive
        from sandbox_server.drivers.forks.fork_state import MAX_STATE, KeptState

        if not self._settings.restore.place.startswith("/"):
            self._become(self._settings.users.control_uid, self._settings.users.control_uid)
        download(archive)
        self._become(self._settings.users.control_uid, self._settings.users.control_uid)
        manifest = fork_archive.read(archive, files)
        state = files[fork_archive.STATE].read(MAX_STATE + 1)
        KeptState.loads(state)
        if manifest.profile and self._settings.restore.passphrase is None:
            raise NotRestoredError("it has a profile, so SANDBOX_RESTORE_PASSPHRASE must be set")
        return {"profile": manifest.profile, "state": json.loads(state)}

    def _become(self, uid: int, gid: int) -> None:
        if self._root and os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)

    def _take_in(self, checkpoint: int) -> str:
        from sandbox_server.drivers.box import archive, store_restore

        archive.load()
        return store_restore.restore_into(box_arguments(self._settings), checkpoint, self._who, self._seconds)

    def _take_profile(self, name: str, file: IO[bytes]) -> None:
        wanted = FALLBACK if name == "default" else name
        done = self._in_child(lambda: self._unpack(wanted, file), "taking in the profile")
        problem = done.get("problem")
        if problem and problem["reason"] != "exists":  # a start that was cut short after it has it already
            raise NotRestoredError(f"the profile {wanted!r} cannot be taken in: {problem['message']}")
        users = self._settings.users
        content = json.dumps(wanted)
        atomic_write.replace(self._settings.paths.profile, content, owner=(users.control_uid, users.control_uid))

    def _unpack(self, name: str, file: IO[bytes]) -> dict[str, Any]:
        from sandbox_server.drivers.box.desktop_root import PROFILES
        from sandbox_server.drivers.profiles import worker
        from sandbox_server.drivers.profiles.names import is_name

        if not is_name(name):
            raise NotRestoredError("its profile has no name of a profile")
        settings, given = self._settings, self._settings.restore.passphrase
        kept = settings.paths.profiles if os.path.ismount(settings.paths.profiles) else f"{settings.box.directory}/{PROFILES}"
        os.chdir(kept)  # whose parent the desktop's user cannot enter
        os.dup2(file.fileno(), 0)
        self._become(settings.users.desktop_uid, settings.users.desktop_uid)
        os.umask(0o077)
        asked = {"do": "unpack", "root": ".", "default": f"{settings.paths.desktop}/chromium", "max_bytes": settings.browser.profiles_bytes}
        installed = _installed(settings.browser.executable)
        return worker.answer({**asked, "installed": installed, "name": name, "passphrase": given.reveal() if given else ""})

    def _in_child(self, work: Callable[[], Any], what: str) -> Any:
        """Do something in a process of its own, and return what it returns. Raises NotRestoredError where it fails or takes too long."""
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(readable)
            _tell(writable, work, self._seconds)
        os.close(writable)
        with open(readable, "rb") as answers:
            content = answers.read(MAX_ANSWER + 1)
        _, status = os.waitpid(pid, 0)
        if not content:
            late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
            raise NotRestoredError(f"{what} took over {self._seconds:g} s" if late else f"{what} ended without a result")
        told = json.loads(content)
        if "problem" in told:
            raise NotRestoredError(told["problem"])
        return told["done"]


def _tell(writable: int, work: Callable[[], Any], seconds: float) -> NoReturn:
    """Work in the child, and write what came of it."""
    from sandbox_server.drivers.box.box import BoxError
    from sandbox_server.drivers.box.layer_store import StoreError
    from sandbox_server.drivers.forks.download import DownloadError

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
    try:
        answer = {"done": work()}
    except (NotRestoredError, DownloadError, StoreError, BoxError, ValueError, OSError, MemoryError) as error:
        answer = {"problem": str(error) or type(error).__name__}
    except BaseException:  # noqa: BLE001 - the top of a forked process: it ends, and its output says why
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    with open(writable, "wb") as answers:
        answers.write(json.dumps(answer).encode())
    os._exit(0)


def _download(settings: Settings, source: Any, out: IO[bytes]) -> None:
    from sandbox_server.drivers.forks.download import ForkDownload

    given = settings.restore.authorization
    deadline, limit = time.monotonic() + settings.restore.timeout, settings.box.checkpoint_quota + (2 << 30)
    ForkDownload(source, out, limit=limit, deadline=deadline, authorization=given.reveal() if given else "").run()


def _installed(executable: str) -> str:
    import subprocess

    from sandbox_server.drivers.profiles.condition import version_in

    told = subprocess.run([executable, "--version"], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL, cwd="/")
    version = version_in(told.stdout)
    if version is None:
        raise NotRestoredError("it has a profile, and there is no Chromium here for it")
    return version


def _leave_state(settings: Settings, told: Any) -> None:
    """Write down what the API and the browser's process open when they start: shells, and the addresses of tabs."""
    from sandbox_server.drivers.forks.fork_state import KeptState
    from sandbox_server.drivers.shells.session_store import StoredSession, StoredSessions, encode

    state, control = KeptState.loads(json.dumps(told)), (settings.users.control_uid, settings.users.control_uid)
    now = datetime.now(UTC).isoformat()
    shells = [
        StoredSession(
            id=each.id,
            key=None,
            directory=each.directory,
            implicit=each.implicit,
            personal=each.personal,
            no_change_timeout=each.no_change_timeout,
            created_at=now,
            variables=each.variables,
            screen=each.screen,
        )
        for each in state.shells
    ]
    run = Path(settings.paths.run)
    atomic_write.replace(run / "shells.json", json.dumps(encode(StoredSessions(shells))), owner=control)
    if state.tabs:
        atomic_write.replace(settings.paths.tabs, json.dumps([each.url for each in state.tabs]), owner=control)
        atomic_write.replace(settings.paths.restored_tabs, KeptState(tabs=state.tabs).dumps(), owner=control)


def _say(message: str) -> None:
    sys.stderr.write(f"boot: {message}\n")
