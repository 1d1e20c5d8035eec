"""A PostgreSQL of the tests: a cluster in a folder, on a Unix socket, of a user without rights."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
"""Where Debian's package has its programs; None where it is not installed."""
USER = "fleet"
OPTIONS = "-c listen_addresses='' -c fsync=off -c full_page_writes=off -c max_connections=200"


def _run(*words: str, unprivileged: bool = False) -> None:
    assert PROGRAMS
    user = pwd.getpwnam("nobody").pw_uid if unprivileged and os.geteuid() == 0 else None
    ended = subprocess.run(
        [str(PROGRAMS / words[0]), *words[1:]], user=user, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{words}: {ended.stdout}{ended.stderr}"


def control(folder: Path, act: str) -> None:
    """Start the cluster or end it at once, as a power failure does."""
    how = ["-m", "immediate"] if act == "stop" else ["-l", f"{folder}/log", "-o", f"{OPTIONS} -k {folder}"]
    _run("pg_ctl", "-w", "-D", f"{folder}/data", *how, act, unprivileged=True)


@contextmanager
def cluster() -> Iterator[Path]:
    """The folder of a cluster that runs until the block ends; its socket is in there."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-pg-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        _run("initdb", "-D", f"{folder}/data", "-U", USER, "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8", unprivileged=True)
        control(folder, "start")
        try:
            yield folder
        finally:
            control(folder, "stop")
    finally:
        shutil.rmtree(folder)


def database(folder: Path, name: str) -> str:
    """The URL of a new database."""
    _run("createdb", "-h", str(folder), "-U", USER, name)
    return f"postgresql+asyncpg://{USER}@/{name}?host={folder}"
