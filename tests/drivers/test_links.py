"""What shows the agent's files follows no link of the agent's, also where there is no box."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.drivers import drafts, links
from sandbox_server.drivers.box import desk, host
from sandbox_server.drivers.isolation import Isolation

DESKTOP = 991


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory of the agent's with a page, a link to a secret outside, and one to the page."""
    for opened in (tmp_path, *tmp_path.parents[:2]):
        opened.chmod(0o755)
    agents = tmp_path / "agents"
    agents.mkdir()
    (tmp_path / "secret").write_text("secret")
    (agents / "page").write_text("page")
    (agents / "out").symlink_to(tmp_path / "secret")
    (agents / "folder").symlink_to(tmp_path)
    (agents / "within").symlink_to("page")
    return agents


def in_a_fork(work: Callable[[], int]) -> int:
    """Do the work as the desktop's user in a process of its own; gives what it gives."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(DESKTOP, DESKTOP, DESKTOP)
                os.setresuid(DESKTOP, DESKTOP, DESKTOP)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def opened(path: Path) -> int:
    """0 if a file can be read, else the errno."""
    try:
        path.read_text()
    except OSError as error:
        return error.errno or 98
    return 0


@pytest.mark.parametrize(("name", "found"), [("page", 0), ("out", errno.ELOOP), ("folder/secret", errno.ELOOP), ("within", errno.ELOOP)])
def test_no_link_leads_anywhere_and_files_are_read(folder: Path, name: str, found: int) -> None:
    assert in_a_fork(lambda: opened(folder / name)) == 0
    assert in_a_fork(lambda: opened(folder / name) if links.follow_none([str(folder)]) else 97) == found
    assert opened(folder / name) == 0, "nobody else is concerned"


def test_links_elsewhere_are_followed(folder: Path) -> None:
    assert in_a_fork(lambda: opened(folder / "out") if links.follow_none(["/srv"]) else 97) == 0


def test_where_links_cannot_be_kept_from_being_followed_no_file_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = str(tmp_path / "isolation.json")
    real = host.look()
    for rung, refused, shown in (("users", errno.EPERM, ()), ("users", 0, desk.viewable()), ("box", errno.EPERM, desk.viewable())):
        drafts.replace(told, Isolation(rung, "").encode(), mode=0o400)  # type: ignore[arg-type] # one of the rungs
        monkeypatch.setattr("sandbox_server.drivers.links.look", lambda refused=refused: replace(real, namespaces=refused))
        assert links.viewable(told) == shown
